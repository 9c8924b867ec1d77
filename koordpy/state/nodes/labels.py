"""Node labels as columns of integer codes, one column per key that somebody has asked about.

`column(key).codes` is `[N]`: the code of the node's value, or -1 where the node lacks the label (or the row is free).
Codes also serve as domain numbers for `bincount`; they hold until labels change.
"""

from __future__ import annotations

import numpy as np

from koordpy.state.arrays import Ints
from koordpy.state.nodes.codes import Codes


class LabelColumn:
    """One label key over all nodes."""

    def __init__(self, capacity: int) -> None:
        self.codes: Ints = np.full(capacity, -1, dtype=np.int64)  # [N]
        self._codes: Codes[str] = Codes("")

    @property
    def values(self) -> list[str]:
        """The value of each code; empty for a code that no node has."""
        return self._codes.values

    def code_of(self, value: str) -> int:
        """The code of a value; -2 for one that no node has, which equals no node's code."""
        code = self._codes.get(value)
        return -2 if code is None else code

    def set(self, row: int, value: str | None) -> None:
        before = int(self.codes[row])
        self.codes[row] = -1 if value is None else self._codes.use(value)
        if before >= 0:
            self._codes.leave(before)


class NodeLabels:
    """All labels of all nodes, and the columns made from them."""

    def __init__(self, capacity: int) -> None:
        self._labels: list[dict[str, str]] = [{} for _ in range(capacity)]
        self._columns: dict[str, LabelColumn] = {}

    def column(self, key: str) -> LabelColumn:
        """The column of a key, made on first use."""
        column = self._columns.get(key)
        if column is None:
            column = LabelColumn(len(self._labels))
            for row, labels in enumerate(self._labels):
                if key in labels:
                    column.set(row, labels[key])
            self._columns[key] = column  # not before it is complete: after an error on the way it is made anew
        return column

    def of(self, row: int) -> dict[str, str]:
        return self._labels[row]

    def set(self, row: int, labels: dict[str, str]) -> bool:
        """Replace the labels of a node; says whether anything changed."""
        if self._labels[row] == labels:
            return False
        self._labels[row] = labels
        for key, column in self._columns.items():
            column.set(row, labels.get(key))
        return True

    def grow(self, more: int) -> None:
        self._labels += [{} for _ in range(more)]
        for column in self._columns.values():
            column.codes = np.pad(column.codes, (0, more), constant_values=-1)
