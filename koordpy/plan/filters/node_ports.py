"""NodePorts: the host ports of the pod are free on the node."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_REASON = Reason(
    "node(s) didn't have free ports for the requested pod ports",
    preemption_helps=True,
    wake_on=EventKind.NODE_ADDED | EventKind.ROOM_FREED,
)


class NodePorts(Filter):
    """Few pods have host ports: the filter visits only nodes where one of the pod's ports is in use."""

    name = "NodePorts"
    static = False

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        if not shape.traits.ports:
            return None
        free = np.ones(cluster.nodes.capacity, dtype=np.bool_)
        for port in shape.traits.ports:
            free[list(cluster.ports.taken(port))] = False
        return free

    def slots(self, shape: Shape, cluster: Cluster) -> Ints:
        """`[N]`: one slot on each node where the ports are free."""
        return np.asarray(self.passes(shape, cluster), dtype=np.int64)

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        yield _REASON, refused
