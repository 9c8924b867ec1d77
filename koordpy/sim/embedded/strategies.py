"""What differs per resource when it is written: defaults, checks, generation, grace.

One `Strategy` per stored resource; whatever is not listed gets the plain one. The name is the real
server's own for the same idea.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import customresources, podgroups, pods, podvalidation, workloaddefaults, workloadvalidation
from koordpy.sim.embedded.errors import FieldError, forbidden_field, invalid_value, required, unsupported
from koordpy.sim.embedded.validation import check_quantities, quantity_errors

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.resources import Resource

Obj = dict[str, Any]


def _nothing_to_prepare(_backend: Backend, _obj: Obj) -> None:
    return None


def _no_defaults(_obj: Obj) -> None:
    return None


def _no_create_errors(_obj: Obj) -> list[FieldError]:
    return []


def _no_update_errors(_new: Obj, _old: Obj) -> list[FieldError]:
    return []


def _no_grace(_obj: Obj, _asked: int | None) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Strategy:
    """`defaults` are filled in by every write, `prepare_create` by the first one."""

    prepare_create: Callable[[Backend, Obj], None] = _nothing_to_prepare
    create_errors: Callable[[Obj], list[FieldError]] = _no_create_errors
    update_errors: Callable[[Obj, Obj], list[FieldError]] = _no_update_errors
    grace: Callable[[Obj, int | None], int] = _no_grace
    graceful: bool = False
    generation: bool = False
    creates_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    defaults: Callable[[Obj], None] = _no_defaults
    orphans: bool = False  # a deletion that does not say what becomes of dependents leaves them alone
    status_writes_metadata: bool = True


def strategy_of(resource: Resource) -> Strategy:
    if resource.custom:
        return _CUSTOM
    return _STRATEGIES.get(resource.full_name, _PLAIN)


def _prepare_namespace(_backend: Backend, namespace: Obj) -> None:
    labels = namespace["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = namespace["metadata"]["name"]
    namespace["spec"] = {"finalizers": ["kubernetes"]}
    namespace["status"] = {"phase": "Active"}


def _prepare_node(_backend: Backend, node: Obj) -> None:
    """Unlike most resources a node keeps the status it is created with: kubelets register that way."""
    status = node.setdefault("status", {})
    for amounts in ("capacity", "allocatable"):
        check_quantities("Node", status.get(amounts))
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))
    node.setdefault("spec", {})


def _node_errors(node: Obj) -> list[FieldError]:
    errors = quantity_errors((node.get("status") or {}).get("capacity"), "status.capacity")
    for index, taint in enumerate((node.get("spec") or {}).get("taints") or ()):
        if taint.get("effect") not in podvalidation.EFFECTS:
            field = f"spec.taints[{index}].effect"
            errors.append(unsupported(field, taint.get("effect", ""), list(podvalidation.EFFECTS)))
    return errors


def _node_update_errors(new: Obj, _old: Obj) -> list[FieldError]:
    return _node_errors(new)


def _prepare_priority_class(_backend: Backend, priority_class: Obj) -> None:
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")
    priority_class.setdefault("value", 0)


def _priority_class_errors(priority_class: Obj) -> list[FieldError]:
    name, value = priority_class["metadata"]["name"], priority_class["value"]
    if name.startswith("system-") and name not in pods.SYSTEM_CLASSES:
        told = "priority class names with 'system-' prefix are reserved for system use only"
        return [forbidden_field("metadata.name", told)]
    if value > 1_000_000_000 and name not in pods.SYSTEM_CLASSES:
        told = "maximum allowed value of a user defined priority is 1000000000"
        return [forbidden_field("value", told)]
    return []


def _priority_class_update_errors(new: Obj, old: Obj) -> list[FieldError]:
    if new.get("value") != old["value"]:
        return [forbidden_field("value", "may not be changed in an update.")]
    return []


def _prepare_budget(_backend: Backend, budget: Obj) -> None:
    counts = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    budget["status"] = dict.fromkeys(counts, 0)


def _budget_errors(budget: Obj) -> list[FieldError]:
    spec = budget.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        told = "minAvailable and maxUnavailable cannot be both set"
        return [invalid_value("spec", "", told)]
    return []


def _event_errors(event: Obj) -> list[FieldError]:
    about = (event.get("involvedObject") or {}).get("namespace", "")
    namespace = event["metadata"].get("namespace", "")
    if about not in (namespace, "") or (not about and namespace != "default"):
        return [invalid_value("involvedObject.namespace", about, "does not match event.namespace")]
    return []


def _new_event_errors(event: Obj) -> list[FieldError]:
    """Stricter than for core events; the names are those of the stored shape, as on the real server."""
    names = {"reportingComponent": "reportingController"}
    wanted = ("eventTime", "reportingComponent", "reportingInstance", "action", "reason")
    errors = [required(names.get(key, key)) for key in wanted if not event.get(key)]
    if event.get("type") not in ("Normal", "Warning"):
        errors.append(invalid_value("type", "", f"has invalid value: {event.get('type', '')}"))
    return _event_errors(event) + errors


def _lease_errors(lease: Obj) -> list[FieldError]:
    duration = (lease.get("spec") or {}).get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        return [invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0")]
    return []


def _prepare_claim(_backend: Backend, claim: Obj) -> None:
    claim["status"] = {"phase": "Pending"}
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _prepare_volume(_backend: Backend, volume: Obj) -> None:
    volume["status"] = {"phase": "Pending"}
    spec = volume.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")


def _prepare_storage_class(_backend: Backend, storage_class: Obj) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def _storage_class_errors(storage_class: Obj) -> list[FieldError]:
    return [] if storage_class.get("provisioner") else [required("provisioner")]


_PLAIN = Strategy()
_CUSTOM = Strategy(generation=True, unconditional_update=False, status_writes_metadata=False)
_REPLICA_SET = Strategy(
    workloaddefaults.prepare_with_replicas,
    workloadvalidation.replica_set_errors,
    workloadvalidation.unchanging(workloadvalidation.replica_set_errors, "selector"),
    generation=True,
    defaults=workloaddefaults.replica_set,
)
_DEPLOYMENT = Strategy(
    workloaddefaults.prepare,
    workloadvalidation.deployment_errors,
    workloadvalidation.unchanging(workloadvalidation.deployment_errors, "selector"),
    generation=True,
    defaults=workloaddefaults.deployment,
)
_STATEFUL_SET = Strategy(
    workloaddefaults.prepare_stateful_set,
    workloadvalidation.stateful_set_errors,
    workloadvalidation.stateful_set_update_errors,
    generation=True,
    defaults=workloaddefaults.stateful_set,
)
_JOB = Strategy(
    workloaddefaults.prepare_job,
    workloadvalidation.job_errors,
    workloadvalidation.job_update_errors,
    generation=True,
    defaults=workloaddefaults.job,
    orphans=True,
)
_STRATEGIES = {
    "pods": Strategy(
        pods.prepare_create,
        podvalidation.create_errors,
        pods.update_errors,
        pods.grace,
        graceful=True,
        generation=True,
        returns_deleted=True,
    ),
    "nodes": Strategy(_prepare_node, _node_errors, _node_update_errors),
    "namespaces": Strategy(_prepare_namespace, returns_deleted=True),
    "events": Strategy(create_errors=_event_errors, creates_on_update=True),
    "events.events.k8s.io": Strategy(create_errors=_new_event_errors, creates_on_update=True),
    "services": Strategy(creates_on_update=True, returns_deleted=True),
    "serviceaccounts": Strategy(returns_deleted=True),
    "persistentvolumeclaims": Strategy(_prepare_claim, returns_deleted=True),
    "persistentvolumes": Strategy(_prepare_volume, returns_deleted=True),
    "replicationcontrollers": Strategy(
        workloaddefaults.prepare_with_replicas, generation=True, defaults=workloaddefaults.replication_controller
    ),
    "replicasets.apps": _REPLICA_SET,
    "statefulsets.apps": _STATEFUL_SET,
    "deployments.apps": _DEPLOYMENT,
    "daemonsets.apps": Strategy(
        workloaddefaults.prepare_daemon_set, generation=True, defaults=workloaddefaults.daemon_set
    ),
    "jobs.batch": _JOB,
    "cronjobs.batch": Strategy(workloaddefaults.prepare, generation=True),
    "poddisruptionbudgets.policy": Strategy(
        _prepare_budget, _budget_errors, generation=True, unconditional_update=False
    ),
    "leases.coordination.k8s.io": Strategy(
        create_errors=_lease_errors, creates_on_update=True, unconditional_update=False
    ),
    "priorityclasses.scheduling.k8s.io": Strategy(
        _prepare_priority_class, _priority_class_errors, _priority_class_update_errors, generation=True
    ),
    "podgroups.scheduling.k8s.io": Strategy(podgroups.prepare_create, podgroups.create_errors, podgroups.update_errors),
    "storageclasses.storage.k8s.io": Strategy(_prepare_storage_class, _storage_class_errors, returns_deleted=True),
    "csinodes.storage.k8s.io": Strategy(unconditional_update=False, returns_deleted=True),
    "csidrivers.storage.k8s.io": Strategy(unconditional_update=False, returns_deleted=True),
    "csistoragecapacities.storage.k8s.io": Strategy(unconditional_update=False),
    "volumeattachments.storage.k8s.io": Strategy(unconditional_update=False, returns_deleted=True),
    "customresourcedefinitions.apiextensions.k8s.io": Strategy(
        customresources.prepare_definition,
        customresources.definition_errors,
        generation=True,
        unconditional_update=False,
    ),
}
