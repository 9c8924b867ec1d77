"""Members of several sizes in one domain: what can be said before they are placed one by one.

Each size by itself may find enough slots where all together do not: a master of 8 CPUs and two workers of 4, on a node
of 8. Placing them is the proof, and costs a pass over the nodes for each. This rules out domains that lack what all of
them ask for in sum, and domains that look like one in which they did not fit: of equal racks, one is tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from koordpy.state.arrays import Bools, Ints
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.shapes import Shape
from koordpy.state.topology import Level

_MOST_NODES = 512  # of a domain that is compared with others: there are few larger ones


class DomainBounds:
    """One job: so many members of each shape, and the slots that nodes offer to each, `[N]`."""

    def __init__(self, nodes: NodeColumns, wanted: Sequence[tuple[Shape | None, int]], slots: Sequence[Ints]) -> None:
        asked: dict[int, int] = {}
        for shape, count in wanted if nodes.counts_all_resources else ():
            for row, amount in zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True) if shape else ():
                asked[row] = asked.get(row, 0) + amount * count
        rows = list(asked)
        offering = np.logical_or.reduce([each > 0 for each in slots])
        free = np.maximum(nodes.allocatable[rows] - nodes.requested[rows], 0)
        self._asked = list(asked.values())  # [R], of the resources that are asked for at all
        self._free: Ints = np.where(offering, free, 0)  # [R, N]
        self._looks: Ints = np.vstack([self._free, *slots])
        self._failed: set[bytes] = set()

    def may_hold(self, level: Level) -> Bools:
        """`[D]`: the domains with as much of each resource as the job asks for."""
        enough = np.ones(len(level.names), dtype=np.bool_)
        for free, asked in zip(self._free, self._asked, strict=True):
            enough &= level.sums(free) >= asked - asked // 2**40  # sums of bytes are rounded
        return enough

    def failed_in(self, level: Level, domain: int) -> None:
        if (look := self._look(level, domain)) is not None:
            self._failed.add(look)

    def looks_hopeless(self, level: Level, domain: int) -> bool:
        """Just so did a domain look in which the job did not fit."""
        return bool(self._failed) and self._look(level, domain) in self._failed

    def _look(self, level: Level, domain: int) -> bytes | None:
        """What its nodes have free, whatever their names and their order."""
        rows = np.flatnonzero(level.nodes_of(domain))
        if len(rows) > _MOST_NODES:
            return None
        found = self._looks[:, rows]
        return found[:, np.lexsort(found)].tobytes()
