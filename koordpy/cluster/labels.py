"""Node labels as columns of integer codes, one column per key that somebody has asked about.

`column(key).codes` is `[N]`: the code of the node's value, or -1 where the node lacks the label (or the row is free).
Codes are given in order of first sight and never change, so they also serve as domain numbers for `bincount`.
"""

from __future__ import annotations

import numpy as np

from koordpy.cluster.arrays import Ints


class LabelColumn:
    """One label key over all nodes."""

    def __init__(self, capacity: int) -> None:
        self.codes: Ints = np.full(capacity, -1, dtype=np.int64)  # [N]
        self.values: list[str] = []
        self._code_of: dict[str, int] = {}

    def code_of(self, value: str) -> int:
        """The code of a value; -2 for one that no node has ever had, which equals no node's code."""
        return self._code_of.get(value, -2)

    def set(self, row: int, value: str | None) -> None:
        if value is None:
            self.codes[row] = -1
            return
        code = self._code_of.get(value)
        if code is None:
            code = self._code_of[value] = len(self.values)
            self.values.append(value)
        self.codes[row] = code


class NodeLabels:
    """All labels of all nodes, and the columns made from them."""

    def __init__(self, capacity: int) -> None:
        self._labels: list[dict[str, str]] = [{} for _ in range(capacity)]
        self._columns: dict[str, LabelColumn] = {}

    def column(self, key: str) -> LabelColumn:
        """The column of a key, made on first use."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn(len(self._labels))
            for row, labels in enumerate(self._labels):
                if key in labels:
                    column.set(row, labels[key])
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
