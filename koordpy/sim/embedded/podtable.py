"""The row of a pod in `kubectl get pods`: readiness, the reason shown as status, restarts."""

from __future__ import annotations

from typing import Any

from koordpy.sim.embedded.columns import Column, age, text

Obj = dict[str, Any]


def _statuses(pod: Obj) -> list[Obj]:
    return (pod.get("status") or {}).get("containerStatuses") or []


def _ready(pod: Obj, _now: float) -> str:
    ready = sum(bool(status.get("ready")) for status in _statuses(pod))
    return f"{ready}/{len(pod['spec'].get('containers') or ())}"


def _status(pod: Obj, _now: float) -> str:
    status = pod.get("status") or {}
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    gated = any(c.get("reason") == "SchedulingGated" for c in status.get("conditions") or ())
    if gated and pod["spec"].get("schedulingGates"):
        return "SchedulingGated"
    shown = status.get("reason") or status.get("phase") or "Unknown"
    for container in _statuses(pod):
        state = container.get("state") or {}
        for kind in ("waiting", "terminated"):
            shown = (state.get(kind) or {}).get("reason") or shown
    return str(shown)


def _restarts(pod: Obj, _now: float) -> str:
    return str(sum(status.get("restartCount", 0) for status in _statuses(pod)))


COLUMNS = [
    Column("Ready", _ready),
    Column("Status", _status),
    Column("Restarts", _restarts),
    Column("Age", age("metadata.creationTimestamp")),
    Column("IP", text("status.podIP", "<none>"), priority=1),
    Column("Node", text("spec.nodeName", "<none>"), priority=1),
    Column("Nominated Node", text("status.nominatedNodeName", "<none>"), priority=1),
    Column(
        "Readiness Gates",
        lambda pod, _now: "<none>" if not pod["spec"].get("readinessGates") else "?",
        priority=1,
    ),
]
