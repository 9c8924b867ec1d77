"""What can be asked of a pod beyond reading and writing it: bind it to a node, evict it.

Both read, decide and commit without awaiting: of two binds of one pod exactly one succeeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from koordpy.sim.embedded import errors, lifecycle, namespaces, pods
from koordpy.sim.embedded.request import Response
from koordpy.sim.embedded.selectors import spec_selector
from koordpy.sim.embedded.strategies import strategy_of

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.request import Request
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Stored

Obj = dict[str, Any]

_CREATED = msgspec.json.encode({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
_BUDGETS = "poddisruptionbudgets.policy"
_VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


def no_subresource(resource: Resource, subresource: str) -> errors.ApiError:
    """Refuse `pods/log` and its like in words: there are no containers behind these pods."""
    if resource.kind == "Pod" and subresource in ("log", "exec", "attach", "portforward", "proxy"):
        told = f"pods/{subresource} is not served: the embedded API simulates pods and runs no containers"
        return errors.ApiError(501, "NotImplemented", told)
    return errors.no_such_path(f"the embedded API serves no {resource.plural}/{subresource}")


def _find(backend: Backend, namespace: str, name: str) -> tuple[Resource, Stored]:
    resource = backend.registry.by_path["", "v1", "pods"]
    stored = backend.store.get("pods", namespace, name)
    if stored is None:
        raise errors.not_found(resource, name)
    return resource, stored


def bind(backend: Backend, request: Request, namespace: str, name: str, binding: Obj) -> Response:
    target, metadata = binding.get("target") or {}, binding.get("metadata") or {}
    _check_binding(name, target)
    resource, stored = _find(backend, namespace, name)
    _check_same(resource, stored, metadata)
    _check_bindable(resource, stored.obj)
    if not request.dry_run:
        backend.store.replace(stored, _bound(backend, stored.obj, target["name"], metadata))
    return Response(201, _CREATED)


def _check_binding(name: str, target: Obj) -> None:
    found = []
    if target.get("kind") not in (None, "", "Node"):
        found.append(errors.unsupported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        found.append(errors.required("target.name"))
    if found:
        raise errors.invalid("Binding", "", name, found)


def _check_same(resource: Resource, stored: Stored, metadata: Obj) -> None:
    """The uid and resourceVersion of a Binding are preconditions on the pod."""
    for key, name in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        asked, found = metadata.get(key), stored.obj["metadata"][key]
        if asked and asked != found:
            told = f"{name} in precondition: {asked}, {name} in object meta: {found}"
            raise errors.precondition_failed(resource, *stored.key, told)


def _check_bindable(resource: Resource, pod: Obj) -> None:
    name, spec = pod["metadata"]["name"], pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        told = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        told = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        told = f"pod {name} has non-empty .spec.schedulingGates"
    else:
        return
    raise errors.conflict(resource, name, told, named="pods/binding")


def _bound(backend: Backend, pod: Obj, node: str, metadata: Obj) -> Obj:
    """The pod on its node. The generation stays: the real server does not count a binding either."""
    scheduled: Obj = {"type": "PodScheduled", "status": "True"}
    scheduled |= {"lastProbeTime": None, "lastTransitionTime": backend.now()}
    status = pods.with_condition(pod, scheduled)
    status.pop("nominatedNodeName", None)
    changed = {
        key: {**(pod["metadata"].get(key) or {}), **metadata[key]}
        for key in ("annotations", "labels")
        if metadata.get(key)
    }
    return {
        **pod,
        "metadata": {**pod["metadata"], **changed},
        "spec": {**pod["spec"], "nodeName": node},
        "status": status,
    }


def evict(backend: Backend, request: Request, namespace: str, name: str, eviction: Obj) -> Response:
    resource, stored = _find(backend, namespace, name)
    if (eviction.get("metadata") or {}).get("name", name) != name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    options = eviction.get("deleteOptions") or {}
    lifecycle.check_preconditions(resource, stored, options)
    dry_run = request.dry_run or "All" in (options.get("dryRun") or ())
    _spend_budget(backend, stored.obj, dry_run=dry_run)
    if not dry_run:
        marked = backend.store.replace(stored, {**stored.obj, "status": _disrupted(backend, stored.obj)})
        _, gone = lifecycle.delete(backend, marked, strategy_of(resource), options)
        if gone:
            namespaces.sweep(backend, namespace)
    return Response(201, _CREATED)


def _disrupted(backend: Backend, pod: Obj) -> Obj:
    condition: Obj = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    condition |= {"message": "Eviction API: evicting", "lastProbeTime": None}
    return pods.with_condition(pod, condition | {"lastTransitionTime": backend.now()})


def _spend_budget(backend: Backend, pod: Obj, *, dry_run: bool) -> None:
    """Take one disruption from the pod's budget, or refuse with 429."""
    if _ignores_budgets(pod):
        return
    budgets = _budgets_of(backend, pod)
    if not budgets:
        return
    if len(budgets) > 1:
        told = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise errors.ApiError(500, "InternalError", told)
    budget = budgets[0].obj
    status = budget.get("status") or {}
    if not _is_ready(pod) and _unready_may_go(budget):
        return
    _check_budget(budget, status)
    if not dry_run:
        spent = {
            **status,
            "disruptionsAllowed": status["disruptionsAllowed"] - 1,
            "disruptedPods": {**(status.get("disruptedPods") or {}), pod["metadata"]["name"]: backend.now()},
        }
        backend.store.replace(budgets[0], {**budget, "status": spent})


def _check_budget(budget: Obj, status: Obj) -> None:
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        told = f"The disruption budget {name} is still being processed by the server."
        cause = {"reason": "DisruptionBudget", "message": told}
        raise errors.too_many_requests(_VIOLATED, [cause], retry_after=10)
    if status.get("disruptionsAllowed", 0) <= 0:
        told = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently"
        )
        raise errors.too_many_requests(_VIOLATED, [{"reason": "DisruptionBudget", "message": told}])


def _ignores_budgets(pod: Obj) -> bool:
    phase = pod["status"].get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _budgets_of(backend: Backend, pod: Obj) -> list[Stored]:
    labels = pod["metadata"].get("labels") or {}
    found = backend.store.items(_BUDGETS, pod["metadata"]["namespace"])
    return [b for b in found if spec_selector((b.obj.get("spec") or {}).get("selector") or {})(labels)]


def _is_ready(pod: Obj) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _unready_may_go(budget: Obj) -> bool:
    """An unready pod is no loss if the budget says so, or if the healthy ones suffice without it."""
    status = budget.get("status") or {}
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired: int = status.get("desiredHealthy", 0)
    healthy: int = status.get("currentHealthy", 0)
    return healthy >= desired > 0
