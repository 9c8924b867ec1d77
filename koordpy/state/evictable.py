"""Which pods could be evicted from where, by eviction class: what a node would have free without them is a subtraction.

Kept by shape: pods of a shape and a class are a row of counts, so that taking whole classes off in a trial costs what
there are shapes, not what there are pods.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from koordpy.state.arrays import Ints
from koordpy.state.shapes import Shape


class ShapeCounts(NamedTuple):
    """Evictable pods of one class and shape: how many on which nodes."""

    eviction_class: int
    shape: Shape
    rows: Ints  # [C]
    counts: Ints  # [C]


class Evictable:
    """Bound pods that are not protected and not terminating."""

    def __init__(self, *, in_use: bool = True) -> None:
        self._counts: dict[int, defaultdict[Shape, dict[int, int]]] = {}  # class -> shape -> node row -> pods
        self.in_use = in_use  # False: nobody is ever evicted

    @property
    def classes(self) -> Collection[int]:
        """The eviction classes that there are pods of."""
        return self._counts.keys()

    def clear(self) -> None:
        self._counts.clear()

    def move(self, eviction_class: int, shape: Shape, row: int, count: int) -> None:
        """`count` pods appear on a node, or leave it when negative."""
        rows = self._counts.setdefault(eviction_class, defaultdict(dict))[shape]
        rows[row] = rows.get(row, 0) + count
        if rows[row]:
            return
        del rows[row]
        if not rows:
            del self._counts[eviction_class][shape]
            if not self._counts[eviction_class]:
                del self._counts[eviction_class]

    def on(self, row: int, classes: Collection[int]) -> Iterator[tuple[Shape, int]]:
        """Those of some classes on one node."""
        for each in classes:
            for shape, rows in self._counts[each].items():
                if row in rows:
                    yield shape, rows[row]

    def by_shape(self, classes: Collection[int]) -> list[tuple[Shape, Mapping[int, int]]]:
        """Those of some classes: node rows, and how many are there."""
        return [item for each in classes for item in self._counts[each].items()]

    def counts(self, classes: Collection[int]) -> Iterator[ShapeCounts]:
        """Those of some classes, as arrays."""
        for each in classes:
            for shape, rows in self._counts[each].items():
                size = len(rows)
                yield ShapeCounts(
                    each,
                    shape,
                    np.fromiter(rows.keys(), dtype=np.int64, count=size),
                    np.fromiter(rows.values(), dtype=np.int64, count=size),
                )
