"""Jobs: pods until enough of them have succeeded, or too many have failed, or it took too long.

A finished pod is counted once: it carries a finalizer until its outcome is in the Job's status. `jobstatus.py` says
when a Job has ended, `failurepolicy.py` what a failed pod means for it. Success policies and limits per index are not
acted on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.workloads import failurepolicy, jobstatus
from koordpy.sim.embedded.workloads.jobstatus import Outcome
from koordpy.sim.embedded.workloads.pods import (
    from_template,
    is_active,
    is_going,
    is_terminating,
    least_missed,
    phase,
    ready_since,
)

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
BURST = 500  # pods that one look at a Job creates or deletes
_FIRST_BACKOFF, _LONGEST_BACKOFF = 10.0, 600.0
_OURS = "kubernetes.io/job-controller"


class Jobs:
    storage, component = "jobs.batch", "job-controller"

    def __init__(self, control: Control) -> None:
        self._control = control
        self._failures: dict[str, tuple[int, float]] = {}  # by uid: failures in a row, and the time of the last

    def gone(self, stored: Stored) -> None:
        self._failures.pop(stored.obj["metadata"]["uid"], None)
        self._release(stored)

    def sync(self, stored: Stored) -> float | None:
        if stored.obj["spec"].get("managedBy", _OURS) != _OURS:
            return None
        if is_going(stored.obj):
            self._release(stored)
            return None
        ended = jobstatus.ended_at(stored.obj)
        if ended is not None:
            return self._expire(stored, ended)
        return self._proceed(stored)

    def _release(self, stored: Stored) -> None:
        """Nobody will count these pods any more."""
        for pod in self._control.owned(stored.obj):
            self._control.drop_finalizer(pod, TRACKING)

    def _expire(self, stored: Stored, ended: str) -> float | None:
        self._failures.pop(stored.obj["metadata"]["uid"], None)
        lifetime = stored.obj["spec"].get("ttlSecondsAfterFinished")
        if lifetime is None:
            return None
        left = lifetime - self._control.since(ended)
        if left > 0:
            return float(left)
        self._control.delete(stored)
        return None

    def _proceed(self, stored: Stored) -> float | None:
        control, job = self._control, stored.obj
        status = dict(job.get("status") or {})
        suspended = job["spec"].get("suspend", False)
        if not suspended:
            status.setdefault("startTime", control.now)
        broken = failurepolicy.why_the_job_fails(job, [pod.obj for pod in control.owned(job)])
        finished = self._count(stored, status)
        outcome = jobstatus.outcome_so_far(control, job, status, broken)
        again = None
        if outcome is not None:
            for pod in self._active(stored):
                control.delete(pod)
        elif suspended:
            self._take_away(stored, len(self._active(stored)))
        else:
            again = self._adjust(stored, status)
        if outcome is None and jobstatus.is_complete(job, status, len(self._active(stored))):
            outcome = jobstatus.SUCCESS
        if outcome is None:
            self._note_suspension(job, status, suspended=suspended)
        self._finish(stored, status, finished, outcome)
        return _sooner(again, jobstatus.time_left(control, job, status))

    def _finish(self, stored: Stored, status: Obj, finished: list[Stored], outcome: Outcome | None) -> None:
        """Write down what was counted before the finalizers go; an end is an end once no pod is left."""
        control, job = self._control, stored.obj
        if outcome is not None and not outcome.success:
            finished = [*finished, *self._count(stored, status, besides=finished)]
        pods = [pod.obj for pod in control.owned(job)]
        active = [pod for pod in pods if is_active(pod)]
        status["active"] = len(active) or None
        status["ready"] = sum(ready_since(pod) is not None for pod in active)
        status["terminating"] = sum(map(is_terminating, pods))
        status["uncountedTerminatedPods"] = {}
        if outcome is not None:
            ended = jobstatus.conclude(control, status, outcome)
            if ended:
                control.event(job, *outcome.event) if outcome.success else control.warn(job, *outcome.event)
        control.set_status(stored, status)
        for pod in finished:
            control.drop_finalizer(pod, TRACKING)

    def _active(self, stored: Stored) -> list[Stored]:
        return [pod for pod in self._control.owned(stored.obj) if is_active(pod.obj)]

    def _count(self, stored: Stored, status: Obj, besides: list[Stored] | None = None) -> list[Stored]:
        """Add pods that have ended to the status; `besides` those of a Job that has failed, all that are left."""
        job, counted = stored.obj, {pod.key for pod in besides or ()}
        uid, indexed = job["metadata"]["uid"], job["spec"]["completionMode"] == "Indexed"
        completed = jobstatus.read_indexes(status.get("completedIndexes") or "")
        found = []
        for pod in self._control.owned(job):
            tracked = TRACKING in (pod.obj["metadata"].get("finalizers") or ())
            succeeded = phase(pod.obj) == "Succeeded"
            ended = succeeded or failurepolicy.has_failed(job, pod.obj) or (besides is not None and is_going(pod.obj))
            if not tracked or not ended or pod.key in counted:
                continue
            found.append(pod)
            if succeeded:
                self._failures.pop(uid, None)
                completed.add(index_of(pod.obj))
                status["succeeded"] = (status.get("succeeded") or 0) + 1
            else:
                self._failures[uid] = (self._failures.get(uid, (0, 0.0))[0] + 1, self._control.clock)
                if failurepolicy.meaning(job, pod.obj).counts:
                    status["failed"] = (status.get("failed") or 0) + 1
        if indexed and found:
            completed &= set(range(job["spec"]["completions"]))
            status["succeeded"] = len(completed) or None
            status["completedIndexes"] = jobstatus.write_indexes(completed) or None
        return found

    def _adjust(self, stored: Stored, status: Obj) -> float | None:
        """Create what is missing or delete what is too much; returns how long to wait after failures."""
        job, active = stored.obj, self._active(stored)
        surplus = len(active) - jobstatus.wanted_active(job, status, len(active))
        if surplus > 0:
            self._take_away(stored, surplus)
            return None
        ending = self._ending(stored)
        missing = -surplus - len(ending)
        if missing <= 0:
            return None
        failures, last = self._failures.get(job["metadata"]["uid"], (0, 0.0))
        if failures:
            backoff = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** min(failures - 1, 10))
            left: float = backoff - (self._control.clock - last)
            if left > 0:
                return left
        for index in self._indexes(stored, status, [*active, *ending], min(missing, BURST)):
            self._create(stored, index)
        return None

    def _ending(self, stored: Stored) -> list[Stored]:
        """Pods that keep their place, and their index, until they have ended."""
        if not failurepolicy.waits_for_the_end(stored.obj):
            return []
        return [
            pod
            for pod in self._control.owned(stored.obj)
            if is_terminating(pod.obj) and pod.obj["spec"].get("nodeName")
        ]

    def _indexes(self, stored: Stored, status: Obj, taking: list[Stored], count: int) -> list[int | None]:
        """The lowest indexes that are neither done nor taken; None for each pod of a Job without indexes."""
        if stored.obj["spec"]["completionMode"] != "Indexed":
            return [None] * count
        taken = jobstatus.read_indexes(status.get("completedIndexes") or "") | {index_of(pod.obj) for pod in taking}
        free = (index for index in range(stored.obj["spec"]["completions"]) if index not in taken)
        return [index for index, _ in zip(free, range(count), strict=False)]

    def _create(self, stored: Stored, index: int | None) -> None:
        name, pod = stored.key[1], from_template(stored)
        metadata = pod["metadata"]
        metadata["finalizers"] = [*metadata.get("finalizers", ()), TRACKING]
        metadata["generateName"] = f"{name}-"
        if index is not None:
            metadata["generateName"] = f"{name}-{index}-"
            metadata["labels"][INDEX] = str(index)
            metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(index)}
            pod["spec"]["hostname"] = f"{name}-{index}"
            _tell_containers_their_index(pod["spec"])
        made = self._control.create("pods", stored.obj, pod)
        self._control.event(stored.obj, "SuccessfulCreate", f"Created pod: {made.key[1]}")

    def _take_away(self, stored: Stored, count: int) -> None:
        """Delete pods that are not wanted any more; they are no failures, so nobody counts them."""
        for pod in least_missed(self._active(stored), count):
            self._control.drop_finalizer(pod, TRACKING)
            freed = self._control.store.get("pods", *pod.key)
            if freed is not None:
                self._control.delete(freed)
                self._control.event(stored.obj, "SuccessfulDelete", f"Deleted pod: {pod.key[1]}")

    def _note_suspension(self, job: Obj, status: Obj, *, suspended: bool) -> None:
        if not jobstatus.note_suspension(self._control, status, suspended=suspended):
            return
        if suspended:
            status.pop("startTime", None)
            self._control.event(job, "Suspended", "Job suspended")
        else:
            status["startTime"] = self._control.now
            self._control.event(job, "Resumed", "Job resumed")


def index_of(pod: Obj) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else -1


def _tell_containers_their_index(spec: Obj) -> None:
    variable = {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}},
    }
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        known = container.setdefault("env", [])
        if all(one.get("name") != variable["name"] for one in known):
            known.append(variable)


def _sooner(one: float | None, other: float | None) -> float | None:
    times = [time for time in (one, other) if time is not None]
    return min(times, default=None)
