"""Members of several shapes in one domain: which domains are ruled out before any member is placed.

A domain may have enough slots for each shape alone and too few for the job: a master of 8 CPUs and two workers of 4, on
a node of 8. Only placing the members proves that they fit, which costs a pass over the nodes for each member. The
bounds rule out a domain that lacks the sum of all requests, and a domain equal to one in which the job did not fit: of
equal racks, one is tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from koordpy.state.arrays import Bools, Ints
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.shapes import Shape
from koordpy.state.topology import Level

_MOST_NODES = 512  # of a domain that is compared with failed ones: there are few larger ones


class DomainBounds:
    """The bounds for one job."""

    def __init__(self, nodes: NodeColumns, wanted: Sequence[tuple[Shape | None, int]], slots: Sequence[Ints]) -> None:
        """`wanted` are the shapes with their numbers of members, `slots` the slots of each shape, `[N]`."""
        asked: dict[int, int] = {}
        for shape, count in wanted if nodes.counts_all_resources else ():
            for row, amount in zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True) if shape else ():
                asked[row] = asked.get(row, 0) + amount * count
        rows = list(asked)
        offering = np.logical_or.reduce([each > 0 for each in slots])
        free = np.maximum(nodes.allocatable[rows] - nodes.requested[rows], 0)
        self._asked = list(asked.values())  # [R], of the resources that are asked for at all
        self._free: Ints = np.where(offering, free, 0)  # [R, N]
        self._compared: Ints = np.vstack([self._free, *slots])  # [R + shapes, N]
        self._failed: set[bytes] = set()  # contents of domains in which the job did not fit

    def may_hold(self, level: Level) -> Bools:
        """`[D]`: the domains with as much of each resource as the job asks for."""
        enough = np.ones(len(level.names), dtype=np.bool_)
        for free, asked in zip(self._free, self._asked, strict=True):
            enough &= level.sums(free) >= asked - asked // 2**40  # sums of bytes are rounded
        return enough

    def record_failure(self, level: Level, domain: int) -> None:
        """The job does not fit in this domain."""
        if (content := self._content(level, domain)) is not None:
            self._failed.add(content)

    def equals_failed(self, level: Level, domain: int) -> bool:
        """Whether the domain has the same free resources and slots as one in which the job did not fit."""
        return bool(self._failed) and self._content(level, domain) in self._failed

    def _content(self, level: Level, domain: int) -> bytes | None:
        """The free resources and slots of a domain's nodes, whatever their names and their order."""
        rows = np.flatnonzero(level.nodes_of(domain))
        if len(rows) > _MOST_NODES:
            return None
        found = self._compared[:, rows]
        return found[:, np.lexsort(found)].tobytes()
