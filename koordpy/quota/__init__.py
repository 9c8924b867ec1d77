"""Queues as a tree: shares, limits, turns and who may take from whom; pure arithmetic, usable without a scheduler.

No I/O, no clock, no pods: a queue is a row of a `QueueTree`, a job is a row and a vector of amounts.

    tree = tree_of(queues)                                   tree.py        rows, columns and verdicts of Queue objects
    usage = Usage(tree)                                      usage.py       request / withdraw, allocate / release
    shares = divide(capacity, tree, usage.asked())           shares.py      fair shares, [Q, K]
    would_exceed(usage, row, request, preemptible=True)      limits.py      Obstacle with its message, or None
    headroom(usage, row, preemptible=True)                   limits.py      how much more the limits leave, [K]
    turns = Turns(usage, shares)                             turns.py       offer, touch, share; first() -> row
    claim = Claim(usage, shares, row, request, basis=QUOTA)  reclaim.py     order, above, reaches, objection(victims)
    queue_of(gangs, tree, default)                           membership.py  row, None (outside) or Refused
    amounts_of(requests)                                     amounts.py     names and integers of koordpy.state to [K]

When to call what: a pod of a queue appears: `request`; it is assumed or seen bound: `allocate` and `turns.touch`; it is
unreserved or gone from its node: `release` and `turns.touch`; it is deleted or finished: `withdraw` as well. Before an
attempt, if `usage.asked_version`, the capacity or the tree has changed: `turns.share(divide(...))`. When a Queue object
changes: `tree_of`, `usage.moved_to(tree)`, and new `Turns`.
"""
