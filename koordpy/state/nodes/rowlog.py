"""Which node rows changed since a moment: lets what was computed for all nodes be brought up to date for a few."""

from __future__ import annotations

import numpy as np

from koordpy.state.arrays import Ints

_LONGEST = 65536  # rows remembered; whoever looked longer ago computes all of them again


class RowLog:
    """Rows in the order in which they changed, the same row as often as it did."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._forgotten = 0

    @property
    def position(self) -> int:
        """Now."""
        return self._forgotten + len(self._rows)

    def touch(self, row: int) -> None:
        self._rows.append(row)
        self._shorten()

    def touch_all(self, rows: Ints) -> None:
        self._rows += rows.tolist()
        self._shorten()

    def _shorten(self) -> None:
        if len(self._rows) > _LONGEST:
            self._forgotten += _LONGEST // 2
            del self._rows[: _LONGEST // 2]

    def forget(self) -> None:
        """Any row may have changed: whoever looked before computes all of them again."""
        self._forgotten += len(self._rows) + 1
        self._rows.clear()

    def since(self, position: int) -> Ints | None:
        """The rows that changed since then, each once; None when that is forgotten."""
        if position < self._forgotten:
            return None
        rows = self._rows[position - self._forgotten :]
        return np.fromiter(set(rows), dtype=np.int64)  # a handful: for so few, a set beats np.unique by far
