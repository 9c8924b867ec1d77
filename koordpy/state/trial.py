"""Trials: changes to the state that are undone exactly.

Planning a gang places its members one after another and each must see those before it. A trial counts straight into the
state and keeps a log; counts are integers, so undoing in reverse restores every byte. No copy is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Self

from koordpy.state.arrays import Ints
from koordpy.state.occupancy import Occupancy, ShapeRows
from koordpy.state.shapes import Shape
from koordpy.state.storage import VolumeChoice


class _ShapeRows(NamedTuple):
    counts_by_shape: Sequence[ShapeRows]
    sign: int


class Trial:
    """A `with` block after which the state is as it was before it."""

    def __init__(self, occupancy: Occupancy) -> None:
        self._occupancy = occupancy
        # (rows, shape, counts), (row, shape, count), counts and their sign, or volumes reserved
        self._log: list[tuple[Ints, Shape, Ints] | tuple[int, Shape, int] | _ShapeRows | VolumeChoice] = []

    def __enter__(self) -> Self:
        self._occupancy.begin_trial()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.undo()
        self._occupancy.end_trial()

    def place(self, row: int, shape: Shape, count: int = 1) -> None:
        """Try `count` pods of a shape on a node; negative to try the node without them."""
        self._occupancy.move(row, shape, count)
        self._log.append((row, shape, count))

    def place_all(self, rows: Ints, shape: Shape, counts: Ints) -> None:
        """The same on many nodes at once: rows `[C]`, each once, and counts `[C]`."""
        if len(rows):
            self._occupancy.move_all(rows, shape, counts)
            self._log.append((rows, shape, counts))

    def place_counts(self, counts_by_shape: Sequence[ShapeRows], sign: int) -> None:
        """The same for pods of many shapes; a sign of -1 tries the nodes without them."""
        self._occupancy.move_counts(counts_by_shape, sign)
        self._log.append(_ShapeRows(counts_by_shape, sign))

    def reserve_volumes(self, volumes: VolumeChoice, node: str) -> None:
        """Try with these volumes taken."""
        if any(volumes):
            self._occupancy.storage.reserve(volumes, node)
            self._log.append(volumes)

    def mark(self) -> int:
        """A point to undo to."""
        return len(self._log)

    def undo(self, mark: int = 0) -> None:
        """Take back everything since `mark`, last first."""
        self._occupancy.before_undoing()
        while len(self._log) > mark:
            step = self._log.pop()
            if isinstance(step, VolumeChoice):
                self._occupancy.storage.unreserve(step)
            elif isinstance(step, _ShapeRows):
                self._occupancy.move_counts(step.counts_by_shape, -step.sign)
            elif isinstance(step[0], int):
                row, shape, count = step
                self._occupancy.move(row, shape, -count)
            else:
                rows, shape, counts = step
                self._occupancy.move_all(rows, shape, -counts)
