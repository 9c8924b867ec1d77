"""What each queue has and wants: three counters per queue and resource, which its parents' contain.

Integers are added and removed, so that a million changes later the counters are still what a count from scratch gives.
A change of one job costs four microseconds, at whatever depth and with however many queues (docs/queues.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from koordpy.quota.amounts import K
from koordpy.quota.tree import QueueTree
from koordpy.state.arrays import Ints


class Change(NamedTuple):
    """What pods of a queue are supposed to take, or, below zero, to leave."""

    row: int
    amounts: Ints  # [K]
    preemptible: bool


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
        self._running = np.zeros(shape, dtype=np.int64)  # `allocated` without that of children
        self.asked_version = 0  # grows when `asked` changes: fair shares are out of date
        self._inner = np.array([row for row in range(len(tree)) if not tree.is_leaf(row)], dtype=np.intp)

    def asked(self) -> Ints:
        """What the jobs of each queue itself count for in fair shares, `[Q, K]`.

        A queue with others below it takes no jobs. What waits in it never starts, and takes nothing from those below;
        what has run there since before it had any still counts.
        """
        counted = self.own.copy()
        counted[self._inner] = np.minimum(counted[self._inner], self._running[self._inner])
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
        self._count(row, amounts, preemptible=preemptible)
        self._running[row] += amounts
        if not self.tree.is_leaf(row):
            self.asked_version += 1

    def release(self, row: int, amounts: Ints, *, preemptible: bool) -> None:
        """Pods of a job were unreserved, or are gone from their nodes."""
        self.allocate(row, -amounts, preemptible=preemptible)

    @contextmanager
    def supposing(self, changes: Iterable[Change]) -> Iterator[None]:
        """As if these had been allocated: for limits and claims, not for shares. Those of one queue are one sum."""
        sums: dict[tuple[int, bool], Ints] = {}
        for row, amounts, preemptible in changes:
            before = sums.get((row, preemptible))
            sums[row, preemptible] = amounts if before is None else before + amounts
        for (row, preemptible), total in sums.items():
            self._count(row, total, preemptible=preemptible)
        try:
            yield
        finally:
            for (row, preemptible), total in sums.items():
                self._count(row, -total, preemptible=preemptible)

    def _count(self, row: int, amounts: Ints, *, preemptible: bool) -> None:
        path = self.tree.paths[row]
        self.allocated[path] += amounts
        if not preemptible:
            self.fixed[path] += amounts

    def moved_to(self, tree: QueueTree) -> Usage:
        """The same for another tree, queue by queue of the same name; what queues that are gone had counts outside."""
        moved = Usage(tree)
        for name, row in self.tree.rows.items():
            new = tree.rows.get(name)
            if new is None:
                continue
            path = tree.paths[new]
            moved.own[new] += self.own[row]
            moved._running[new] += self._running[row]
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
