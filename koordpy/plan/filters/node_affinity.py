"""NodeAffinity: nodeSelector and required node affinity of the pod, and the affinity that its profile adds."""

from __future__ import annotations

from collections.abc import Iterable

from koordpy.api.affinity import NodeSelector
from koordpy.plan.constraints.node_terms import check_preferences, matches_required, pinned_names, selector_mask
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_EVENTS = EventKind.NODE_ADDED | EventKind.NODE_RELABELLED
_REASON = Reason("node(s) didn't match Pod's node affinity/selector", preemption_helps=False, wake_on=_EVENTS)
_ENFORCED = Reason("node(s) didn't match scheduler-enforced node affinity", preemption_helps=False, wake_on=_EVENTS)
_CONFLICT = Reason("pod affinity terms conflict", preemption_helps=False, wake_on=EventKind.NONE)


class NodeAffinity(Filter):
    """Requirements of the pod, and of its profile, on the labels and the name of a node."""

    name = "NodeAffinity"
    static = True

    def __init__(self, enforced: NodeSelector | None = None) -> None:
        self._enforced = enforced

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:  # noqa: ARG002
        """Every term requires node names, and no name satisfies all requirements of a term."""
        return _CONFLICT if pinned_names(shape) == frozenset() else None

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        check_preferences(shape, cluster.nodes)  # here, or whether a pod is refused would depend on the cluster
        own = matches_required(shape, cluster.nodes)
        if self._enforced is None:
            return own
        enforced = selector_mask(self._enforced, cluster.nodes)
        return enforced if own is None else own & enforced

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        if self._enforced is not None:
            enforced = selector_mask(self._enforced, cluster.nodes)
            yield _ENFORCED, refused & ~enforced
            refused = refused & enforced
        yield _REASON, refused
