"""Where pods count: one call moves a pod on or off a node in everything that is counted per node."""

from __future__ import annotations

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
