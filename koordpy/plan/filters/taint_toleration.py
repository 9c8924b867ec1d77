"""TaintToleration: the pod tolerates every NoSchedule and NoExecute taint of the node."""

from __future__ import annotations

from collections.abc import Iterable

from koordpy.plan.constraints.tolerations import admits
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_REASON = Reason(
    "node(s) had untolerated taint(s)", preemption_helps=False, wake_on=EventKind.NODE_ADDED | EventKind.NODE_TAINTS
)


class TaintToleration(Filter):
    """Hard taints; the score has PreferNoSchedule."""

    name = "TaintToleration"
    static = True

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        return admits(shape, cluster.nodes)

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        yield _REASON, refused
