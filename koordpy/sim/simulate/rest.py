"""What has to be true once faults have stopped and some time has passed: nothing pending that fits, every status true.

Each check says what is wrong now; whoever asks gives the system time, and asks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from koordpy.api.quantity import milli_units
from koordpy.sim.simulate.placing import fit_in, needed
from koordpy.sim.simulate.reading import KOORDINATOR, Gang, gang_of
from koordpy.sim.simulate.truth import (
    Amounts,
    Truth,
    asked,
    condition,
    is_anything_reserved,
    is_finished,
    is_odd,
    is_pending,
    is_terminating,
    key_of,
    limit_of,
    node_of,
    queue_of,
)

Json = dict[str, Any]

_FIXED = 100  # from this priority on work of a queue counts against its quota, which is not looked at here


def wrong_at_rest(truth: Truth) -> list[str]:
    return [*_pending_that_fit(truth), *_untold(truth)]


# --- pending ---


def _pending_that_fit(truth: Truth) -> Iterator[str]:
    gangs = truth.gangs()
    pending = [pod for pod in truth.pods if is_pending(pod)]
    if any(_accumulates(pod, gangs) for pod in pending) or is_anything_reserved(truth):
        return  # what such gangs keep while they wait no other process knows of; and who waits for a reserved start
    for name, gang in sorted(gangs.items()):
        waiting = [pod for pod in gang.members if is_pending(pod) and not is_odd(pod)]
        if waiting and (need := needed(gang, waiting)) and could_start(truth, need):
            yield f"gang {name} is pending, and {len(need)} of its pods fit: {truth.free()}"
    alone = [pod for pod in pending if truth.gang_of(pod) is None]
    for pod in alone:
        if not is_odd(pod) and could_start(truth, [pod]):
            yield f"{key_of(pod)} is pending, and fits: {truth.free()}"


def _accumulates(pod: Json, gangs: dict[str, Gang]) -> bool:
    gang = gangs.get(gang_of(pod) or "")
    said = [pod["metadata"], gang.object_metadata if gang else {}]
    return any((meta.get("annotations") or {}).get(f"{KOORDINATOR}/mode") == "NonStrict" for meta in said)


def could_start(truth: Truth, pods: list[Json]) -> bool:
    return fit_in(truth, pods, _unpromised(truth, pods)) and _queue_lets(truth, pods)


def _unpromised(truth: Truth, pods: list[Json]) -> dict[str, Amounts]:
    """Free, and not kept for those that are nominated."""
    free, own = truth.free(), {pod["metadata"]["uid"] for pod in pods}
    for pod in truth.pods:
        node = pod["status"].get("nominatedNodeName", "")
        if is_pending(pod) and node in free and pod["metadata"]["uid"] not in own:
            for key, need in asked(pod).items():
                free[node][key] = free[node].get(key, 0) - need
    return free


def _queue_lets(truth: Truth, pods: list[Json]) -> bool:
    if not truth.all("queues.scheduling.run.ai") or not queue_of(pods[0]):
        return True
    path = list(truth.queue_path(queue_of(pods[0])))
    if not path or path[-1]["spec"].get("parentQueue"):
        return False  # one that is named does not exist, or is its own ancestor
    if max(pod["spec"].get("priority", 0) for pod in pods) >= _FIXED:
        return False
    asks = sum(asked(pod).get("cpu", 0) for pod in pods)
    limits = ((limit_of(queue), truth.allocated(queue["metadata"]["name"])) for queue in path)
    return all(limit is None or has + asks <= limit for limit, has in limits)


def _untold(truth: Truth) -> Iterator[str]:
    for pod in truth.pods:
        if is_pending(pod) and not is_odd(pod) and condition(pod, "PodScheduled").get("status") != "False":
            yield f"{key_of(pod)} is pending, and nobody says why"


# --- statuses ---


def untrue_statuses(truth: Truth) -> Iterator[str]:
    yield from _pod_group_statuses(truth)
    yield from _queue_statuses(truth)
    yield from _queue_job_statuses(truth)


def _pod_group_statuses(truth: Truth) -> Iterator[str]:
    for name, gang in sorted(truth.gangs().items()):
        if gang.object is None or not _keeps_counts(gang):
            continue
        status = gang.status or {}
        members = [pod for pod in gang.members if not _is_of_predecessor(pod, gang)]
        if members and not status.get("phase"):
            yield f"PodGroup {name} has no phase, and {len(members)} pods"
        is_told = condition(gang.object, "Scheduled").get("status") == "False"
        if not is_told and status.get("phase") != "Finished" and _waits_below_its_minimum(gang, members):
            yield f"PodGroup {name} waits, and no condition says why"
        if status.get("phase") in (None, "", "Finished", "Failed"):
            continue  # what has ended stays as it was when its pods are gone
        for field, phase in (("running", "Running"), ("succeeded", "Succeeded"), ("failed", "Failed")):
            if (said := status.get(field, 0)) != (true := _with_phase(members, phase)):
                yield f"PodGroup {name} says {field} {said}, and {true} are"


def _keeps_counts(gang: Gang) -> bool:
    """PodGroups of Koordinator and KAI; a SchedulingSpec is known by the UID of its owner, and has no status."""
    return gang.name.partition("@")[2] in ("", "kai")


def _is_of_predecessor(pod: Json, gang: Gang) -> bool:
    """It had finished before the PodGroup was made; a grouper makes those of pods that run already."""
    made = str(gang.object_metadata.get("creationTimestamp", ""))
    return is_finished(pod) and str(pod["metadata"]["creationTimestamp"]) < made and _ended(pod) <= made


def _ended(pod: Json) -> str:
    states = [each.get("state", {}).get("terminated", {}) for each in pod["status"].get("containerStatuses", ())]
    return max((str(each.get("finishedAt", "")) for each in states), default="")


def _waits_below_its_minimum(gang: Gang, members: list[Json]) -> bool:
    started = sum(bool(node_of(pod)) for pod in members)
    return any(map(is_pending, members)) and gang.minimum is not None and started < gang.minimum


def _with_phase(pods: Iterable[Json], phase: str) -> int:
    return sum(pod["status"].get("phase") == phase for pod in pods)


def _queue_statuses(truth: Truth) -> Iterator[str]:
    for queue in truth.all("queues.scheduling.run.ai"):
        name, status = queue["metadata"]["name"], queue.get("status") or {}
        if name.startswith("odd"):
            continue
        for field, true in (("allocated", truth.allocated(name)), ("requested", truth.requested(name))):
            if (said := milli_units((status.get(field) or {}).get("cpu", "0"))) != true:
                yield f"queue {name} says that {said} is {field}, and {true} is"


def _queue_job_statuses(truth: Truth) -> Iterator[str]:
    for job in truth.all("queuejobs.arbitrator.incubator.k8s.io"):
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        pods = [pod for pod in truth.pods if _controlled_by(pod, uid) and not is_terminating(pod)]
        status = job.get("status") or {}
        for field, phase in (("pending", "Pending"), ("running", "Running"), ("succeeded", "Succeeded")):
            if (said := status.get(field, 0)) != (true := _with_phase(pods, phase)):
                yield f"QueueJob {name} says {field} {said}, and {true} are"


def _controlled_by(pod: Json, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences") or ())
