"""What the API server fills into a workload before it checks it: replicas, strategies, and the selector of a Job.

The same on every write, so that a field that a client leaves out of an update has its default again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.pods import default_template

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend

Obj = dict[str, Any]

_JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")
_JOB_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")


def _spec(workload: Obj) -> Obj:
    """The spec of a workload, with the defaults of its pod template."""
    spec: Obj = workload.setdefault("spec", {})
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {}).pop("creationTimestamp", None)
    default_template(template.setdefault("spec", {}))
    return spec


def replica_set(workload: Obj) -> None:
    _spec(workload).setdefault("replicas", 1)


def replication_controller(workload: Obj) -> None:
    spec = _spec(workload)
    spec.setdefault("replicas", 1)
    labels = spec["template"]["metadata"].get("labels") or {}
    if labels:
        spec.setdefault("selector", dict(labels))
        workload["metadata"].setdefault("labels", dict(labels))


def deployment(workload: Obj) -> None:
    spec = _spec(workload)
    for key, value in {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}.items():
        spec.setdefault(key, value)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


def daemon_set(workload: Obj) -> None:
    spec = _spec(workload)
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)


def stateful_set(workload: Obj) -> None:
    spec = _spec(workload)
    for key, value in {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"}.items():
        spec.setdefault(key, value)
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
        strategy["rollingUpdate"].setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for when in ("whenDeleted", "whenScaled"):
        retention.setdefault(when, "Retain")


def job(workload: Obj) -> None:
    spec = _spec(workload)
    if "parallelism" not in spec:
        spec.setdefault("completions", 1)
    labels = spec["template"]["metadata"].get("labels") or {}
    if labels and not workload["metadata"].get("labels"):
        workload["metadata"]["labels"] = (
            labels  # the same ones, so that it has those of `prepare_job`, as on the real server
        )
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern.setdefault("status", "True")
    replacement = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    defaults = {
        "parallelism": 1,
        "backoffLimit": 2**31 - 1 if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": replacement,
        "manualSelector": False,
    }
    for key, value in defaults.items():
        spec.setdefault(key, value)


def prepare_job(_backend: Backend, workload: Obj) -> None:
    """A Job selects its pods by its own uid, unless its author insists on a selector."""
    workload["status"] = {}
    metadata, spec = workload["metadata"], workload["spec"]
    if spec["manualSelector"]:
        return
    labels = spec["template"]["metadata"].setdefault("labels", {})
    labels |= {key: labels.get(key, metadata["name"]) for key in _JOB_NAME}
    labels |= {key: labels.get(key, metadata["uid"]) for key in _JOB_UID}
    selected = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    selected.setdefault(_JOB_UID[1], metadata["uid"])


def prepare(_backend: Backend, workload: Obj) -> None:
    workload["status"] = {}


def prepare_with_replicas(_backend: Backend, workload: Obj) -> None:
    workload["status"] = {"replicas": 0}


def prepare_stateful_set(_backend: Backend, workload: Obj) -> None:
    workload["status"] = {"replicas": 0, "availableReplicas": 0}


def prepare_daemon_set(_backend: Backend, workload: Obj) -> None:
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    workload["metadata"].setdefault("annotations", {})["deprecated.daemonset.template.generation"] = "1"
    workload["status"] = dict.fromkeys(counts, 0)
