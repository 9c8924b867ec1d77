"""SchedulingSpec of kube-arbitrator: what a controller says about the pods that it owns, joined by its own UID."""

from __future__ import annotations

from koordpy.api.gangs import Complaint, GangDeclaration, declaration_of
from koordpy.api.meta import ObjectMeta, OwnerReference, Struct
from koordpy.api.podgroup.gangobject import GangObject, head_of

GROUP, VERSION = "arbitrator.incubator.k8s.io", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
QUEUE_JOB = "QueueJob"  # the kind of this group whose pods always have a SchedulingSpec


class SchedulingSpecSpec(Struct, frozen=True):
    min_available: int = 0
    node_selector: dict[str, str] = {}
    priority_class_name: str = ""
    priority: int | None = None


class SchedulingSpec(Struct, frozen=True):
    metadata: ObjectMeta
    spec: SchedulingSpecSpec = SchedulingSpecSpec()


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The owner that controls an object."""
    return next((each for each in meta.owner_references if each.controller), None)


def gang_object_of(obj: SchedulingSpec) -> GangObject:
    """What a SchedulingSpec says about its gang."""
    spec, meta = obj.spec, obj.metadata
    negative = Complaint("spec.minAvailable", str(spec.min_available), "is below 0")
    return head_of(API_VERSION, "SchedulingSpec", meta, declaration_of(meta))._replace(
        by_spec=GangDeclaration(minimum=max(spec.min_available, 0)),
        node_selector=tuple(sorted(spec.node_selector.items())),
        priority_class=spec.priority_class_name,
        priority=spec.priority,
        complaints=(negative,) if spec.min_available < 0 else (),
    )
