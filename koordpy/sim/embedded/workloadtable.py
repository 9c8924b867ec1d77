"""The rows of workloads in `kubectl get`: how many are wanted, there and ready, and how a Job stands."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from koordpy.sim.embedded.columns import Column, age, duration, number
from koordpy.sim.embedded.selectors import as_text

Obj = dict[str, Any]

_ENDS = ("Failed", "Complete")
_STAGES = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _status(obj: Obj) -> Obj:
    return obj.get("status") or {}


def _ready(obj: Obj, _now: float) -> str:
    return f"{_status(obj).get('readyReplicas', 0)}/{obj['spec'].get('replicas', 0)}"


def _containers(field: str) -> Any:
    def cell(obj: Obj, _now: float) -> str:
        return ",".join(one.get(field, "") for one in obj["spec"]["template"]["spec"].get("containers") or ())

    return cell


def _selector(obj: Obj, _now: float) -> str:
    return as_text(obj["spec"].get("selector") or {}) or "<none>"


def _job_status(job: Obj, _now: float) -> str:
    holds = {c["type"] for c in _status(job).get("conditions") or () if c["status"] == "True"}
    for ended in _ENDS:
        if ended in holds:
            return ended
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    return next((stage for stage in _STAGES if stage in holds), "Running")


def _completions(job: Obj, _now: float) -> str:
    succeeded, spec = _status(job).get("succeeded", 0), job["spec"]
    if "completions" in spec:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 1)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Obj, now: float) -> str:
    started, ended = _status(job).get("startTime"), _status(job).get("completionTime")
    if not started:
        return ""
    until = datetime.fromisoformat(ended).timestamp() if ended else now
    return duration(until - datetime.fromisoformat(started).timestamp())


_AGE = Column("Age", age("metadata.creationTimestamp"))
_CONTAINERS = [
    Column("Containers", _containers("name"), priority=1),
    Column("Images", _containers("image"), priority=1),
]
_SELECTOR = Column("Selector", _selector, priority=1)

COLUMNS = {
    "deployments.apps": [
        Column("Ready", _ready),
        Column("Up-to-date", number("status.updatedReplicas"), kind="integer"),
        Column("Available", number("status.availableReplicas"), kind="integer"),
        _AGE,
        *_CONTAINERS,
        _SELECTOR,
    ],
    "replicasets.apps": [
        Column("Desired", number("spec.replicas"), kind="integer"),
        Column("Current", number("status.replicas"), kind="integer"),
        Column("Ready", number("status.readyReplicas"), kind="integer"),
        _AGE,
        *_CONTAINERS,
        _SELECTOR,
    ],
    "statefulsets.apps": [Column("Ready", _ready), _AGE, *_CONTAINERS],
    "jobs.batch": [
        Column("Status", _job_status),
        Column("Completions", _completions),
        Column("Duration", _job_duration),
        _AGE,
        *_CONTAINERS,
        _SELECTOR,
    ],
}
