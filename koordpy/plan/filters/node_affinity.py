"""NodeAffinity: nodeSelector and required node affinity."""

from __future__ import annotations

from collections.abc import Iterable

from koordpy.cluster.arrays import Bools
from koordpy.cluster.changes import Change
from koordpy.cluster.picture import Cluster
from koordpy.cluster.shapes import Shape
from koordpy.plan.answer import Reason
from koordpy.plan.node_terms import check_preferences, matches_required, pinned_names

_REASON = Reason(
    "node(s) didn't match Pod's node affinity/selector",
    preemption_helps=False,
    cures=Change.NODE_ADDED | Change.NODE_RELABELLED,
)
_CONFLICT = Reason("pod affinity terms conflict", preemption_helps=False, cures=Change.NONE)


class NodeAffinity:
    """What the pod requires of a node's labels and name."""

    name = "NodeAffinity"
    static = True

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:  # noqa: ARG002
        """Every term names nodes, and none names one node twice: there is nobody to ask."""
        return _CONFLICT if pinned_names(shape) == frozenset() else None

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        check_preferences(shape, cluster.nodes)  # here, or it would depend on the cluster whether a pod is refused
        return matches_required(shape, cluster.nodes)

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        yield _REASON, refused
