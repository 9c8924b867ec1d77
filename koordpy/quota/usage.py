"""What each queue has and wants: three counters per queue and resource, which its parents' contain.

Integers are added and removed, so that a million changes later the counters are still what a count from scratch gives.
A change of one job costs four microseconds, at whatever depth and with however many queues (docs/queues.md).
"""

from __future__ import annotations

import numpy as np

from koordpy.quota.amounts import K
from koordpy.quota.tree import QueueTree
from koordpy.state.arrays import Ints


class Usage:
    """The counters of one tree, `[Q, K]` each; read them, and change them by the methods alone.

    `allocated`: of pods that are bound or assumed, terminating ones until they are gone, those held at Permit too.
    `fixed`: the part of it that is not preemptible.
    `requested`: of jobs that run and jobs that wait; `own` is the part of it that is not of children.
    """

    def __init__(self, tree: QueueTree) -> None:
        self.tree = tree
        shape = (len(tree), K)
        self.allocated = np.zeros(shape, dtype=np.int64)
        self.fixed = np.zeros(shape, dtype=np.int64)
        self.requested = np.zeros(shape, dtype=np.int64)
        self.own = np.zeros(shape, dtype=np.int64)
        self.asked_version = 0  # grows when `asked` changes: fair shares are out of date
        self._inner = np.array([row for row in range(len(tree)) if not tree.is_leaf(row)], dtype=np.intp)

    def asked(self) -> Ints:
        """What the jobs of each queue itself count for in fair shares, `[Q, K]`.

        A queue with others below it takes no jobs. What waits in it never starts, and takes nothing from those below;
        what has run there since before it had any still counts.
        """
        counted = self.own.copy()
        for row in self._inner[self.own[self._inner].any(axis=1)].tolist():
            counted[row] = np.minimum(counted[row], self._own_of(self.allocated, row))
        return counted

    def request(self, row: int, amounts: Ints) -> None:
        """Pods of a job were submitted. They count until `withdraw`, whether they run or wait."""
        self.requested[self.tree.paths[row]] += amounts
        self.own[row] += amounts
        self.asked_version += 1

    def withdraw(self, row: int, amounts: Ints) -> None:
        """Pods of a job are gone."""
        self.request(row, -amounts)

    def allocate(self, row: int, amounts: Ints, *, preemptible: bool) -> None:
        """Pods of a job were assumed, or are seen bound."""
        path = self.tree.paths[row]
        self.allocated[path] += amounts
        if not self.tree.is_leaf(row):
            self.asked_version += 1
        if not preemptible:
            self.fixed[path] += amounts

    def release(self, row: int, amounts: Ints, *, preemptible: bool) -> None:
        """Pods of a job were unreserved, or are gone from their nodes."""
        self.allocate(row, -amounts, preemptible=preemptible)

    def moved_to(self, tree: QueueTree) -> Usage:
        """The same for another tree, queue by queue of the same name; what queues that are gone had counts outside."""
        moved = Usage(tree)
        for name, row in self.tree.rows.items():
            new = tree.rows.get(name)
            if new is None:
                continue
            path = tree.paths[new]
            moved.own[new] += self.own[row]
            moved.requested[path] += self.own[row]
            moved.allocated[path] += self._own_of(self.allocated, row)
            moved.fixed[path] += self._own_of(self.fixed, row)
        moved.asked_version = self.asked_version + 1
        return moved

    def _own_of(self, column: Ints, row: int) -> Ints:
        """What of a queue's counter its own jobs make up."""
        below = [self.tree.rows[name] for name in self.tree.child_names[row]]
        within = [child for child in below if child != row and row in self.tree.paths[child]]
        own: Ints = column[row] - column[within].sum(axis=0)
        return own
