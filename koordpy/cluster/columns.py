"""The node columns: one row per node, one column array per fact, resource-major.

`N` is the capacity of the arrays, not the number of nodes: a row that is not `live` is free for the next
node and never a candidate. Arrays are resource-major, `[R, N]`, because filters walk one resource of all nodes
(ten times faster than walking all resources of one node).
"""

from __future__ import annotations

import numpy as np

from koordpy.cluster.arrays import Bools, Ints
from koordpy.cluster.resources import ResourceTable
from koordpy.cluster.shapes import Shape

_FIRST_ROWS = 64


class NodeColumns:
    """What every node has and what is taken of it."""

    def __init__(self, resources: ResourceTable) -> None:
        self._resources = resources
        self.names: list[str] = [""] * _FIRST_ROWS
        self._row_of: dict[str, int] = {}
        self._free = list(range(_FIRST_ROWS - 1, -1, -1))
        self._ranks: Ints | None = None
        self.live: Bools = np.zeros(_FIRST_ROWS, dtype=np.bool_)  # [N]
        self.allocatable: Ints = np.zeros((len(resources), _FIRST_ROWS), dtype=np.int64)  # [R, N]
        self.requested: Ints = np.zeros((len(resources), _FIRST_ROWS), dtype=np.int64)  # [R, N]
        self.scored: Ints = np.zeros((2, _FIRST_ROWS), dtype=np.int64)  # [2, N]: cpu, memory; missing requests assumed

    def __len__(self) -> int:
        return len(self._row_of)

    def row_of(self, name: str) -> int | None:
        return self._row_of.get(name)

    def open_row(self, name: str) -> int:
        """The row of a node; a fresh, empty one if it is new."""
        row = self._row_of.get(name)
        if row is not None:
            return row
        if not self._free:
            self._grow_nodes()
        row = self._row_of[name] = self._free.pop()
        self.names[row] = name
        self.live[row] = True
        self._ranks = None
        return row

    def close_row(self, name: str) -> None:
        """Forget a node; its row is emptied for the next one."""
        row = self._row_of.pop(name)
        self.names[row] = ""
        self.live[row] = False
        for column in (self.allocatable, self.requested, self.scored):
            column[:, row] = 0
        self._free.append(row)
        self._ranks = None

    def set_allocatable(self, row: int, amounts: dict[int, int]) -> Ints:
        """Replace what a node has, by resource row; returns the differences, `[R]`."""
        self.fit_resources()
        before = self.allocatable[:, row].copy()
        self.allocatable[:, row] = 0
        for resource, value in amounts.items():
            self.allocatable[resource, row] = value
        difference: Ints = self.allocatable[:, row] - before
        return difference

    def take(self, row: int, shape: Shape, count: int = 1) -> None:
        """Count `count` pods of a shape on a node; a negative count takes them off again."""
        self.requested[shape.rows, row] += shape.amounts * count
        self.scored[:, row] += shape.scored * count

    def has_room(self, row: int, shape: Shape) -> bool:
        """Room for one more pod of a shape on one node, as far as resources go."""
        free = self.allocatable[shape.rows, row] - self.requested[shape.rows, row]
        return bool((free >= shape.amounts).all())

    def fit_resources(self) -> None:
        """Give resources seen since the last call their rows."""
        missing = len(self._resources) - self.allocatable.shape[0]
        if missing > 0:
            self.allocatable = np.pad(self.allocatable, ((0, missing), (0, 0)))
            self.requested = np.pad(self.requested, ((0, missing), (0, 0)))

    @property
    def ranks(self) -> Ints:
        """`[N]`: the place of each node in the order of names, for breaking ties the same way every time."""
        if self._ranks is None:
            self._ranks = np.zeros(len(self.names), dtype=np.int64)
            for rank, name in enumerate(sorted(self._row_of)):
                self._ranks[self._row_of[name]] = rank
        return self._ranks

    def _grow_nodes(self) -> None:
        old = len(self.names)
        more = max(_FIRST_ROWS, old // 2)
        self.names += [""] * more
        self._free.extend(range(old + more - 1, old - 1, -1))
        self.live = np.pad(self.live, (0, more))
        self.allocatable = np.pad(self.allocatable, ((0, 0), (0, more)))
        self.requested = np.pad(self.requested, ((0, 0), (0, more)))
        self.scored = np.pad(self.scored, ((0, 0), (0, more)))
