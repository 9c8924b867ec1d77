"""Pods that need what koordpy does not support yet: such a pod, if bound, would never start on its node."""

from __future__ import annotations

from collections.abc import Iterable

from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_RESOURCE_CLAIMS = Reason(
    "koordpy does not support resource claims (DRA) yet", preemption_helps=False, wake_on=EventKind.NONE
)


class Unsupported(Filter):
    """No configuration can disable it: it keeps pods from being bound wrongly."""

    name = "Unsupported"
    static = True

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:  # noqa: ARG002
        return _RESOURCE_CLAIMS if shape.traits.resource_claims else None

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:  # noqa: ARG002
        return None

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        return ()
