"""The node columns: one row per node, one array per fact, resource-major.

`N` is the capacity of the arrays, not the number of nodes: a row that is not `live` is free for the next node and never
a candidate. Arrays are resource-major, `[R, N]`, because filters walk one resource of all nodes (ten times faster than
walking all resources of one node).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from koordpy.api.node import Taint
from koordpy.state.arrays import Bools, Ints
from koordpy.state.nodes.codes import Codes
from koordpy.state.nodes.labels import NodeLabels
from koordpy.state.nodes.resources import MOST, ResourceTable
from koordpy.state.nodes.rowlog import RowLog
from koordpy.state.shapes import Shape

_FIRST_ROWS = 64


class NodeColumns:
    """What every node is and has, and what is taken of it."""

    def __init__(self, resources: ResourceTable, *, counts_all_resources: bool = True) -> None:
        self._resources = resources
        self.counts_all_resources = counts_all_resources  # False: some profile ignores some, so room is no argument
        self.names: list[str] = [""] * _FIRST_ROWS
        self._row_of: dict[str, int] = {}
        self._free = list(range(_FIRST_ROWS - 1, -1, -1))
        self._ranks: Ints | None = None
        self.live: Bools = np.zeros(_FIRST_ROWS, dtype=np.bool_)  # [N]
        self.allocatable: Ints = np.zeros((len(resources), _FIRST_ROWS), dtype=np.int64)  # [R, N]
        self.requested: Ints = np.zeros((len(resources), _FIRST_ROWS), dtype=np.int64)  # [R, N]
        self.scored: Ints = np.zeros((2, _FIRST_ROWS), dtype=np.int64)  # [2, N]: cpu, memory; missing requests assumed
        self.labels = NodeLabels(_FIRST_ROWS)
        self.unschedulable: Bools = np.zeros(_FIRST_ROWS, dtype=np.bool_)  # [N]
        self._taint_codes: Codes[tuple[Taint, ...]] = Codes(())
        self._taint_codes.use(())  # code 0 is for no taints, and for rows that are free
        self.taint_code: Ints = np.zeros(_FIRST_ROWS, dtype=np.int64)  # [N]: index into taint_sets
        self.images: list[dict[str, int]] = [{} for _ in range(_FIRST_ROWS)]  # name -> bytes
        self.image_nodes: dict[str, int] = {}  # name -> how many nodes have it
        # Raised when labels, taints or rows change; what is derived from those is kept until then.
        self.static_generation = 0
        self.size_generation = 0  # counts changes of what nodes have
        self.image_generation = 0  # raised when images or rows change; images are pulled all the time
        self.label_generation = 0  # raised when labels or rows change
        self.usage_log = RowLog()  # rows whose allocatable or usage changed

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def capacity(self) -> int:
        return len(self.names)

    def row_of(self, name: str) -> int | None:
        return self._row_of.get(name)

    def rows_of(self, names: Iterable[str]) -> Ints:
        """Of many, -1 where there is no such node: `[N]`."""
        row_of = self._row_of.get
        return np.array([row_of(name, -1) for name in names], dtype=np.int64)

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
        self._rows_changed()
        return row

    def close_row(self, name: str) -> None:
        """Forget a node; its row is emptied for the next one."""
        row = self._row_of.pop(name)
        self.names[row] = ""
        self.live[row] = False
        for column in (self.allocatable, self.requested, self.scored):
            column[:, row] = 0
        self.labels.set(row, {})
        self.set_taints(row, (), unschedulable=False)
        self.set_images(row, {})
        self._free.append(row)
        self.usage_log.touch(row)
        self._rows_changed()

    # --- what a node is ---

    @property
    def taint_sets(self) -> list[tuple[Taint, ...]]:
        """The set of taints of each code."""
        return self._taint_codes.values

    def set_allocatable(self, row: int, amounts: dict[int, int]) -> Ints:
        """Replace what a node has, by resource row; returns the differences, `[R]`."""
        self.fit_resources()
        before = self.allocatable[:, row].copy()
        self.allocatable[:, row] = 0
        for resource, value in amounts.items():
            self.allocatable[resource, row] = value
        difference: Ints = self.allocatable[:, row] - before
        if difference.any():
            self.usage_log.touch(row)
            self.size_generation += 1
        return difference

    def set_labels(self, row: int, labels: dict[str, str]) -> bool:
        """Says whether anything changed."""
        changed = self.labels.set(row, labels)
        self.static_generation += changed
        self.label_generation += changed
        return changed

    def set_taints(self, row: int, taints: tuple[Taint, ...], *, unschedulable: bool) -> bool:
        """Says whether anything changed. The nodes of a pool share their taints, so a set of taints has a code."""
        before = int(self.taint_code[row])
        if self.taint_sets[before] == taints and self.unschedulable[row] == unschedulable:
            return False
        self.taint_code[row] = self._taint_codes.use(taints) if taints else 0
        if before:
            self._taint_codes.leave(before)
        self.unschedulable[row] = unschedulable
        self.static_generation += 1
        return True

    def set_images(self, row: int, images: dict[str, int]) -> None:
        before = self.images[row]
        if before == images:
            return
        for name in before.keys() - images.keys():
            self.image_nodes[name] -= 1
            if not self.image_nodes[name]:
                del self.image_nodes[name]
        for name in images.keys() - before.keys():
            self.image_nodes[name] = self.image_nodes.get(name, 0) + 1
        self.images[row] = images
        self.image_generation += 1

    # --- what is taken of it ---

    def take(self, row: int, shape: Shape, count: int) -> None:
        """Count `count` pods of a shape on a node; a negative count takes them off again."""
        self.requested[shape.rows, row] += shape.amounts * count
        self.scored[:, row] += shape.scored * count
        self.usage_log.touch(row)

    def take_all(self, rows: Ints, shape: Shape, counts: Ints) -> None:
        """The same on many nodes at once: rows `[C]`, each once, and counts `[C]`."""
        self.requested[shape.rows[:, None], rows] += shape.amounts[:, None] * counts
        self.scored[:, rows] += shape.scored[:, None] * counts
        self.usage_log.touch_all(rows)

    def clear_usage(self) -> None:
        """Nothing is taken of any node, until it is counted anew; and nothing that was derived from nodes holds."""
        self.requested[:] = 0
        self.scored[:] = 0
        self.usage_log.forget()
        self._rows_changed()

    def slots(self, shape: Shape) -> int:
        """How many pods of a shape there is room for, as far as resources go."""
        if not self.counts_all_resources:
            return MOST
        offered = np.full(self.capacity, MOST, dtype=np.int64)  # [N]
        for row, amount in zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True):
            if amount:
                np.minimum(offered, (self.allocatable[row] - self.requested[row]) // amount, out=offered)
        return int(np.maximum(offered[self.live], 0).sum())

    def has_room(self, row: int, shape: Shape) -> bool:
        """Room for one more pod of a shape on one node, as far as resources go."""
        if not self.counts_all_resources:
            return True
        free = self.allocatable[shape.rows, row] - self.requested[shape.rows, row]
        return bool((free >= shape.amounts).all())

    def is_overcommitted(self, name: str) -> bool:
        """More is taken of a node than it has, of whatever."""
        row = self._row_of.get(name)
        return row is not None and bool((self.requested[:, row] > self.allocatable[:, row]).any())

    def fit_resources(self) -> None:
        """Make room for resources that were given rows since the last call, and count there what pods have of them."""
        missing = len(self._resources) - self.allocatable.shape[0]
        if missing > 0:
            self.allocatable = np.pad(self.allocatable, ((0, missing), (0, 0)))
            self.requested = np.pad(self.requested, ((0, missing), (0, 0)))
            for shape in self._resources.in_columns():
                rows = np.array(list(shape.on_nodes), dtype=np.intp)
                counts = np.array(list(shape.on_nodes.values()), dtype=np.int64)
                self.take_all(rows, shape, -counts)
                shape.find_rows(self._resources)
                self.take_all(rows, shape, counts)

    @property
    def ranks(self) -> Ints:
        """`[N]`: the place of each node in the order of names, for breaking ties the same way every time."""
        if self._ranks is None:
            self._ranks = np.zeros(len(self.names), dtype=np.int64)
            for rank, name in enumerate(sorted(self._row_of)):
                self._ranks[self._row_of[name]] = rank
        return self._ranks

    def _rows_changed(self) -> None:
        self._ranks = None
        self.static_generation += 1
        self.image_generation += 1
        self.label_generation += 1

    def _grow_nodes(self) -> None:
        old = len(self.names)
        more = max(_FIRST_ROWS, old // 8)  # every pass over the columns also walks the rows that are free
        self.names += [""] * more
        self.images += [{} for _ in range(more)]
        self._free.extend(range(old + more - 1, old - 1, -1))
        self.labels.grow(more)
        self.live = np.pad(self.live, (0, more))
        self.unschedulable = np.pad(self.unschedulable, (0, more))
        self.taint_code = np.pad(self.taint_code, (0, more))
        self.allocatable = np.pad(self.allocatable, ((0, 0), (0, more)))
        self.requested = np.pad(self.requested, ((0, 0), (0, more)))
        self.scored = np.pad(self.scored, ((0, 0), (0, more)))
