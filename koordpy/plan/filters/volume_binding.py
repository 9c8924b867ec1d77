"""VolumeBinding: bound volumes are reachable from the node, and unbound claims can be bound there."""

from __future__ import annotations

from collections.abc import Iterable

from koordpy.plan.constraints.volumes import pod_volumes, problem_with_claims
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_EVENTS = EventKind.STORAGE | EventKind.NODE_ADDED | EventKind.NODE_RELABELLED
_NODE_CONFLICT = Reason(
    "node(s) didn't match PersistentVolume's node affinity", preemption_helps=False, wake_on=_EVENTS
)
_BIND_CONFLICT = Reason(
    "node(s) didn't find available persistent volumes to bind",
    preemption_helps=False,
    wake_on=_EVENTS | EventKind.POD_LEFT,  # a pod that is unreserved gives its volumes back
)
_NO_SPACE = Reason("node(s) did not have enough free storage", preemption_helps=False, wake_on=_EVENTS)
_NO_VOLUME = Reason(
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    preemption_helps=False,
    wake_on=_EVENTS,
)


class VolumeBinding(Filter):
    """Asks `constraints/volumes.py`, and gives each of its masks a reason."""

    name = "VolumeBinding"
    static = False

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:
        problem = problem_with_claims(shape, cluster) if shape.traits.claims else ""
        return Reason(problem, preemption_helps=False, wake_on=EventKind.STORAGE) if problem else None

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        return pod_volumes(shape, cluster).passes if shape.traits.claims else None

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:
        volumes = pod_volumes(shape, cluster)
        yield _NODE_CONFLICT, refused & ~volumes.reachable
        yield _BIND_CONFLICT, refused & ~volumes.satisfiable
        yield _NO_SPACE, refused & ~volumes.enough_space
        yield _NO_VOLUME, refused & ~volumes.present
