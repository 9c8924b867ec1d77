"""Pods as the API sees them: defaults, priority, quality of service, and what an update may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.api.quantity import nano_units
from koordpy.sim.embedded import quotas
from koordpy.sim.embedded.errors import FieldError, forbidden, forbidden_field
from koordpy.sim.embedded.priorities import admitted_class
from koordpy.sim.embedded.validation import check_quantities

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend

Obj = dict[str, Any]

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_EXECUTE = "NoExecute"
_COMPUTE = ("cpu", "memory")
_IMMUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
    "negative)"
)


def prepare_create(backend: Backend, pod: Obj) -> None:
    spec = pod.setdefault("spec", {})
    check_quantities("Pod", spec.get("overhead"))
    for container in containers(spec):
        for amounts in ("requests", "limits"):
            check_quantities("Pod", (container.get("resources") or {}).get(amounts))
    _default_spec(spec)
    _tolerate_broken_nodes(spec)
    _set_priority(backend, pod)
    status: Obj = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": backend.now(),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    pod["status"] = status
    quotas.check(backend, pod)


def containers(spec: Obj) -> list[Obj]:
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def default_template(spec: Obj) -> None:
    """The defaults of a pod's spec that are filled into the template of a workload, too."""
    defaults = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
    }
    for key, value in defaults.items():
        spec.setdefault(key, value)
    spec.setdefault("securityContext", {})
    for container in containers(spec):
        _default_container(container)


def _default_spec(spec: Obj) -> None:
    default_template(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in containers(spec):
        resources = container["resources"]
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}


def _tolerate_broken_nodes(spec: Obj) -> None:
    """Five minutes on a node that is not ready or unreachable, unless the pod says otherwise."""
    present = spec.get("tolerations") or []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(t.get("key", key) == key and t.get("effect", _EXECUTE) == _EXECUTE for t in present):
            added = {"key": key, "operator": "Exists", "effect": _EXECUTE, "tolerationSeconds": 300}
            present = [*present, added]
    spec["tolerations"] = present


def _default_container(container: Obj) -> None:
    image = container.get("image", "")
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    latest = "@" not in image and tag in ("", "latest")
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("resources", {})
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")


def _set_priority(backend: Backend, pod: Obj) -> None:
    """As the Priority admission does: the class decides, and a contradicting number is refused."""
    spec = pod["spec"]
    named = spec.get("priorityClassName")
    name, value, policy = admitted_class(backend, named, lambda why: _refused(backend, pod, why))
    if spec.get("priority") not in (None, value):
        why = f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
        raise _refused(
            backend, pod, why + f"priority admission controller computed {value} from the given PriorityClass name"
        )
    asked = spec.get("preemptionPolicy")
    if asked not in (None, policy):
        why = f"the string value of PreemptionPolicy ({asked}) must not be provided in pod spec; "
        raise _refused(
            backend, pod, why + f"priority admission controller computed {policy} from the given PriorityClass name"
        )
    if name:
        spec["priorityClassName"] = name
    spec["priority"] = value
    spec["preemptionPolicy"] = policy


def _refused(backend: Backend, pod: Obj, why: str) -> Exception:
    resource = backend.registry.by_path["", "v1", "pods"]
    return forbidden(resource, pod["metadata"]["name"], why)


def quality_of_service(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort; zero amounts do not count."""
    asked: set[str] = set()
    guaranteed = True
    for container in containers(spec):
        resources = container.get("resources") or {}
        requests, limits = _nonzero(resources.get("requests")), _nonzero(resources.get("limits"))
        asked |= requests.keys() | limits.keys()
        guaranteed &= limits.keys() == set(_COMPUTE) and requests == limits
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _nonzero(amounts: Obj | None) -> dict[str, int]:
    found = {name: nano_units(amounts[name]) for name in _COMPUTE if amounts and name in amounts}
    return {name: value for name, value in found.items() if value}


def update_errors(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = new.get("spec") or {}, old["spec"]
    return _gate_errors(spec, before) + _toleration_errors(spec, before) + _fixed_field_errors(spec, before)


def _gate_errors(spec: Obj, before: Obj) -> list[FieldError]:
    known = {gate["name"] for gate in before.get("schedulingGates") or ()}
    return [
        forbidden_field(
            f"spec.schedulingGates[{index}]",
            f"only deletion is allowed, but found new scheduling gate '{gate['name']}'",
        )
        for index, gate in enumerate(spec.get("schedulingGates") or ())
        if gate["name"] not in known
    ]


def _toleration_errors(spec: Obj, before: Obj) -> list[FieldError]:
    kept = spec.get("tolerations") or []
    if all(_tolerated(toleration, kept) for toleration in before.get("tolerations") or ()):
        return []
    told = "existing toleration can not be modified except its tolerationSeconds"
    return [forbidden_field("spec.tolerations", told)]


def _tolerated(toleration: Obj, among: list[Obj]) -> bool:
    def essence(one: Obj) -> Obj:
        return {key: value for key, value in one.items() if key != "tolerationSeconds"}

    return any(essence(other) == essence(toleration) for other in among)


def _fixed_field_errors(spec: Obj, before: Obj) -> list[FieldError]:
    compared = dict(spec)
    for key in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _copy_field(compared, before, key)
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        _copy_field(compared, before, "terminationGracePeriodSeconds")
    if before.get("schedulingGates"):
        _allow_narrowing(compared, before)
    for key in ("containers", "initContainers"):
        if key in compared and len(compared[key]) == len(before.get(key) or ()):
            pairs = zip(compared[key], before[key], strict=True)
            compared[key] = [{**c, "image": b.get("image")} if "image" in c else c for c, b in pairs]
    return [] if compared == before else [forbidden_field("spec", _IMMUTABLE)]


def _allow_narrowing(compared: Obj, before: Obj) -> None:
    """A gated pod may be given a narrower nodeSelector and a node affinity it did not have."""
    wanted, had = compared.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if had.items() <= wanted.items():
        _copy_field(compared, before, "nodeSelector")
    if not (before.get("affinity") or {}).get("nodeAffinity") and compared.get("affinity"):
        rest = {key: value for key, value in compared["affinity"].items() if key != "nodeAffinity"}
        if rest == (before.get("affinity") or {}):
            _copy_field(compared, before, "affinity")


def _copy_field(compared: Obj, before: Obj, key: str) -> None:
    if key in before:
        compared[key] = before[key]
    else:
        compared.pop(key, None)


def grace(pod: Obj, asked: int | None) -> int:
    """The grace period a deletion gets: none for a pod that no kubelet runs or that has ended."""
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    period = pod["spec"].get("terminationGracePeriodSeconds", 0) if asked is None else asked
    return period if period >= 0 else 1


def with_condition(pod: Obj, condition: Obj) -> Obj:
    """The status with one condition set, others kept; an unchanged condition keeps its transition time."""
    status = pod.get("status") or {}
    others = []
    for existing in status.get("conditions") or ():
        if existing["type"] != condition["type"]:
            others.append(existing)
        elif existing["status"] == condition["status"]:
            condition = {**condition, "lastTransitionTime": existing.get("lastTransitionTime")}
    return {**status, "conditions": [*others, condition]}
