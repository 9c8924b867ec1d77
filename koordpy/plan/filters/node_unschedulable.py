"""NodeUnschedulable: a cordoned node takes only pods that tolerate the cordon."""

from __future__ import annotations

from collections.abc import Iterable

from koordpy.plan.constraints.tolerations import tolerates_cordon
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_REASON = Reason(
    "node(s) were unschedulable", preemption_helps=False, wake_on=EventKind.NODE_ADDED | EventKind.NODE_TAINTS
)


class NodeUnschedulable(Filter):
    """`kubectl cordon`."""

    name = "NodeUnschedulable"
    static = True

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        nodes = cluster.nodes
        if not nodes.unschedulable.any() or tolerates_cordon(shape):
            return None
        return ~nodes.unschedulable

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        yield _REASON, refused
