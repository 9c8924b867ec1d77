"""The arithmetic of a Deployment's rollout: how many replicas each ReplicaSet gets next, and how far it has come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Key, Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]


def surge(deployment: Obj) -> int:
    """How many pods there may be beyond the wanted ones."""
    return _limits(deployment)[0]


def _limits(deployment: Obj) -> tuple[int, int]:
    """What maxSurge and maxUnavailable are in pods; the first is rounded up, the second down, and not both are 0."""
    spec = deployment["spec"]
    rolling = spec["strategy"].get("rollingUpdate")
    if not rolling:
        return 0, 0
    above = math.ceil(_amount(rolling["maxSurge"], spec["replicas"]))
    below = math.floor(_amount(rolling["maxUnavailable"], spec["replicas"]))
    return above, min(below or int(not above), spec["replicas"])


def _amount(value: int | str, whole: int) -> float:
    return value if isinstance(value, int) else int(value.removesuffix("%")) * whole / 100


def replicas(deployment: Obj, newest: Stored, old: Sequence[Stored], *, old_pods: bool) -> dict[Key, int]:
    """What each ReplicaSet is to have now; `old_pods`: an old one still has pods, terminating ones included."""
    wanted = deployment["spec"]["replicas"]
    if deployment["spec"]["strategy"]["type"] == "Recreate":
        empty = {one.key: 0 for one in old}
        return empty if old_pods else {**empty, newest.key: wanted}
    above, below = _limits(deployment)
    total = sum(one.obj["spec"]["replicas"] for one in (newest, *old))
    present = newest.obj["spec"]["replicas"]
    grown = min(wanted, present + max(0, wanted + above - total))
    unavailable = max(0, present - _count(newest, "availableReplicas"))
    spare = max(0, total - (wanted - below) - unavailable)
    return {newest.key: grown, **_shrunk(old, spare, wanted - below, newest)}


def _shrunk(old: Sequence[Stored], spare: int, least: int, newest: Stored) -> dict[Key, int]:
    """Take replicas from the old ReplicaSets: first those that are not available, then as many as can be missed."""
    left = {one.key: one.obj["spec"]["replicas"] for one in old}
    for one in old:
        broken = min(spare, max(0, left[one.key] - _count(one, "availableReplicas")))
        left[one.key] -= broken
        spare -= broken
    missed = min(spare, max(0, sum(_count(one, "availableReplicas") for one in (newest, *old)) - least))
    for one in old:
        taken = min(missed, left[one.key])
        left[one.key] -= taken
        missed -= taken
    return left


def _count(stored: Stored, field: str) -> int:
    return int((stored.obj.get("status") or {}).get(field, 0))


def tell(
    control: Control, stored: Stored, newest: Stored | None, sets: Sequence[Stored], *, created: bool
) -> float | None:
    """Write the Deployment's status; returns the seconds until a rollout that stands still counts as failed."""
    spec, before = stored.obj["spec"], stored.obj.get("status") or {}
    counts = {key: sum(_count(one, key) for one in sets) for key in ("replicas", "readyReplicas", "availableReplicas")}
    counts["updatedReplicas"] = _count(newest, "replicas") if newest else 0
    counts["unavailableReplicas"] = max(
        0, sum(one.obj["spec"]["replicas"] for one in sets) - counts["availableReplicas"]
    )
    done = all(counts[key] == spec["replicas"] for key in ("updatedReplicas", "replicas", "availableReplicas"))
    moved = _moved(before, counts)
    progressing = _progressing(control, stored, newest, created=created, done=done, moved=moved)
    conditions = [_available(stored.obj, counts["availableReplicas"]), *([progressing] if progressing else [])]
    kept = [_timed(control, condition, before, moved=moved) for condition in conditions]
    status = {"observedGeneration": stored.obj["metadata"]["generation"]}
    status |= {key: value for key, value in counts.items() if value}
    status["terminatingReplicas"] = sum(_count(one, "terminatingReplicas") for one in sets)
    control.set_status(stored, {**status, "conditions": kept})
    if done or not progressing or progressing["status"] == "False":
        return None
    return max(0.0, float(spec["progressDeadlineSeconds"]) - control.since(kept[-1]["lastUpdateTime"]))


def _moved(before: Obj, counts: dict[str, int]) -> bool:
    """More updated, ready or available pods than before, or fewer old ones."""
    if any(counts[key] > before.get(key, 0) for key in ("updatedReplicas", "readyReplicas", "availableReplicas")):
        return True
    old: int = before.get("replicas", 0) - before.get("updatedReplicas", 0)
    return counts["replicas"] - counts["updatedReplicas"] < old


def _available(deployment: Obj, available: int) -> Obj:
    enough = available >= deployment["spec"]["replicas"] - _limits(deployment)[1]
    return {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": f"MinimumReplicas{'Available' if enough else 'Unavailable'}",
        "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
    }


def _progressing(
    control: Control, stored: Stored, newest: Stored | None, *, created: bool, done: bool, moved: bool
) -> Obj | None:
    conditions = (stored.obj.get("status") or {}).get("conditions") or ()
    before: Obj | None = next((c for c in conditions if c["type"] == "Progressing"), None)
    holds: Obj = {"type": "Progressing", "status": "True"}
    if newest is None or stored.obj["spec"].get("paused"):
        return before
    named = f'ReplicaSet "{newest.key[1]}"'
    if created:
        return holds | {"reason": "NewReplicaSetCreated", "message": f'Created new replica set "{newest.key[1]}"'}
    if done:
        return holds | {"reason": "NewReplicaSetAvailable", "message": f"{named} has successfully progressed."}
    if before is None or moved or before["reason"] == "NewReplicaSetAvailable":
        return holds | {"reason": "ReplicaSetUpdated", "message": f"{named} is progressing."}
    if control.since(before["lastUpdateTime"]) >= stored.obj["spec"]["progressDeadlineSeconds"]:
        late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
        return late | {"message": f"{named} has timed out progressing."}
    return before


def _timed(control: Control, condition: Obj, before: Obj, *, moved: bool) -> Obj:
    """The condition with its times: of the last change, and of the last change of its status."""
    said = ("type", "status", "reason", "message")
    told = {key: condition[key] for key in said}
    last = next((c for c in before.get("conditions") or () if c["type"] == condition["type"]), None)
    if last is None:
        return told | {"lastUpdateTime": control.now, "lastTransitionTime": control.now}
    same = all(last[key] == told[key] for key in said) and not (moved and told["type"] == "Progressing")
    updated = last["lastUpdateTime"] if same else control.now
    switched = last["lastTransitionTime"] if last["status"] == told["status"] else control.now
    return told | {"lastUpdateTime": updated, "lastTransitionTime": switched}
