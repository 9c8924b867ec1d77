"""Where pods count: one call moves a pod on or off a node in everything that is counted per node."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from koordpy.state.arrays import Ints
from koordpy.state.census import Census
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.ports import PortTable
from koordpy.state.shapes import Request, Shape, ShapeTable
from koordpy.state.storage import Storage

ShapeRows = tuple[Shape, Mapping[int, int]]  # pods of a shape: node row -> how many


class Occupancy:
    """Resources, host ports, claims in use and the census, kept in step."""

    def __init__(self, nodes: NodeColumns, shapes: ShapeTable) -> None:
        self._nodes = nodes
        self.ports = PortTable()
        self.census = Census(shapes)
        self.storage = Storage()
        self._open_trials = 0
        self._is_moving = False  # stays True if a move raises half-way
        self._is_in_doubt = False  # a move did, and others came after it

    @property
    def is_consistent(self) -> bool:
        """Everything that was begun was ended: no trial is open, and no move was left half-done."""
        return not self._open_trials and not self._is_moving and not self._is_in_doubt

    def begin_trial(self) -> None:
        self._open_trials += 1

    def end_trial(self) -> None:
        self._open_trials -= 1

    def before_undoing(self) -> None:
        """Moves are about to be undone; one that raised half-way is none of them, and must not be forgotten."""
        self._is_in_doubt |= self._is_moving

    def clear(self) -> None:
        """No pod counts anywhere, until all are counted anew."""
        self._open_trials, self._is_moving, self._is_in_doubt = 0, False, False
        self._nodes.clear_usage()
        self.census.clear()
        self.ports.clear()
        self.storage.clear_users()

    def move(self, row: int, shape: Shape, count: int) -> None:
        """`count` pods of a shape appear on a node, or leave it when negative. Moving back restores everything."""
        self._is_moving = True
        self._nodes.take(row, shape, count)
        self.census.move(row, shape, count)
        if shape.traits.ports:
            self.ports.move(row, shape, count)
        if shape.traits.claims:
            self.storage.move(row, shape, count)
        self._is_moving = False

    def move_all(self, rows: Ints, shape: Shape, counts: Ints) -> None:
        """The same on many nodes at once: rows `[C]`, each once, and counts `[C]`."""
        if shape.traits.ports or shape.traits.claims:
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                self.move(row, shape, count)
            return
        self._is_moving = True
        self._nodes.take_all(rows, shape, counts)
        self.census.move_all(rows, shape, counts)
        self._is_moving = False

    def move_counts(self, counts_by_shape: Iterable[ShapeRows], sign: int) -> None:
        """The same for pods of many shapes: most ask for the same few sizes, and room is moved once for each size."""
        rows: defaultdict[Request, Counter[int]] = defaultdict(Counter)
        like: dict[Request, Shape] = {}
        for shape, counts in counts_by_shape:
            self._is_moving = True
            if shape.traits.ports or shape.traits.claims:
                for row, count in counts.items():
                    self.move(row, shape, sign * count)
                continue
            like[shape.request] = shape
            total = rows[shape.request]
            for row, count in counts.items():
                total[row] += sign * count
            self.census.move_count(shape, counts, sign)
        for request, moved in rows.items():
            size = len(moved)
            self._nodes.take_all(
                np.fromiter(moved.keys(), dtype=np.int64, count=size),
                like[request],
                np.fromiter(moved.values(), dtype=np.int64, count=size),
            )
        self._is_moving = False
