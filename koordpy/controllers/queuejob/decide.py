"""What has to happen to one QueueJob: a pure function of the job, its pods and the time.

It reads like the rules that users are told (docs/queuejob.md). It does no I/O and remembers nothing: everything that a
decision needs stands in the QueueJob's status and in its pods, so that a controller that was killed between any two
calls decides the same when it starts again. What changes the meaning of pods (a restart, a suspension, new templates,
the end) is a `Transition`: a status with the next incarnation, which is stored first, by optimistic concurrency. Only
then pods are deleted and created, because their incarnation says so. So no restart is counted twice, and none is lost.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from koordpy.api.queuejob import QueueJob, QueueJobStatus
from koordpy.api.times import instant_of_seconds, seconds_of_instant
from koordpy.controllers.queuejob import status as told
from koordpy.controllers.queuejob.effects import (
    CreateService,
    Decision,
    DeleteJob,
    DeletePod,
    DeleteService,
    Effect,
    Steps,
    Telling,
    Transition,
    WriteSpec,
)
from koordpy.controllers.queuejob.names import Slot, slots, template_hash
from koordpy.controllers.queuejob.pods import JobPod
from koordpy.controllers.queuejob.problems import problems
from koordpy.controllers.queuejob.remembered import Remembered

_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 10.0, 300.0
# A pod beyond the minimum that fails is made again at once if it ran for so long; else when that time is over.
_SHORTEST_LIFE_S = 10.0

_SUSPENDED = Telling("Normal", "Suspended", "spec.suspend is true: pods that have not succeeded are deleted")

replace = msgspec.structs.replace


@dataclass(frozen=True)
class Known:
    """Everything that a decision is made from."""

    job: QueueJob
    pods: Collection[JobPod]  # that the QueueJob controls, of all incarnations
    now: float  # seconds since the epoch
    stored_spec: dict[str, object] | None = None  # of its SchedulingSpec; None: there is none
    service: str = ""  # UID of its headless Service; empty: there is none
    refusal: told.Refusal | None = None  # why the last pod could not be created


def decide(known: Known) -> Decision:
    """What has to happen next."""
    job, status = known.job, known.job.status
    if job.metadata.deletion_timestamp:
        return Steps(status)  # the garbage collector removes what it owns
    if not (status.ended and status.template_hash == template_hash(job.spec)) and (wrong := problems(job)):
        return Steps(told.unusable(known.job, known.pods, wrong, known.now))
    present = Present(known)
    change = _accepted(present) or _made_anew(present) or _ended(present)
    if change is not None:
        return change
    if status.ended:
        return _after_the_end(present)
    change = _suspended(present) or _resumed(present) or _restarted(present)
    return change or _steps(present)


class Present:
    """One QueueJob as it is: which pods count, which places are filled, and what is lost."""

    def __init__(self, known: Known) -> None:
        self.known, self.job, self.status, self.now = known, known.job, known.job.status, known.now
        self.wanted = list(slots(known.job.spec))
        wanted = set(self.wanted)
        self.minimum = known.job.spec.minimum
        of_these_templates = [pod for pod in known.pods if pod.incarnation >= self.status.template_incarnation]
        # Succeeded pods of earlier incarnations stay and count, as long as they are of the present templates.
        self.stale = [
            pod
            for pod in known.pods
            if pod.incarnation != self.status.incarnation
            and not (pod.succeeded and pod.incarnation >= self.status.template_incarnation)
        ]
        self.current = {pod.slot: pod for pod in known.pods if pod.incarnation == self.status.incarnation}
        self.stored = Remembered.of(self.status)
        self.remembered = self.stored.seen(of_these_templates, self.status.incarnation, wanted)
        self.done = self.remembered.completed & wanted
        kept = wanted - self.remembered.removed
        self.running = [pod for slot, pod in self.current.items() if slot in kept and pod.runs]
        self.missing = [slot for slot in self.wanted if slot not in self.done and slot not in self.current]

    @property
    def available(self) -> int:
        return len(self.running) + len(self.done)

    @property
    def lost(self) -> list[tuple[Slot, JobPod | None]]:
        """Places whose pod has failed, or ran in this incarnation and is gone or going."""
        found: list[tuple[Slot, JobPod | None]] = []
        for slot in self.wanted:
            if slot in self.done or slot in self.remembered.removed:
                continue
            pod = self.current.get(slot)
            started = slot in self.remembered.started
            if (pod is None and started) or (pod is not None and (pod.failed or (pod.terminating and started))):
                found.append((slot, pod))
        return found


# --- transitions: stored before anything follows from them ---


def _accepted(present: Present) -> Transition | None:
    """The first look at a QueueJob. One whose status was lost, as in a restored backup, keeps its pods."""
    if present.status.template_hash:
        return None
    begun = QueueJobStatus(
        phase="Pending",
        incarnation=max((pod.incarnation for pod in present.known.pods), default=0),
        template_incarnation=min((pod.incarnation for pod in present.known.pods), default=0),
        template_hash=template_hash(present.job.spec),
    )
    if not present.job.spec.suspend:
        return Transition(told.counted(begun, present.job, present.known.pods))
    return Transition(told.counted(_held(present, begun), present.job, present.known.pods), _SUSPENDED)


def _made_anew(present: Present) -> Transition | None:
    """Other templates: nothing of what was made from the old ones counts any more, an end included."""
    status, wanted = present.status, template_hash(present.job.spec)
    if status.template_hash == wanted:
        return None
    incarnation = status.incarnation + 1
    anew = QueueJobStatus(
        phase="Pending", incarnation=incarnation, template_incarnation=incarnation, template_hash=wanted
    )
    if present.job.spec.suspend:
        anew = _held(present, anew)
    text = f"the templates have changed: all pods are made anew, as incarnation {incarnation}"
    return _transition(present, anew, Telling("Normal", "TemplateChanged", text))


def _ended(present: Present) -> Transition | None:
    """Completed: every place is done. A job without any places waits for replicas."""
    if present.status.ended or not present.wanted or len(present.done) < len(present.wanted):
        return None
    text = f"all {len(present.wanted)} pods have succeeded"
    return _end(present, "Completed", Telling("Normal", "Completed", text))


def _end(present: Present, phase: str, telling: Telling) -> Transition:
    ended = replace(present.status, phase=phase, completion_time=instant_of_seconds(present.now))
    kind = "Complete" if phase == "Completed" else "Failed"
    ended = told.with_condition(ended, present.job, told.Said(kind, "True", telling.reason, telling.text), present.now)
    return _transition(present, ended, telling)


def _suspended(present: Present) -> Transition | None:
    if not present.job.spec.suspend or present.status.phase == "Suspended":
        return None
    held = replace(present.status, incarnation=present.status.incarnation + 1)
    return _transition(present, _held(present, held), _SUSPENDED)


def _held(present: Present, status: QueueJobStatus) -> QueueJobStatus:
    status = replace(status, phase="Suspended")
    return told.with_condition(status, present.job, told.Said("Suspended", "True", *_SUSPENDED[1:]), present.now)


def _resumed(present: Present) -> Transition | None:
    if present.job.spec.suspend or present.status.phase != "Suspended":
        return None
    telling = Telling("Normal", "Resumed", "spec.suspend is false: pods are created")
    going = replace(present.status, phase="Pending")
    going = told.with_condition(going, present.job, told.Said("Suspended", "False", *telling[1:]), present.now)
    return _transition(present, going, telling)


def _restarted(present: Present) -> Transition | None:
    """Below the minimum because a pod was lost: all that have not succeeded are made again, or the job has failed."""
    if present.status.phase == "Suspended" or present.available >= present.minimum:
        return None
    lost = present.lost
    if not lost:
        return None
    status, why = present.status, told.loss(present.job, lost, present.available, present.minimum)
    most = present.job.spec.max_restarts
    if most is not None and status.restarts >= most:
        text = f"{why}; it was restarted {status.restarts} times, and spec.maxRestarts is {most}"
        return _end(present, "Failed", Telling("Warning", "MaxRestartsReached", text))
    again = replace(
        status,
        phase="Restarting",
        restarts=status.restarts + 1,
        incarnation=status.incarnation + 1,
        last_restart_time=instant_of_seconds(present.now),
    )
    reason = told.reason_of(lost[0][1])
    again = told.with_condition(again, present.job, told.Said("Restarted", "True", reason, why), present.now)
    return _transition(present, again, Telling("Warning", "Restarting", f"restart {again.restarts}: {why}"))


def _transition(present: Present, changed: QueueJobStatus, telling: Telling) -> Transition:
    """With what is remembered of pods, as far as it holds for the incarnation that begins."""
    if changed.ended or changed.phase == "Suspended":  # then whether pods are created is no question
        changed = told.without(changed, "PodsCreated")
    remembered = present.remembered
    if changed.template_incarnation != present.status.template_incarnation:
        remembered = Remembered()
    elif changed.incarnation != present.status.incarnation:
        remembered = remembered.begun_anew()
    changed = replace(changed, task_statuses=remembered.as_statuses(present.job.spec))
    return Transition(told.counted(changed, present.job, present.known.pods), telling)


# --- steps: what follows from the stored status and the pods that exist ---


def _steps(present: Present) -> Steps:
    effects: list[Effect] = [DeletePod(pod) for pod in _unwanted(present) if not pod.terminating]
    if present.known.service and not _asks_for_service(present):
        effects.append(DeleteService(present.known.service))
    if present.status.phase == "Suspended":
        return Steps(told.standing(present.known, present.remembered, "", present.status.phase), tuple(effects))
    effects += _companions(present)
    replaced, due = _failed(present)
    effects += [DeletePod(pod) for pod in replaced]
    wait_for, until = _held_back(present)
    minimum, surplus = ((), ()) if wait_for else _to_create(present)
    status = told.standing(present.known, present.remembered, wait_for, _phase(present), missing=len(present.missing))
    times = [time for time in (due, until) if time is not None]
    return Steps(
        status,
        tuple(effects),
        minimum,
        surplus,
        _surplus_made(present),
        min(times, default=None),
        present.remembered.takes_back(present.stored),
    )


def _after_the_end(present: Present) -> Steps:
    """What still runs is deleted; what has ended stays, for its logs, until the job goes."""
    effects: list[Effect] = [
        DeletePod(pod) for pod in present.known.pods if not (pod.terminating or pod.succeeded or pod.failed)
    ]
    look_again_at = None
    ttl, ended = present.job.spec.ttl_seconds_after_finished, present.status.completion_time
    if ttl is not None and ended:
        look_again_at = seconds_of_instant(ended) + ttl
        if look_again_at <= present.now:
            effects, look_again_at = [DeleteJob()], None
    status = told.standing(present.known, present.remembered, "", present.status.phase)
    return Steps(status, tuple(effects), look_again_at=look_again_at)


def _unwanted(present: Present) -> list[JobPod]:
    """Of earlier incarnations, and beyond the replicas, also those of a moment ago."""
    removed = present.remembered.removed
    return [*present.stale, *(pod for slot, pod in present.current.items() if slot in removed)]


def _companions(present: Present) -> list[Effect]:
    """The SchedulingSpec comes before the pods: a minimum that was raised is known when the new ones arrive."""
    found: list[Effect] = []
    wanted = scheduling_spec(present.job)
    if present.known.stored_spec != wanted:
        found.append(WriteSpec(wanted))
    if _asks_for_service(present) and not present.known.service:
        found.append(CreateService())
    return found


def _asks_for_service(present: Present) -> bool:
    return present.job.spec.network == "Hostnames"


def scheduling_spec(job: QueueJob) -> dict[str, object]:
    """With an explicit minimum, whatever the QueueJob leaves out."""
    said: dict[str, object] = msgspec.to_builtins(job.spec.scheduling)
    return said | {"minAvailable": job.spec.minimum}


def _failed(present: Present) -> tuple[list[JobPod], float | None]:
    """Failed pods of a job that has its minimum: those to delete, so that they are made again, and when the next is."""
    now, due = present.now, []
    replaced = []
    for slot in present.wanted:
        pod = present.current.get(slot)
        if pod is None or not pod.failed or pod.terminating:
            continue
        if slot in present.done or slot in present.remembered.removed:
            continue
        at = seconds_of_instant(pod.created) + _SHORTEST_LIFE_S if pod.created else now
        if at <= now:
            replaced.append(pod)
        else:
            due.append(at)
    return replaced, min(due, default=None)


def _held_back(present: Present) -> tuple[str, float | None]:
    """Why no pod is created yet, and until when if that is a matter of time."""
    if present.stale:
        names = sorted(pod.name for pod in present.stale)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"waiting for pods to terminate: {', '.join(names[:3])}{more}", None
    until = backoff_end(present.status)
    if until > present.now and present.status.phase == "Restarting":
        return f"restart {present.status.restarts} waits until {instant_of_seconds(until)}", until
    return "", None


def backoff_end(status: QueueJobStatus) -> float:
    """The first restart is at once; the second waits 10 s, and each later one twice as long, at most 5 minutes."""
    if status.restarts < 2 or not status.last_restart_time:
        return 0.0
    pause_s = min(_FIRST_BACKOFF_S * 2.0 ** min(status.restarts - 2, 10), _LONGEST_BACKOFF_S)
    return seconds_of_instant(status.last_restart_time) + pause_s


def _to_create(present: Present) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    there = len(present.wanted) - len(present.missing)
    short = max(0, present.minimum - there)
    return tuple(present.missing[:short]), tuple(present.missing[short:])


def _surplus_made(present: Present) -> int:
    return max(0, len(present.wanted) - len(present.missing) - present.minimum)


def _phase(present: Present) -> str:
    """Running once the minimum runs, and from then on: whether it was lost is decided by what was lost."""
    if present.available >= max(1, present.minimum):
        return "Running"
    return present.status.phase
