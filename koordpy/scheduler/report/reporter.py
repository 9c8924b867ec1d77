"""What users are told: pod conditions and events, from the same refusals and plans that the scheduler acts on.

A pod that stays pending for the same reason costs no write: what the API server already says is not said again,
also not after a restart. Reports travel in a lane behind evictions and binds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Literal

import msgspec
import structlog

from koordpy import metrics
from koordpy.api.gangs import Complaint, describe
from koordpy.api.keys import GANG_TIMEOUT, MIN_AVAILABLE, PLACEMENT, RESERVED_START, SIGS_MIN_AVAILABLE
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError, Conflict, NotFound
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.lane import Call, Lane
from koordpy.kube.writes import ObjectRef, PodRef, Unscheduled, annotate, annotate_object, say_unscheduled
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gang_rules import no_minimum
from koordpy.plan.topology.rating import Rating
from koordpy.scheduler.report.advice import Advice
from koordpy.scheduler.report.repeats import Repeats
from koordpy.scheduler.report.throttle import Throttle
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord

_CONFLICT_PAUSES_S = (0.02, 0.1, 0.5, 2.0)
_SAY_AGAIN_FIRST_S = 2.0
_SAY_AGAIN_MOST_S = 60.0
_FEW = 20  # members of a gang that are told every change; those of larger ones are not told of figures all the time
_HELD_BACK_CHECK_S = 1.0
_MOST_COMPLAINTS = 10_000  # remembered, so as not to be made twice

_Kind = Literal["Normal", "Warning"]

log = structlog.get_logger()


class Reporter:
    """Tells the API server what was decided."""

    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        instance: str,
        schedulers: Collection[str],
        *,
        lane: Lane,
        throttle: Throttle,
        repeats: Repeats,
        advice: Advice,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._cluster, self._lane, self._wall = client, cluster, lane, wall
        self._throttle, self._repeats, self._advice = throttle, repeats, advice
        self._events, self._schedulers = EventRecorder(client, instance), schedulers
        self._complained: dict[tuple[str, str], None] = {}  # gang or namespace, and text; oldest first

    def scheduled(self, pod: PodRecord, node: str) -> Call:
        """The bind is through; returns what tells of it, which can wait until nobody waits for a bind."""
        self.forget(pod.uid)
        text = f"Successfully assigned {pod.key} to {node}"
        note = Note(ref(pod).as_object, "Normal", "Scheduled", "Binding", text, pod.scheduler)
        return partial(self._tell, self._events.record_once, note, self._wall())

    def job_refused(self, job: Job, waiting: Iterable[PodRecord], refusal: Refusal) -> None:
        """Its pods stay pending, those at Permit too: they and their gangs' objects are told, with advice."""
        members = (*job.members, *waiting)
        told = self._advice.added_to(refusal, job.key, members[0].refusal_seen if members else "")
        for member in members:
            self.refused(member, told, of=len(members))
        for gang_id in dict.fromkeys(demand.gang for demand in job.demands):
            gang = self._cluster.gangs.get(gang_id)
            if gang is not None:
                self.gang_refused(gang, told)

    def job_ended(self, key: str) -> None:
        """It waits no more, as it has started or is gone: a job of the same name begins anew."""
        self._advice.forget(key)

    def refused(self, pod: PodRecord, refusal: Refusal, *, of: int = 1) -> None:
        """The pod, one `of` so many that are told the same, stays pending: condition and event, if they are news."""
        said = self._throttle.said(pod.uid)
        if (pod.refusal_seen if said is None else said) == refusal.message:
            self._throttle.is_said(pod.uid)
            self._repeats.said_before(pod.uid)
            return
        if of > _FEW and self._throttle.hold_back(pod.uid, refusal):
            return
        self._throttle.say(pod.uid, refusal.message)
        self._lane.put(partial(self._set_condition, pod.uid, refusal))
        self._warn(pod, refusal.message)

    def _warn(self, pod: PodRecord, message: str) -> None:
        self._repeats.said(pod.uid)
        note = Note(ref(pod).as_object, "Warning", "FailedScheduling", "Scheduling", message, controller=pod.scheduler)
        self._lane.put(partial(self._record_while_it_waits, pod.uid, note))

    def forget(self, uid: str) -> None:
        """The pod is gone, or bound."""
        self._throttle.forget(uid)
        self._repeats.forget(uid)

    async def run(self) -> None:
        """Say what was held back when its time has come, and again what is about to expire, until cancelled."""
        while True:
            await asyncio.sleep(_HELD_BACK_CHECK_S)
            for uid, refusal in self._throttle.take_due():
                pod = self._cluster.pods.get(uid)
                if pod is not None and not pod.bound:
                    self.refused(pod, refusal)
            for key in self._repeats.take_due():
                self._say_again(key)

    def _say_again(self, key: str) -> None:
        """A pod or a gang still waits: its warning would expire."""
        pod, gang = self._cluster.pods.get(key), self._cluster.gangs.get(key)
        if pod is not None and not pod.bound:
            message = self._throttle.said(key) or pod.refusal_seen
            self._warn(pod, message) if message else None
        elif gang is not None and gang.told and (gang.pending or gang.waiting):
            self._warn_gang(gang)

    def preempted(self, victim: PodRecord, job: str, trigger: PodRecord, why: str = "") -> None:
        """The victim is on its way out."""
        by = f"gang {job}" if trigger.gang else f"pod {trigger.uid}"
        note = f"Preempted by {by} on node {victim.node}, for pod {trigger.key}" + (f"; {why}" if why else "")
        self._event(victim, "Normal", "Preempted", "Preempting", note, controller=trigger.scheduler)

    def evicted_as_stale(self, victim: PodRecord, text: str) -> None:
        """It is on its way out with the rest of its gang."""
        self._event(victim, "Warning", "GangStale", "Evicting", text)

    # --- gangs ---

    def gang_refused(self, gang: Gang, refusal: Refusal) -> None:
        """Its members have been told; whoever looks at the PodGroup is told too."""
        if gang.object is not None and gang.told != refusal.message:
            gang.told = refusal.message
            self._warn_gang(gang)

    def _warn_gang(self, gang: Gang) -> None:
        self._repeats.said(gang.id)
        self.gang_event(gang, "Warning", "FailedScheduling", gang.told)

    def gang_scheduled(self, gang: Gang, pods: int, nodes: int) -> None:
        """All binds of a release are through."""
        gang.told = ""
        self._repeats.forget(gang.id)
        if gang.object is not None:
            self.gang_event(
                gang,
                "Normal",
                "Scheduled",
                f"gang {gang.name}: {_count(pods, 'member')} bound to {_count(nodes, 'node')}",
            )

    def gang_preempted(self, gang: Gang, members: int, job: str, trigger: PodRecord, why: str = "") -> None:
        """Members of it were evicted, each of which has been told by itself."""
        if gang.object is not None:
            by = f"gang {job}" if trigger.gang else f"pod {job}"
            text = f"Preempted by {by}: {_count(members, 'member')} of gang {gang.name} evicted, for pod {trigger.key}"
            text += f"; {why}" if why else ""
            self.gang_event(gang, "Normal", "Preempted", text)

    def placed(self, gang: Gang, rating: Rating) -> None:
        """How close together its members are: on the PodGroup, as an annotation and an event."""
        about = _object_ref(gang)
        if about is None:
            return
        domains = ", ".join(f"{count} of {layer}" for layer, count in rating.used.items())
        where = f"gathered in {rating.layer} {rating.domain}" if rating.domain else "spread over the cluster"
        text = f"gang {gang.name} is {where}: {domains}; score {rating.score:g}"
        self.gang_event(gang, "Normal", "Placed", text)
        value = msgspec.json.encode(rating._asdict()).decode()
        self._lane.put(partial(self._annotate_group, about, {PLACEMENT: value}))

    async def _annotate_group(self, about: ObjectRef, annotations: Mapping[str, str | None]) -> None:
        try:
            await annotate_object(self._client, about, f"{about.kind.lower()}s", annotations)
        except (NotFound, NotLeading):
            return
        except ApiError as error:
            self._lost("annotation", f"{about.namespace}/{about.name}", error)
            return
        metrics.writes("annotation", "ok").inc()

    def gang_event(self, gang: Gang, kind: _Kind, reason: str, text: str) -> None:
        """On its PodGroup, or on its oldest member where there is none."""
        oldest = min(gang.all_live(), key=self._age, default=None)
        about = _object_ref(gang) or (ref(oldest).as_object if oldest is not None else None)
        if about is not None:
            scheduler = oldest.scheduler if oldest is not None else "koordpy"
            self._lane.put(partial(self._record, Note(about, kind, reason, "Scheduling", text, scheduler)))

    def _age(self, member: PodRecord) -> tuple[bool, float, str]:
        """Pods that name the gang and another scheduler come last: they are no members that count."""
        return member.scheduler not in self._schedulers, member.created, member.name

    def object_event(self, about: ObjectRef, kind: _Kind, reason: str, text: str, scheduler: str) -> None:
        """On some other object of a user's."""
        self._lane.put(partial(self._record, Note(about, kind, reason, "Scheduling", text, scheduler)))

    def claimed_twice(self, pod: PodRecord, text: str) -> None:
        """Several front-ends claim a pod."""
        if self._is_new_complaint(pod.uid, text):
            self._event(pod, "Warning", "ConflictingGangs", "Scheduling", text)

    def reserved(self, gangs: Iterable[str], members: Iterable[PodRecord], at: str | None) -> None:
        """Nodes are reserved for a job from a moment on, or no more (None): on its gangs' objects, else on its pods."""
        found = [gang for each in gangs if (gang := self._cluster.gangs.get(each)) is not None]
        with_objects = [gang for gang in found if gang.object is not None]
        for gang in with_objects:
            about = _object_ref(gang)
            assert about is not None
            self._lane.put(partial(self._annotate_group, about, {RESERVED_START: at}))
            if at is not None:
                self.gang_event(gang, "Normal", "Reserved", f"gang {gang.name} is reserved to start at {at}")
        for pod in () if with_objects else members:
            self._lane.put(partial(self._annotate_pod, ref(pod), {RESERVED_START: at}))
            if at is not None:
                self._event(pod, "Normal", "Reserved", "Scheduling", f"reserved to start at {at}")

    async def _annotate_pod(self, pod: PodRef, annotations: Mapping[str, str | None]) -> None:
        try:
            await annotate(self._client, pod, annotations)
        except (NotFound, NotLeading):
            return
        except ApiError as error:
            self._lost("annotation", f"{pod.namespace}/{pod.name}", error)
            return
        metrics.writes("annotation", "ok").inc()

    def complain(self, gang: Gang, more: Iterable[Complaint] = ()) -> None:
        """Values of its configuration that cannot be used: one warning each, to whoever wrote them."""
        used = gang.spec.used_instead()
        nothing_usable = (no_minimum(gang),) if _lacks_minimum(gang) else ()
        for text in (*gang.spec.warnings, *nothing_usable, *(describe(complaint, used) for complaint in more)):
            if self._is_new_complaint(gang.id, text):
                self.gang_event(gang, "Warning", "InvalidGangSpec", text)
        for declaration, member in gang.declarations():
            for complaint in declaration.complaints:
                text = describe(complaint, used)
                if self._is_new_complaint(gang.id, text):
                    self._event(member, "Warning", "InvalidGangSpec", "Scheduling", text)

    def complain_of_run_time(self, pod: PodRecord) -> None:
        """The same of a pod without a gang, which declares nothing else."""
        if pod.bad_run_time and self._is_new_complaint(pod.uid, pod.bad_run_time):
            self._event(pod, "Warning", "InvalidGangSpec", "Scheduling", pod.bad_run_time)

    def looks_misspelt(self, pod: PodRecord, text: str) -> None:
        """A key or a name of a pod looks like one of ours: said once for all pods of a namespace that share it."""
        if self._is_new_complaint(pod.namespace, text):
            self._event(pod, "Warning", "LooksMisspelt", "Scheduling", text)

    def gang_looks_misspelt(self, gang: Gang, text: str) -> None:
        """The same of the gang's object."""
        if self._is_new_complaint(gang.id, text):
            self.gang_event(gang, "Warning", "LooksMisspelt", text)

    def abandon(self, pod: PodRecord) -> None:
        """Its gang timed out: the pod is left alone until its owner takes the annotation away."""
        self._lane.put(partial(self._annotate, ref(pod), {GANG_TIMEOUT: "true"}))

    def _is_new_complaint(self, about: str, text: str) -> bool:
        if (about, text) in self._complained:
            return False
        self._complained[about, text] = None
        if len(self._complained) > _MOST_COMPLAINTS:
            del self._complained[next(iter(self._complained))]
        return True

    async def _annotate(self, pod: PodRef, annotations: dict[str, str], after_s: float = _SAY_AGAIN_FIRST_S) -> None:
        if not self._cluster.gangs.is_abandoned(pod.uid):
            return  # said by now, or taken back
        try:
            await annotate(self._client, pod, annotations)
        except NotLeading:
            return
        except ApiError as error:
            if error.status == 422:
                return  # another pod of the name
            self._lost("annotation", f"{pod.namespace}/{pod.name}", error)
            again = partial(self._annotate, pod, annotations, min(2 * after_s, _SAY_AGAIN_MOST_S))
            asyncio.get_running_loop().call_later(after_s, self._lane.put, again)
            return
        metrics.writes("annotation", "ok").inc()

    def start_over(self) -> None:
        """Leadership was lost and won again: what was not sent is not certain to have been said."""
        self._cluster.gangs.take_back_abandonments()
        self._throttle.clear()
        self._repeats.clear()
        self._advice.clear()
        for gang in self._cluster.gangs:
            gang.told = ""
        self._complained.clear()

    async def _set_condition(self, uid: str, refusal: Refusal, after_s: float = _SAY_AGAIN_FIRST_S) -> None:
        """Skipped when the pod is placed by now or a newer message follows; repeated when the pod changed meanwhile."""
        for pause_s in _CONFLICT_PAUSES_S:
            pod = self._cluster.pods.get(uid)
            if pod is None or self._throttle.said(uid) != refusal.message:
                return
            if pod.node and not self._cluster.gangs.is_waiting(pod):
                return
            try:
                told = Unscheduled(refusal.reason, refusal.message, pod.version, pod.generation, self._wall())
                await say_unscheduled(self._client, ref(pod), told)
            except Conflict:
                await asyncio.sleep(pause_s)  # the watch is about to tell what changed
            except NotLeading:
                return
            except NotFound:
                break  # the watch is about to tell that it is gone; if it does not, it is said again
            except ApiError as error:
                self._lost("condition", pod.key, error)
                break
            else:
                metrics.writes("condition", "ok").inc()
                return
        self._say_later(uid, refusal, after_s)

    def _say_later(self, uid: str, refusal: Refusal, after_s: float) -> None:
        """A parked pod may not be tried again for hours, and autoscalers act on its condition: it must get there."""
        again = partial(self._set_condition, uid, refusal, min(2 * after_s, _SAY_AGAIN_MOST_S))
        asyncio.get_running_loop().call_later(after_s, self._lane.put, again)

    def _event(self, pod: PodRecord, kind: _Kind, reason: str, action: str, text: str, *, controller: str = "") -> None:
        note = Note(ref(pod).as_object, kind, reason, action, text, controller=controller or pod.scheduler)
        self._lane.put(partial(self._record, note))

    async def _record_while_it_waits(self, uid: str, note: Note) -> None:
        """Skipped when the pod is placed by now: one that waited to be grouped for some milliseconds is no news."""
        pod = self._cluster.pods.get(uid)
        if pod is None or not pod.node or self._cluster.gangs.is_waiting(pod):
            await self._record(note)

    async def _record(self, note: Note) -> None:
        await self._tell(self._events.record, note, self._wall())

    async def _tell(self, record: Callable[[Note, float], Awaitable[None]], note: Note, at: float) -> None:
        try:
            await record(note, at)
        except (NotFound, NotLeading):
            return  # the namespace is gone, or it is no longer ours to say
        except ApiError as error:
            self._lost("event", f"{note.about.namespace}/{note.about.name}", error)
            return
        metrics.writes("event", "ok").inc()

    def _lost(self, what: str, about: str, error: ApiError) -> None:
        metrics.writes(what, "failed").inc()
        log.warning("report_failed", what=what, about=about, problem=str(error))


def _lacks_minimum(gang: Gang) -> bool:
    """Nobody says one. Where somebody says one that cannot be used, that is complained about."""
    said = (complaint.key for declaration, _ in gang.declarations() for complaint in declaration.complaints)
    if gang.spec.minimum is not None or gang.needs_object:
        return False
    return not any(key in (MIN_AVAILABLE, SIGS_MIN_AVAILABLE) for key in said)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ref(pod: PodRecord) -> PodRef:
    """The pod, as writes name it."""
    return PodRef(pod.namespace, pod.name, pod.uid)


def _object_ref(gang: Gang) -> ObjectRef | None:
    obj = gang.object
    return ObjectRef(obj.api_version, obj.kind, obj.namespace, obj.name, obj.uid) if obj is not None else None
