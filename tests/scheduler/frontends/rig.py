"""The rig of gangs with the objects of the other front-ends: KAI's, kube-arbitrator's, and Kubernetes' own.

`rig.kai("a", minMember=2)` is a PodGroup of KAI's, `rig.member("a-1", says=of_kai("a"))` a pod that belongs to it.
`rig.owned("j-1", "job")` is a pod of an owner, `rig.spec("job", 2)` the SchedulingSpec of that owner.
"""

from __future__ import annotations

from typing import Any

from koordpy.api.coordination import Lease
from koordpy.api.pod import Pod
from koordpy.api.podgroup.kai import KaiPodGroup
from koordpy.api.podgroup.native import NativePodGroup
from koordpy.api.podgroup.schedulingspec import SchedulingSpec
from koordpy.api.policy import PriorityClass
from tests.builders import Json, typed, with_identity
from tests.scheduler.gangs.rig import GangRig, member_json

KAI, NATIVE, SPEC = "scheduling.run.ai/v2alpha2", "scheduling.k8s.io/v1alpha2", "arbitrator.incubator.k8s.io/v1alpha1"
MADE_BY_GROUPER = {"app.kubernetes.io/managed-by": "koordpy-podgrouper"}
_CREATED = "2026-01-01T00:00:00Z"


class FrontEndRig(GangRig):
    """A rig that is told about the objects of all front-ends."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.sinks = self.built.sinks

    def kai(self, name: str, *, labels: Json | None = None, says: Json | None = None, **spec: Any) -> None:
        """A PodGroup of KAI's appeared or changed."""
        self.sinks.gang_objects[KAI].upsert(typed(_object(name, spec, labels, says), KaiPodGroup))

    def no_kai(self, name: str) -> None:
        self.sinks.gang_objects[KAI].remove(f"default/{name}", "")

    def native(self, name: str, minimum: int | None = None, *, version: str = "v1alpha2", **spec: Any) -> None:
        """A PodGroup of Kubernetes itself; without a minimum, of the basic policy."""
        policy = {"gang": {"minCount": minimum}} if minimum is not None else {"basic": {}}
        obj = typed(_object(name, {"schedulingPolicy": policy} | spec), NativePodGroup)
        self.sinks.gang_objects[f"scheduling.k8s.io/{version}"].upsert(obj)

    def native_member(self, name: str, group: str, **given: Any) -> None:
        obj = member_json(name, **given)
        obj["spec"]["schedulingGroup"] = {"podGroupName": group}
        self.pods.upsert(typed(obj, Pod))

    def spec(self, owner: str, minimum: int, *, uid: str = "", name: str = "", **spec: Any) -> None:
        """The SchedulingSpec of an owner."""
        obj = _object(name or owner, {"minAvailable": minimum} | spec)
        obj["metadata"]["ownerReferences"] = [_owner("Job", owner, uid)]
        self.sinks.gang_objects[SPEC].upsert(typed(obj, SchedulingSpec))

    def no_spec(self, name: str) -> None:
        self.sinks.gang_objects[SPEC].remove(f"default/{name}", "")

    def owned(self, name: str, owner: str, *, kind: str = "Job", uid: str = "", **given: Any) -> None:
        """A pod of an owner."""
        self.pods.upsert(typed(owned_json(name, owner, kind=kind, uid=uid, **given), Pod))

    def priority_class(self, name: str, value: int) -> None:
        self.sinks.priority_classes.upsert(typed({"metadata": {"name": name}, "value": value}, PriorityClass))

    def grouper(self, *, holder: str = "g", renewed: str = "1970-01-01T00:16:40.000000Z") -> None:
        """The lease of a grouper, renewed just now by the rig's clock."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
        self.sinks.grouper.upsert(typed({"metadata": {"name": "koordpy-podgrouper"}, "spec": spec}, Lease))

    def no_grouper(self) -> None:
        self.sinks.grouper.remove("kube-system/koordpy-podgrouper", "")

    def placed(self) -> list[str]:
        """The names of all pods of ours that have a node, in order."""
        return sorted(pod.name for pod in self.cluster.pods.values() if pod.node and pod.scheduler != "other")


def of_kai(group: str) -> dict[str, str]:
    """The annotations of a member."""
    return {"pod-group-name": group}


def in_subgroup(name: str) -> dict[str, str]:
    """The labels of a member."""
    return {"kai.scheduler/subgroup-name": name}


def owned_json(name: str, owner: str, *, kind: str = "Job", uid: str = "", **given: Any) -> Json:
    obj = member_json(name, **given)
    obj["metadata"]["ownerReferences"] = [_owner(kind, owner, uid)]
    return obj


def _owner(kind: str, name: str, uid: str) -> Json:
    group = "arbitrator.incubator.k8s.io/v1alpha1" if kind == "QueueJob" else "batch/v1"
    return {"apiVersion": group, "kind": kind, "name": name, "uid": uid or f"u-{name}", "controller": True}


def _object(name: str, spec: Json, labels: Json | None = None, says: Json | None = None) -> Json:
    meta = {"name": name, "namespace": "default", "labels": labels or {}, "annotations": says or {}}
    return with_identity({"metadata": meta | {"creationTimestamp": _CREATED}, "spec": spec})
