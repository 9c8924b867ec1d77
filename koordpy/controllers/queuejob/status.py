"""The status of a QueueJob: counters, conditions, and the words for what happened. It decides nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from koordpy.api.meta import StatusCondition
from koordpy.api.queuejob import QueueJob, QueueJobStatus
from koordpy.api.times import instant_of_seconds
from koordpy.controllers.queuejob.names import Slot, pod_name
from koordpy.controllers.queuejob.pods import JobPod

if TYPE_CHECKING:
    from koordpy.controllers.queuejob.decide import Known
    from koordpy.controllers.queuejob.remembered import Remembered

_COUNTED = {"Pending": "pending", "": "pending", "Running": "running", "Succeeded": "succeeded", "Failed": "failed"}

replace = msgspec.structs.replace


class Refusal(NamedTuple):
    """Why a pod of the job could not be created."""

    reason: str
    message: str


class Said(NamedTuple):
    """A condition, without its times."""

    type: str
    status: str
    reason: str
    message: str


def counted(status: QueueJobStatus, job: QueueJob, pods: Iterable[JobPod]) -> QueueJobStatus:
    """With the number of pods that exist, each counted once; `Unknown` is a node's silence about a pod that runs."""
    counters = {"pending": 0, "running": 0, "succeeded": 0, "failed": 0}
    for pod in pods:
        counters[_COUNTED.get(pod.phase, "running")] += 1
    return replace(status, **counters, min_available=job.spec.minimum, observed_generation=job.metadata.generation)


def standing(
    known: Known, remembered: Remembered, wait_for: str, phase: str, missing: int | None = None
) -> QueueJobStatus:
    """The status that belongs to the pods of this moment; `missing` places have none, or that is no question."""
    job = known.job
    status = replace(counted(job.status, job, known.pods), phase=phase, task_statuses=remembered.as_statuses(job.spec))
    status = without(status, "SpecValid")
    if missing is None:
        return status
    if not missing:
        return with_condition(status, job, Said("PodsCreated", "True", "AllCreated", "all pods are created"), known.now)
    reason, message = "Waiting", wait_for or f"{missing} pods are being created"
    if not wait_for and known.refusal is not None:
        reason, message = known.refusal.reason, f"{known.refusal.message}; {missing} pods are not created"
    return with_condition(status, job, Said("PodsCreated", "False", reason, message), known.now)


def unusable(job: QueueJob, pods: Collection[JobPod], wrong: list[str], now: float) -> QueueJobStatus:
    """Pods are left alone until the spec can be used again."""
    status = replace(counted(job.status, job, pods), phase=job.status.phase or "Pending")
    return with_condition(status, job, Said("SpecValid", "False", "Invalid", "; ".join(wrong)), now)


def with_condition(status: QueueJobStatus, job: QueueJob, said: Said, now: float) -> QueueJobStatus:
    """The condition set; the time of the last transition moves only with its status."""
    before = next((each for each in status.conditions if each.type == said.type), None)
    holds = before is not None and before.status == said.status
    since = before.last_transition_time if before is not None and holds else instant_of_seconds(now)
    condition = StatusCondition(*said, since, job.metadata.generation)
    if before is None:
        return replace(status, conditions=(*status.conditions, condition))
    return replace(status, conditions=tuple(condition if each is before else each for each in status.conditions))


def without(status: QueueJobStatus, kind: str) -> QueueJobStatus:
    kept = tuple(each for each in status.conditions if each.type != kind)
    return status if len(kept) == len(status.conditions) else replace(status, conditions=kept)


def reason_of(pod: JobPod | None) -> str:
    if pod is None:
        return "PodGone"
    return "PodFailed" if pod.failed else "PodDeleted"


def loss(job: QueueJob, lost: list[tuple[Slot, JobPod | None]], available: int, minimum: int) -> str:
    """`pod a-w-3-0 failed: exit code 1; 3 of the 4 that are needed run or have succeeded`."""
    slot, pod = lost[0]
    if pod is None:
        what = f"pod {pod_name(job.metadata.name, slot, job.status.incarnation)} is gone"
    elif pod.failed:
        what = f"pod {pod.name} failed: {pod.cause}"
    else:
        what = f"pod {pod.name} is being deleted: {pod.cause}"
    others = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
    return f"{what}{others}; {available} of the {minimum} that are needed run or have succeeded"
