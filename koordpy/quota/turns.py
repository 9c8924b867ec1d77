"""Whose turn it is among the queues.

Queues are compared with their next job in: those within their quota first, then the higher queue priority, then the
lowest dominant share, then the older one, then by name. Siblings are compared, level by level down the tree: a parent
stands for the job of its best child. A fair share changes only with what is asked for, so an assumed job changes the
keys of its queue and the parents alone: 10 to 35 us with 1,000 queues in one to five levels (docs/queues.md).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from koordpy.quota.levels import ROOT, Floats
from koordpy.quota.usage import Usage
from koordpy.state.arrays import Ints

_DIGITS = 9  # of shares that are compared: 2 of 3 GPUs and 4 of 6 are equal, however they were computed


class Turn(NamedTuple):
    """What a queue is compared by; the lowest is next. The row is the order of age, then of name."""

    over_quota: bool
    lower_priority: int  # the negative of the queue's
    dominant_share: float  # infinite with a fair share of 0
    row: int


def dominant_share(allocated: Sequence[int], share: Sequence[float], counted: Sequence[bool]) -> float:
    """The largest part that a queue has of any of its fair shares, all `[K]`. What it has none of does not count."""
    largest = 0.0
    for held, fair, counts in zip(allocated, share, counted, strict=True):
        if counts and held > 0:
            largest = max(largest, held / fair if fair > 0 else inf)
    return round(largest, _DIGITS)


class Turns:
    """The next queue, given the next job of each.

    The caller keeps it up to date: `offer` whenever a queue's next job is another one, `touch` when what a queue has
    allocated changed, `share` when fair shares did. All may come in any order before `first` is asked.
    """

    def __init__(self, usage: Usage, shares: Floats) -> None:
        self._usage, self._tree = usage, usage.tree
        self._shares = shares
        self._fair: list[list[float]] = shares.tolist()
        self._quota: list[list[int]] = self._tree.quota.tolist()
        self._counted: list[list[bool]] = self._tree.counted.tolist()
        self._offers: dict[int, list[int]] = {}  # requests of next jobs, by the row of the leaf
        self._dirty: set[int] = set()
        self._turns: dict[int, Turn] = {}  # of queues that have a next job, at or below them
        self._next: dict[int, int] = {}  # the leaf that each such queue stands for
        self._heaps: dict[int, list[Turn]] = {}  # by parent; may have turns that are no longer true

    def offer(self, row: int, request: Ints | None) -> None:
        """The next job of a leaf asks for this; None: it has no job that could be attempted."""
        if request is None:
            self._offers.pop(row, None)
        else:
            self._offers[row] = request.tolist()
        self.touch(row)

    def touch(self, row: int) -> None:
        """What a queue has allocated changed, and with it what its parents have."""
        self._dirty.update(self._tree.paths[row].tolist())

    def share(self, shares: Floats) -> None:
        """Fair shares were computed anew; only queues whose share changed are looked at again."""
        changed = np.flatnonzero((shares != self._shares).any(axis=1))
        self._shares, self._fair = shares, shares.tolist()
        for row in changed.tolist():
            self.touch(row)

    def first(self) -> int | None:
        """The leaf whose next job is to be attempted; None if no queue has one."""
        for row in sorted(self._dirty, reverse=True):  # children have higher rows than their parents
            self._look_at(row)
        self._dirty.clear()
        best = self._best(ROOT)
        return None if best is None else self._next[best]

    def _look_at(self, row: int) -> None:
        below = self._best(row)
        leaf = row if below is None else self._next[below]
        request = self._offers.get(leaf)
        if request is None:
            self._turns.pop(row, None)
            return
        self._next[row] = leaf
        turn = self._turn(row, request)
        if self._turns.get(row) != turn:
            self._turns[row] = turn
            self._push(self._tree.parent[row], turn)

    def _turn(self, row: int, request: list[int]) -> Turn:
        """The turn of one queue, for a job of its own or of a leaf below it."""
        held = [a + b for a, b in zip(self._usage.allocated[row].tolist(), request, strict=True)]
        over = any(asks > 0 and has > may for asks, has, may in zip(request, held, self._quota[row], strict=True))
        share = dominant_share(held, self._fair[row], self._counted[row])
        return Turn(over, -self._tree.priority[row], share, row)

    def _push(self, parent: int, turn: Turn) -> None:
        heap = self._heaps.setdefault(parent, [])
        heapq.heappush(heap, turn)
        if len(heap) > 2 * len(self._tree.children[parent]) + 8:  # mostly turns of the past
            heap[:] = sorted(each for row in self._tree.children[parent] if (each := self._turns.get(row)) is not None)

    def _best(self, parent: int) -> int | None:
        heap = self._heaps.get(parent)
        while heap and self._turns.get(heap[0].row) != heap[0]:
            heapq.heappop(heap)
        return heap[0].row if heap else None
