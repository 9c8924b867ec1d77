"""NodeAffinity: nodeSelector and required node affinity."""

from __future__ import annotations

from collections.abc import Iterable

from koordpy.cluster.arrays import Bools
from koordpy.cluster.changes import Change
from koordpy.cluster.picture import Cluster
from koordpy.cluster.shapes import Shape
from koordpy.plan.answer import Reason
from koordpy.plan.node_terms import matches_required

_REASON = Reason(
    "node(s) didn't match Pod's node affinity/selector",
    preemption_helps=False,
    cures=Change.NODE_ADDED | Change.NODE_RELABELLED,
)


class NodeAffinity:
    """What the pod requires of a node's labels and name."""

    name = "NodeAffinity"
    static = True

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        return matches_required(shape, cluster.nodes)

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        yield _REASON, refused
