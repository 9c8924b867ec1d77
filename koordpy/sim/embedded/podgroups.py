"""PodGroups of Kubernetes itself, as kube-apiserver 1.36 serves them: defaults, priority, what is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.errors import FieldError, forbidden, invalid_value
from koordpy.sim.embedded.priorities import admitted_class

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend

Obj = dict[str, Any]

GROUP, VERSION, PLURAL = "scheduling.k8s.io", "v1alpha2", "podgroups"
_FIXED = ("schedulingPolicy", "schedulingConstraints", "disruptionMode", "priorityClassName", "priority")


def prepare_create(backend: Backend, pod_group: Obj) -> None:
    """Its status is nobody's to write yet; its priority is that of its class, as the Priority admission has it."""
    spec = pod_group.setdefault("spec", {})
    pod_group["status"] = {}
    spec.setdefault("disruptionMode", "Pod")

    def refuse(why: str) -> Exception:
        resource = backend.registry.by_path[GROUP, VERSION, PLURAL]
        return forbidden(resource, pod_group["metadata"]["name"], why)

    name, value, _ = admitted_class(backend, spec.get("priorityClassName"), refuse)
    if spec.get("priority") not in (None, value):
        said = f"priority set in the pod group ({spec['priority']}) must match the priority computed ({value})"
        raise refuse(f"{said} based on the priority class set in the spec")
    if name:
        spec["priorityClassName"] = name
    spec["priority"] = value


def create_errors(pod_group: Obj) -> list[FieldError]:
    """Exactly one policy, and a gang of one at least."""
    policy = pod_group["spec"].get("schedulingPolicy") or {}
    if len(policy) != 1:
        return [invalid_value("spec.schedulingPolicy", "", "must specify one of: `basic`, `gang`")]
    least = (policy.get("gang") or {}).get("minCount", 0)
    if "gang" in policy and least < 1:
        return [invalid_value("spec.schedulingPolicy.gang.minCount", least, "must be greater than or equal to 1")]
    return []


def update_errors(new: Obj, old: Obj) -> list[FieldError]:
    """Nothing of its spec can be changed."""
    before, now = old["spec"], new.get("spec") or {}
    return [
        invalid_value(f"spec.{field}", now.get(field), "field is immutable")
        for field in _FIXED
        if now.get(field) != before.get(field)
    ]
