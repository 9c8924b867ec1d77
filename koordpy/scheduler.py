"""The story, top to bottom: next job, prefilter, plan, postfilter, reserve, permit, bind, report.

Planning is synchronous and sees one moment of the picture; binding is asynchronous and happens meanwhile, in
`binding.py`. A job is bound as a whole or not at all; what a gang that may accumulate has got so far waits in the
waiting room, and is bound by nobody before the rest is there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import structlog

from koordpy import metrics
from koordpy.api.keys import SCHEDULER_ERROR
from koordpy.binding import Binder
from koordpy.cluster.changes import Change
from koordpy.cluster.gangs import Gang, GangGroup
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.config import GangSettings
from koordpy.eviction import Evictor
from koordpy.intake import wake
from koordpy.jobs import Jobs, alike_of, key_of
from koordpy.kube.client import Client
from koordpy.pingpong import PingPong
from koordpy.plan.answer import Placement, Plan, Refusal
from koordpy.plan.gang_rules import not_ready
from koordpy.plan.gather import complaints_about, rules_of
from koordpy.plan.job import Job
from koordpy.plan.job_plan import plan_job
from koordpy.plan.preemption import WAITS, Preemption, benefit_of, make_room
from koordpy.plan.profile import Profile
from koordpy.plan.progress import (
    Waiter,
    could_complete,
    first_in_line,
    stands_in_its_own_way,
    still_fits,
    who_must_let_go,
    worth_of,
)
from koordpy.plan.rating import rate
from koordpy.plan.siblings import Rules
from koordpy.queue import JobQueue, Ticket
from koordpy.report import Reporter
from koordpy.volumebinder import VolumeBinder
from koordpy.waitingroom import Stay, WaitingRoom

# How long planning may keep the loop to itself before watches and binds get a turn.
_SLICE_S = 0.005
# A pod's default grace period is 30 s, and the lease must be released within it.
_FINISH_S = 5.0
# kube-scheduler's figures.
_FLUSH_EVERY_S = 30.0
_FLUSH_OLDER_THAN_S = 300.0

T = TypeVar("T")

log = structlog.get_logger()


class Scheduler:
    """Schedules what is in the queue, for as long as it runs."""

    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        queue: JobQueue,
        jobs: Jobs,
        *,
        profiles: Mapping[str, Profile],
        reporter: Reporter,
        volumes: VolumeBinder,
        bind_width: int,
        gangs: GangSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster, self._queue, self._jobs = cluster, queue, jobs
        self._profiles, self._reporter = profiles, reporter
        self._gangs = gangs or GangSettings()
        self.binder = Binder(
            client,
            cluster,
            jobs,
            reporter=reporter,
            volumes=volumes,
            width=bind_width,
            on_freed=lambda happened: wake(cluster, queue, happened),
        )
        self.room = WaitingRoom(cluster, clock)
        self._pingpong = PingPong(clock)
        self.evictor = Evictor(
            client,
            cluster,
            reporter,
            on_freed=lambda happened: wake(cluster, queue, happened),
            on_withdrawn=lambda key, at_once: queue.rouse(key) if at_once else queue.back_off(key),
        )
        self._ready = asyncio.Event()
        queue.on_ready = self._ready.set

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.binder.run())
            group.create_task(self.evictor.lane.run())
            group.create_task(self._reporter.lane.run())
            group.create_task(self._flush_forever())
            try:
                await self._schedule_forever()
            except asyncio.CancelledError:
                await self._finish()
                raise

    async def _finish(self) -> None:
        """Stopping: let what is under way arrive, and what was decided be told. Without the lease nothing is sent."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FINISH_S):
                await self.binder.drained()
                await self.evictor.lane.drained()
                await self._reporter.lane.drained()
                await self.binder.told()

    def start_over(self) -> None:
        """Before leading again: no assumption and no half-sent bind of an earlier term survives."""
        self.binder.clear()
        self.evictor.start_over()
        self._reporter.start_over()
        self.room.clear()
        self._cluster.forget_all()
        self._queue.wake_all()
        self._jobs.refresh_all()
        self._jobs.finish_half_bound()

    async def _schedule_forever(self) -> None:
        slice_end = time.monotonic() + _SLICE_S
        while True:
            for stay in self.room.overdue():
                self._time_out(stay)
            ticket = self._queue.pop()
            if ticket is None:
                await self._rest()
            else:
                self._attempt(ticket)
            if time.monotonic() >= slice_end:
                await asyncio.sleep(0)
                slice_end = time.monotonic() + _SLICE_S

    async def _flush_forever(self) -> None:
        """A belt for the braces: if no wake-up is ever missed, `scheduler_pod_scheduled_after_flush_total` stays 0."""
        while True:
            await asyncio.sleep(_FLUSH_EVERY_S)
            self._queue.flush(_FLUSH_OLDER_THAN_S)

    async def _rest(self) -> None:
        """Nothing to do: sleep until a job is ready or some time is up. An idle scheduler uses no CPU."""
        self._ready.clear()
        times = (self._queue.seconds_to_next(), self.room.seconds_to_next())
        try:
            async with asyncio.timeout(min((each for each in times if each is not None), default=None)):
                await self._ready.wait()
        except TimeoutError:
            pass

    # --- one attempt ---

    def _attempt(self, ticket: Ticket) -> None:
        """A mistake of ours in planning one job must not cost all others their scheduler."""
        try:
            self.schedule_one(ticket)
        except Exception:
            log.exception("planning_failed", job=ticket.name, hint="please report this; tried again after a back-off")
            self._queue.retry(ticket)
            problem = "planning failed because of a mistake in the scheduler or one of its plugins; its log says more"
            for record in self._pods_of(ticket):
                metrics.ATTEMPTS.labels("error", record.scheduler).inc()
                self._reporter.refused(record, Refusal(problem, Change.NONE, record.uid, reason=SCHEDULER_ERROR))

    def schedule_one(self, ticket: Ticket) -> None:
        """One job, from the head of the queue to its binds under way, or back to sleep with a reason."""
        self._recheck(ticket.key)
        self._tidy_room()
        self._rearrange(ticket)
        job = self._jobs.job_of(ticket)
        if job is None:
            self._queue.done(ticket)
            self.evictor.ended(ticket.key, "gone")
            return
        started = time.perf_counter()
        refusal = self._timed("PreFilter", job, lambda: self._prefilter(job, ticket))
        answer = refusal or self._postfilter(job, self._plan(job))
        metrics.ALGORITHM_SECONDS.observe(time.perf_counter() - started)
        if refusal is not None:
            self._release_promises(job)
        if isinstance(answer, Refusal):
            self._let_go(job.key)
            self._refuse(self._jobs.job_of(ticket) or job, ticket, answer, attempted=refusal is None)
        elif answer.missing is not None:
            self._accumulate(job, ticket, answer)
        elif answer.left_over is not None and not answer.placements and not self.room.get(job.key):
            self._refuse(job, ticket, answer.left_over)
        elif self._spoils_another(job, ticket, answer):
            return
        else:
            self._start(ticket, answer)
        self._measure(job, answer, time.perf_counter() - started)

    def _prefilter(self, job: Job, ticket: Ticket) -> Refusal | None:
        """Gangs are attempted only when all of their group have come together."""
        if not job.demands:
            return None
        for gang in self._gangs_of(job):
            self._reporter.complain(gang, complaints_about(gang, self._cluster) if self._gangs.topology else ())
        return not_ready(self._jobs.group_of(ticket), self._cluster, job.members[0].uid if job.members else "")

    def _plan(self, job: Job) -> Plan | Refusal:
        return plan_job(job, self._cluster, self._profiles, self._rules(job))

    def _rules(self, job: Job) -> Rules:
        """What a job asks of the network topology."""
        return rules_of(job, self._cluster) if job.members and self._gangs.topology else ()

    def _postfilter(self, job: Job, answer: Plan | Refusal) -> Plan | Refusal:
        """Not everything fits: whoever merely waits lets go, then victims are sought; or it is said why not."""
        if _is_whole(answer):
            return answer
        answer = self._ask_waiters(job, answer)
        if _is_whole(answer) or not self._may_preempt(job, answer):
            return answer
        found = self._timed("PostFilter", job, lambda: self._preempt(job))
        return _with_tail(answer, f"preemption: {found}")

    def _ask_waiters(self, job: Job, answer: Plan | Refusal) -> Plan | Refusal:
        """Those of lower priority that merely wait for others let go, if that helps."""
        waiters = [w for w in self._waiters(job.key) if w.priority < job.priority]
        if not waiters:
            return answer
        leaving = who_must_let_go(waiters, worth_of(answer), self._cluster, lambda: worth_of(self._plan(job)))
        self._release(leaving, job)
        return self._plan(job) if leaving else answer

    def _release(self, leaving: list[Waiter], job: Job) -> None:
        for waiter in leaving:
            log.info("let_go", gang=waiter.key, members=len(waiter.members), for_job=job.name)
            self._let_go(waiter.key)

    def _may_preempt(self, job: Job, answer: Plan | Refusal) -> bool:
        """Not for jobs that nothing could cure, and not where the configuration says never."""
        refusal = answer if isinstance(answer, Refusal) else answer.missing
        if not job.members or not len(self._cluster.nodes) or refusal is None or not refusal.cures:
            return False
        if refusal.cures == Change.DOMAINS:
            return False  # it asks for a layer that there is not
        return all(self._profiles[member.scheduler].preempts for member in job.members)

    def _preempt(self, job: Job) -> str:
        """Evict for the whole job, if that lets it in; says what was found, in kube-scheduler's words."""
        if self.evictor.is_waiting(job.key):
            return WAITS  # they will be terminating as soon as the watch shows it
        started = time.perf_counter()
        found = self._find_victims(job)
        metrics.PREEMPTION_ATTEMPTS.inc()
        metrics.PREEMPTION_SECONDS.observe(time.perf_counter() - started)
        if isinstance(found, str):
            if found != WAITS:
                self._release_promises(job)
            refused = self.evictor.refused(job.lowest_priority)
            return f"{found.removesuffix('.')}; {refused}" if refused else found
        # By gang: its replacement for a pod that was evicted may be a job of its own.
        preemptors = {member.gang or member.key for member in job.members}
        victims = {victim.gang or victim.key for victim in found.victims}
        pause_s = self._pingpong.pause_s(preemptors, victims)
        if pause_s > 0:
            asyncio.get_running_loop().call_later(pause_s, self._queue.rouse, job.key)
            return f"held back for {pause_s:.0f}s: this job and its victims have been evicting each other"
        self._pingpong.evicted(preemptors, victims)
        self.evictor.start(job.key, job.name, job.members[0], found)
        return str(found)

    def _find_victims(self, job: Job) -> Preemption | str:
        """Those that merely wait for others let go where that is needed, or spares somebody who runs."""
        found = make_room(job, self._cluster, self._profiles, self._rules(job))
        waiters = [w for w in self._waiters(job.key) if w.priority < job.lowest_priority]
        if not waiters or found == WAITS:
            return found
        again = lambda: benefit_of(make_room(job, self._cluster, self._profiles, self._rules(job)))  # noqa: E731
        leaving = who_must_let_go(waiters, benefit_of(found), self._cluster, again)
        self._release(leaving, job)
        return make_room(job, self._cluster, self._profiles, self._rules(job)) if leaving else found

    def _release_promises(self, job: Job) -> None:
        """Room is kept for nobody who cannot use it."""
        for member in job.members:
            self.evictor.clear_nomination(member)

    def _start(self, ticket: Ticket, answer: Plan) -> None:
        """The whole job is placed: reserve it, and permit it together with those that waited for this moment."""
        group = self._jobs.group_of(ticket)
        self._reserve(answer.placements)
        waiting = [Placement(pod.uid, pod.node, pod.volumes) for pod in self.room.leave(ticket.key)]
        self._queue.done(ticket)
        self.evictor.ended(ticket.key, "started")
        if ticket.rescued:
            metrics.RESCUES.inc()
        self.binder.release((*waiting, *answer.placements), ticket, of_gangs=bool(group))
        if group:
            self._publish(group, (*waiting, *answer.placements))
            self._jobs.refresh(group)  # whoever was left over is tried again by itself

    def _publish(self, group: GangGroup, placements: tuple[Placement, ...]) -> None:
        """Say how close together a group of gangs was placed."""
        rating = rate(placements, self._cluster, self._profiles)
        if rating is None:
            return
        metrics.PLACEMENT_SCORE.observe(rating.score)
        for gang in self._cluster.gangs.own(group):
            self._reporter.placed(gang, rating)

    def _reserve(self, placements: tuple[Placement, ...]) -> None:
        """Nobody else sees this room as free from here on; but somebody may be waiting to run beside it."""
        came = False
        for placement in placements:
            happened = self._cluster.assume(placement.uid, placement.node, placement.volumes)
            if happened.change == Change.POD_CAME:
                came = True  # it is the same news for all of them
            else:
                wake(self._cluster, self._queue, happened)
        if came:
            wake(self._cluster, self._queue, happened._replace(change=Change.POD_CAME))

    def _refuse(self, job: Job, ticket: Ticket, refusal: Refusal, *, attempted: bool = True) -> None:
        alike = alike_of(job, self._cluster) if job.demands else None
        if alike is not None and (self.room.get(job.key) or not attempted):
            # One that waits may move its members, and `minResources` are counted over all nodes.
            alike = alike._replace(anywhere=True)
        self._queue.park(ticket, refusal.cures, refusal.plugins, alike=alike, attempted=attempted)
        for member in (*job.members, *self.room.members(job.key)):
            self._reporter.refused(member, refusal)
        for gang in self._gangs_of(job):
            self._reporter.gang_refused(gang, refusal)
        log.debug("refused", job=ticket.name, message=refusal.message)

    # --- gangs that accumulate ---

    def _recheck(self, key: str) -> None:
        """Nodes go, shrink and get tainted while members wait for the rest: those who fit no more lose their place."""
        for pod in self.room.members(key):
            if not still_fits(pod, self._cluster, self._profiles[pod.scheduler]):
                wake(self._cluster, self._queue, self._cluster.forget(pod.uid))

    def _rearrange(self, ticket: Ticket) -> None:
        """A gang that waits can stand in its own way by what it holds: then all of it is placed anew."""
        if self.room.get(ticket.key) is None:
            return
        own = next((waiter for waiter in self._waiters("") if waiter.key == ticket.key), None)
        job = self._jobs.job_of(ticket) if own is not None else None
        if own is None or job is None or _is_whole(self._plan(job)):
            return
        if stands_in_its_own_way(own, self._cluster, self._plan):
            self._let_go(ticket.key)

    def _accumulate(self, job: Job, ticket: Ticket, answer: Plan) -> None:
        """Not complete: keep what was placed if that is allowed, and wait for the rest."""
        assert answer.missing is not None
        if self._gap_is_too_wide(job, answer):
            self._let_go(job.key)
        elif self._may_take(job, answer):
            self._reserve(answer.placements)
            wait_s = min(gang.spec.wait_s for gang in self._gangs_of(job))
            uids = [placement.uid for placement in answer.placements]
            if uids:
                self.room.enter(job.key, self._jobs.group_of(ticket), uids, wait_s)
        self._refuse(self._jobs.job_of(ticket) or job, ticket, answer.missing)

    def _tidy_room(self) -> None:
        """Groups change while members wait: one that there is no more holds nothing, and nobody waits who is free."""
        gangs = self._cluster.gangs
        for stay in self.room:
            members = self.room.members(stay.key)
            belong = all(pod.gang in stay.group and not gangs.is_free(pod) for pod in members)
            if not belong or not gangs.own(stay.group):
                self._let_go(stay.key)
                self._jobs.refresh(stay.group)

    def _may_take(self, job: Job, answer: Plan) -> bool:
        first = first_in_line(self._waiters(job.key), job.priority)
        return first is None or could_complete(first, self._cluster, self._profiles, beside=answer.placements)

    def _spoils_another(self, job: Job, ticket: Ticket, answer: Plan) -> bool:
        """A gang that waits, and could be completed at this very moment, goes before one that would prevent it."""
        if not job.demands or not len(self.room) or ticket.yielded:
            return False
        first = first_in_line(self._waiters(job.key), job.priority)
        if first is None or not could_complete(first, self._cluster, self._profiles):
            return False
        if could_complete(first, self._cluster, self._profiles, beside=answer.placements):
            return False
        return self._queue.let_pass(ticket, first.key)

    def _gap_is_too_wide(self, job: Job, answer: Plan) -> bool:
        """A NonStrict gang misses more of its minimum than the configuration allows."""
        placed = {placement.uid for placement in answer.placements}
        for demand in job.demands:
            missing = demand.needed - sum(member.uid in placed for member in demand.members)
            if missing * 100 > self._gangs.max_gap_percent * demand.minimum:
                return True
        return False

    def _waiters(self, but_not: str) -> Iterator[Waiter]:
        for stay in self.room:
            members = self.room.members(stay.key)
            if stay.key == but_not or not members:
                continue
            gangs = [gang for each in stay.group if (gang := self._cluster.gangs.get(each)) is not None]
            minimum = sum(gang.minimum for gang in gangs)
            have = sum(min(gang.counted, gang.minimum) for gang in gangs)
            priority = max(*(member.priority for member in members), *(gang.priority for gang in gangs))
            yield Waiter(stay.key, stay.group, priority, have / max(minimum, 1), tuple(members))

    def _let_go(self, key: str) -> None:
        """Unreserve: nothing of a job that waited stays assumed."""
        for pod in self.room.leave(key):
            wake(self._cluster, self._queue, self._cluster.forget(pod.uid))
            self._jobs.pod_changed(pod)  # it may have left its gang
            group = self._cluster.gangs.group_of(pod.gang) if pod.gang else ()
            if group and key_of(group) != key:
                self._jobs.refresh(group)

    def _time_out(self, stay: Stay) -> None:
        """The time of a group is up: what it held is free, and it is left alone, or tried again after a back-off."""
        metrics.GANG_TIMEOUTS.inc()
        gangs = [gang for each in stay.group if (gang := self._cluster.gangs.get(each)) is not None]
        have = ", ".join(f"gang {gang.id}: {gang.counted} of {gang.minimum} members" for gang in gangs)
        self._let_go(stay.key)
        text = f"timed out after {min((gang.spec.wait_s for gang in gangs), default=0):g}s; {have} fit"
        for gang in gangs:
            ending = "" if self._gangs.on_timeout == "Retry" else "; not scheduled again until recreated"
            self._reporter.gang_event(gang, "Warning", "GangTimedOut", text + ending)
            if self._gangs.on_timeout == "Abandon":
                self._abandon(gang, text)
        log.info("gang_timed_out", gang=stay.key, on_timeout=self._gangs.on_timeout)
        self._jobs.take_note()
        self._jobs.refresh(stay.group)
        self._queue.back_off(stay.key)

    def _abandon(self, gang: Gang, text: str) -> None:
        advice = "remove the annotation gang.scheduling.koordinator.sh/timeout or recreate the pods to try again"
        for pod in list(gang.pending.values()):
            self._cluster.gangs.abandon(pod)
            self._reporter.abandon(pod)
            self._reporter.refused(pod, Refusal(f"{text}; {advice}", Change.NONE, pod.uid))

    # --- bookkeeping ---

    def _gangs_of(self, job: Job) -> list[Gang]:
        return [gang for demand in job.demands if (gang := self._cluster.gangs.get(demand.gang)) is not None]

    def _pods_of(self, ticket: Ticket) -> list[PodRecord]:
        job = self._jobs.job_of(ticket)
        return list(job.members) if job is not None else []

    def _timed(self, stage: str, job: Job, run: Callable[[], T]) -> T:
        started = time.perf_counter()
        result = run()
        scheduler = job.members[0].scheduler if job.members else ""
        metrics.STAGE_SECONDS.labels(stage, scheduler).observe(time.perf_counter() - started)
        return result

    def _measure(self, job: Job, answer: Plan | Refusal, seconds: float) -> None:
        fits = isinstance(answer, Plan) and answer.missing is None
        result = "scheduled" if fits else "unschedulable"
        scheduler = job.members[0].scheduler if job.members else ""
        metrics.ATTEMPTS.labels(result, scheduler).inc(len(job.members))
        metrics.ATTEMPT_SECONDS.labels(result, scheduler).observe(seconds)
        if job.demands:
            metrics.GANG_ATTEMPTS.labels(result).inc()


def _is_whole(answer: Plan | Refusal) -> bool:
    return isinstance(answer, Plan) and answer.missing is None


def _with_tail(answer: Plan | Refusal, text: str) -> Plan | Refusal:
    """`0/5 nodes are available: 5 Insufficient cpu. preemption: ...`, as kube-scheduler puts it."""
    if isinstance(answer, Refusal):
        return replace(answer, message=f"{answer.message} {text}", cures=answer.cures | Change.VICTIMS)
    missing = _with_tail(answer.missing, text) if answer.missing is not None else None
    assert isinstance(missing, Refusal)
    return replace(answer, missing=missing)
