"""Who could be evicted from where, by priority: what each node would have free without them is one subtraction.

Kept by shape: pods of a shape and a priority are a row of counts, so that taking everything below a priority off in a
trial costs what there are shapes, not what there are pods.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from koordpy.state.arrays import Ints
from koordpy.state.shapes import Shape


class Crowd(NamedTuple):
    """Evictable pods of one priority and shape: how many on which nodes."""

    priority: int
    shape: Shape
    rows: Ints  # [C]
    counts: Ints  # [C]


class Evictable:
    """Bound pods that are not protected and not on their way out already."""

    def __init__(self) -> None:
        self._counts: dict[int, defaultdict[Shape, dict[int, int]]] = {}  # priority -> shape -> node row -> pods
        self.protected_namespaces: frozenset[str] = frozenset()
        self.in_use = True  # False: nobody is ever evicted

    def move(self, priority: int, shape: Shape, row: int, count: int) -> None:
        """`count` pods appear on a node, or leave it when negative."""
        rows = self._counts.setdefault(priority, defaultdict(dict))[shape]
        rows[row] = rows.get(row, 0) + count
        if rows[row]:
            return
        del rows[row]
        if not rows:
            del self._counts[priority][shape]
            if not self._counts[priority]:
                del self._counts[priority]

    def levels(self, below: int) -> list[int]:
        """The priorities below this one that there are victims of, lowest first."""
        return sorted(priority for priority in self._counts if priority < below)

    def on(self, row: int, upto: int) -> Iterator[tuple[Shape, int]]:
        """Those on one node, of at most this priority."""
        for priority in self.levels(upto + 1):
            for shape, rows in self._counts[priority].items():
                if row in rows:
                    yield shape, rows[row]

    def by_shape(self, upto: int) -> list[tuple[Shape, Mapping[int, int]]]:
        """Everybody of at most this priority: node rows, and how many are there."""
        return [each for priority in self.levels(upto + 1) for each in self._counts[priority].items()]

    def crowds(self, upto: int) -> Iterator[Crowd]:
        """Everybody of at most this priority."""
        for priority in self.levels(upto + 1):
            for shape, rows in self._counts[priority].items():
                size = len(rows)
                yield Crowd(
                    priority,
                    shape,
                    np.fromiter(rows.keys(), dtype=np.int64, count=size),
                    np.fromiter(rows.values(), dtype=np.int64, count=size),
                )
