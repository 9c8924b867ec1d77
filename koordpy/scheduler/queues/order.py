"""Whose turn it is among queues, for the job queue.

Queues are compared with their next job in (`koordpy.quota.turns`). A job outside of queues goes before queued jobs of
lower or equal priority, and so does one whose queue is not Ready, which is refused when it is tried. What a
half-started job lacks goes before everything else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from koordpy.plan.placement.gang_rules import demands_of
from koordpy.quota.amounts import K
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.scheduler.queues.book import QueueBook
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster


class FairOrder:
    """The order of queues by fair shares; without Queue objects all jobs are in one line."""

    def __init__(self, book: QueueBook) -> None:
        self._book = book
        self._cluster: Cluster | None = None
        self._offered: dict[int, tuple[Ticket, Ints]] = {}  # by row
        self._of_tree: object = None

    def look_at(self, cluster: Cluster) -> None:
        """The state that requests are read from: it is made with the book, and the queue before it."""
        self._cluster = cluster

    def next_queue(self, heads: Mapping[str, Ticket]) -> str:
        urgent = [queue for queue, ticket in heads.items() if ticket.urgent]
        if urgent or not self._book.in_use or self._cluster is None:
            return min(urgent or heads, key=lambda queue: heads[queue].place)
        self._book.divide(self._cluster.nodes, self._cluster.resources)
        first = self._first(heads, self._cluster)
        others = [queue for queue in heads if not self._has_turns(queue)]
        alone = min(others, key=lambda queue: heads[queue].place, default=None)
        if first is None or (alone is not None and heads[alone].priority >= heads[first].priority):
            assert alone is not None
            return alone
        return first

    def turn_length(self, queue: str) -> int:
        """A pod that is assumed moves its queue back, so the pods of queues are planned one by one."""
        return 1 if self._book.in_use and queue else 1 << 30

    def _has_turns(self, queue: str) -> bool:
        """A queue that is not Ready is in no level of the tree: nobody below the root stands for it."""
        row = self._book.tree.rows.get(queue)
        return row is not None and self._book.tree.is_ready(row)

    def _first(self, heads: Mapping[str, Ticket], cluster: Cluster) -> str | None:
        """Of the queues that there are, the one whose turn it is."""
        tree, turns = self._book.tree, self._book.turns
        if self._of_tree is not tree:
            self._of_tree, self._offered = tree, {}
        rows = {tree.rows[queue]: ticket for queue, ticket in heads.items() if self._has_turns(queue)}
        for row in self._offered.keys() - rows.keys():
            del self._offered[row]
            turns.offer(row, None)
        for row, ticket in rows.items():
            request = request_of(ticket, self._book, cluster)
            known = self._offered.get(row)
            if known is None or known[0] is not ticket or not np.array_equal(known[1], request):
                self._offered[row] = (ticket, request)
                turns.offer(row, request)
        first = turns.first()
        return tree.names[first] if first is not None else None


def request_of(ticket: Ticket, book: QueueBook, cluster: Cluster) -> Ints:
    """What the next step of a job asks for, `[K]`: the members that its gangs need, or the first of the surplus."""
    if ticket.request is not None:
        return ticket.request
    record = cluster.pods.get(ticket.key)
    if record is not None:
        ticket.request = book.amounts(record.own_shape)
        return ticket.request
    total: Ints = np.zeros(K, dtype=np.int64)
    demands = demands_of(tuple(ticket.key.split(",")), cluster)
    for demand in demands:
        for member in demand.members[: demand.needed]:
            total += book.amounts(member.own_shape)
    if not total.any():
        first = next((member for demand in demands for member in demand.members), None)
        total = book.amounts(first.own_shape) if first is not None else total
    ticket.request = total
    return total
