"""Where pods count: one call moves a pod on or off a node in everything that is counted per node."""

from __future__ import annotations

from koordpy.cluster.arrays import Ints
from koordpy.cluster.census import Census
from koordpy.cluster.columns import NodeColumns
from koordpy.cluster.ports import PortTable
from koordpy.cluster.shapes import Shape, ShapeTable
from koordpy.cluster.storage import Storage


class Occupancy:
    """Resources, host ports, claims in use and the census, kept in step."""

    def __init__(self, nodes: NodeColumns, shapes: ShapeTable) -> None:
        self._nodes = nodes
        self.ports = PortTable()
        self.census = Census(shapes)
        self.storage = Storage()

    def move(self, row: int, shape: Shape, count: int) -> None:
        """`count` pods of a shape appear on a node, or leave it when negative. Moving back restores everything."""
        self._nodes.take(row, shape, count)
        self.census.move(row, shape, count)
        if shape.traits.ports:
            self.ports.move(row, shape, count)
        if shape.traits.claims:
            self.storage.move(row, shape, count)

    def move_all(self, rows: Ints, shape: Shape, counts: Ints) -> None:
        """The same on many nodes at once: rows `[C]`, each once, and counts `[C]`."""
        if shape.traits.ports or shape.traits.claims:
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                self.move(row, shape, count)
            return
        self._nodes.take_all(rows, shape, counts)
        self.census.move_all(rows, shape, counts)
