"""The story, top to bottom: next job, prefilter, plan, postfilter, reserve, permit, bind, report.

Planning is synchronous and sees one moment of the picture; binding is asynchronous and happens meanwhile, in
`binding.py`. A job is bound as a whole or not at all; what a gang that may accumulate has got so far waits in the
waiting room, and is bound by nobody before the rest is there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import structlog

from koordpy import metrics
from koordpy.api.keys import SCHEDULER_ERROR
from koordpy.kube.client import Client
from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement.gang_rules import not_ready
from koordpy.plan.topology.gather import complaints_about
from koordpy.plan.topology.rating import rate
from koordpy.scheduler.execute.bind import Binder
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.execute.volumes import VolumeBinder
from koordpy.scheduler.ingest.intake import wake
from koordpy.scheduler.jobs import Jobs, equivalence_of
from koordpy.scheduler.permit import Permit
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.preempt import PostFilter
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.scheduler.report.reporter import Reporter
from koordpy.scheduler.settings import GangSettings
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord

# How long planning may keep the loop to itself before watches and binds get a turn.
_SLICE_S = 0.005
# Single pods of one shape that are planned together: enough to share the cost of a plan, few enough for a slice.
_IN_ONE_BREATH = 64
# A pod's default grace period is 30 s, and the lease must be released within it.
_FINISH_S = 5.0
# How long pods are not told why they wait while others are evicted or bound: somebody waits for that; it takes moments.
_TELL_WITHIN_S = 2.0
# kube-scheduler's figures.
_FLUSH_EVERY_S = 30.0
_FLUSH_OLDER_THAN_S = 300.0

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
            on_freed=lambda event: wake(cluster, queue, event),
        )
        self.evictor = Evictor(
            client,
            cluster,
            reporter,
            on_freed=lambda event: wake(cluster, queue, event),
            on_withdrawn=lambda key, at_once: queue.activate(key) if at_once else queue.back_off(key),
            on_cleared=queue.activate_now,
        )
        reporter.lane.go_behind((self.evictor.lane, self.binder.binds), _TELL_WITHIN_S)
        self._planning = Planning(cluster, profiles, topology=self._gangs.topology)
        self._permit = Permit(self._planning, queue, jobs, reporter=reporter, settings=self._gangs, clock=clock)
        self.room = self._permit.room
        self._postfilter = PostFilter(self._planning, queue, self._permit, self.evictor, clock)
        self._ready = asyncio.Event()
        queue.on_ready = self._ready.set

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.binder.run())
            group.create_task(self.evictor.lane.run())
            group.create_task(self._reporter.run())
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
                self._permit.time_out(stay)
            ticket = self._queue.pop()
            if ticket is None:
                await self._rest()
            else:
                self.attempt(ticket)
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

    def attempt(self, ticket: Ticket) -> None:
        """Schedule a job; and if it is a single pod with others like it right behind, those in the same breath."""
        behind: list[Ticket] = []
        nodes: list[str] = []
        with self._costs_only(ticket):
            behind, nodes = self._in_one_breath(ticket)
            if not nodes:
                self.schedule_one(ticket)
                return
            self._start_single(ticket, nodes[0])
        for each, node in zip(behind, nodes[1:], strict=True):
            with self._costs_only(each):
                if self._queue.is_overtaken(each):  # somebody more important was woken by those before it
                    self._queue.put_back(each)
                else:
                    self._start_single(each, node)

    def _in_one_breath(self, ticket: Ticket) -> tuple[list[Ticket], list[str]]:
        """Those right behind a single pod that can be planned with it, and a node for each, its own first."""
        job = self._jobs.job_of(ticket)
        if job is None or not self._planning.may_share(job):
            return [], []
        behind = self._queue.pop_equivalent(ticket, _IN_ONE_BREATH - 1)
        nodes: list[str] = []
        try:
            started = time.perf_counter()
            nodes = self._planning.nodes_for(job, 1 + len(behind)) if behind else []
            if nodes:
                metrics.ALGORITHM_SECONDS.observe(time.perf_counter() - started)
        finally:
            for each in behind[max(len(nodes) - 1, 0) :]:
                self._queue.put_back(each)
        return behind[: max(len(nodes) - 1, 0)], nodes

    @contextmanager
    def _costs_only(self, ticket: Ticket) -> Iterator[None]:
        """A mistake of ours in planning one job must not cost all others their scheduler."""
        try:
            yield
        except Exception:
            log.exception("planning_failed", job=ticket.name, hint="please report this; tried again after a back-off")
            self._queue.retry(ticket)
            problem = "planning failed because of a mistake in the scheduler or one of its plugins; its log says more"
            for record in self._pods_of(ticket):
                metrics.ATTEMPTS.labels("error", record.scheduler).inc()
                self._reporter.refused(record, Refusal(problem, EventKind.NONE, record.uid, reason=SCHEDULER_ERROR))

    def schedule_one(self, ticket: Ticket) -> None:
        """One job, from the head of the queue to its binds under way, or back to sleep with a reason."""
        self._permit.release_stale(ticket)
        job = self._jobs.job_of(ticket)
        if job is None:
            self._queue.done(ticket)
            self.evictor.ended(ticket.key, "gone")
            return
        started = time.perf_counter()
        with metrics.stage("PreFilter", job.members[0].scheduler if job.members else ""):
            refusal = self._prefilter(job, ticket)
        answer = refusal or self._postfilter.run(job, self._planning.plan(job))
        metrics.ALGORITHM_SECONDS.observe(time.perf_counter() - started)
        if isinstance(answer, Refusal):
            self._permit.unreserve(job.key)
            now = self._jobs.job_of(ticket) or job  # with those who have just let go
            if refusal is not None:
                self._postfilter.clear_nominations(now)
            self._refuse(now, ticket, answer, attempted=refusal is None)
        elif answer.missing is not None:
            self._accumulate(job, ticket, answer)
        elif self._permit.spoils_another(job, ticket, answer):
            return
        else:
            self._start(ticket, answer)
        self._measure(job, answer, time.perf_counter() - started)

    def _start_single(self, ticket: Ticket, node: str) -> None:
        """A node was found for it together with others: as if it had been planned by itself."""
        job, started = self._jobs.job_of(ticket), time.perf_counter()
        if job is None or job.members[0].gang:
            self.schedule_one(ticket)
            return
        plan = Plan((Placement(ticket.key, node),))
        self._start(ticket, plan)
        self._measure(job, plan, time.perf_counter() - started)

    def _prefilter(self, job: Job, ticket: Ticket) -> Refusal | None:
        """Gangs are attempted only when all of their group have come together."""
        if not job.demands:
            return None
        for gang in self._gangs_of(job):
            self._reporter.complain(gang, complaints_about(gang, self._cluster) if self._gangs.topology else ())
        return not_ready(self._jobs.group_of(ticket), self._cluster, job.members[0].uid if job.members else "")

    def _start(self, ticket: Ticket, answer: Plan) -> None:
        """The whole job is placed: reserve it, and permit it together with those that waited for this moment."""
        group = self._jobs.group_of(ticket)
        self._reserve(answer.placements)
        waiting = [Placement(pod.uid, pod.node, pod.volumes) for pod in self.room.leave(ticket.key)]
        self._queue.done(ticket)
        self.evictor.ended(ticket.key, "started")
        if ticket.flushed:
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
            event = self._cluster.assume(placement.uid, placement.node, placement.volumes)
            if event.kind == EventKind.POD_CAME:
                came = True  # it is the same news for all of them
            else:
                wake(self._cluster, self._queue, event)
        if came:
            wake(self._cluster, self._queue, event._replace(kind=EventKind.POD_CAME))
        self._jobs.recheck_nominations({placement.node for placement in placements})

    def _refuse(self, job: Job, ticket: Ticket, refusal: Refusal, *, attempted: bool = True) -> None:
        equivalence = equivalence_of(job, self._cluster) if job.demands else None
        if equivalence is not None and (self.room.get(job.key) or not attempted):
            # One that waits may move its members, and `minResources` are counted over all nodes.
            equivalence = equivalence._replace(anywhere=True)
        self._queue.add_unschedulable(
            ticket, refusal.wake_on, refusal.plugins, equivalence=equivalence, attempted=attempted
        )
        members = (*job.members, *self.room.members(job.key))
        for member in members:
            self._reporter.refused(member, refusal, of=len(members))
        for gang in self._gangs_of(job):
            self._reporter.gang_refused(gang, refusal)
        log.debug("refused", job=ticket.name, message=refusal.message)

    # --- gangs that accumulate ---

    def _accumulate(self, job: Job, ticket: Ticket, answer: Plan) -> None:
        """Not complete: keep what was placed if that is allowed, and wait for the rest."""
        assert answer.missing is not None
        if self._permit.gap_is_too_wide(job, answer):
            self._permit.unreserve(job.key)
        elif self._permit.may_take(job, answer):
            self._reserve(answer.placements)
            wait_s = min(gang.spec.wait_s for gang in self._gangs_of(job))
            uids = [placement.uid for placement in answer.placements]
            if uids:
                self.room.enter(job.key, self._jobs.group_of(ticket), uids, wait_s)
        self._refuse(self._jobs.job_of(ticket) or job, ticket, answer.missing)

    # --- bookkeeping ---

    def _gangs_of(self, job: Job) -> list[Gang]:
        return [gang for demand in job.demands if (gang := self._cluster.gangs.get(demand.gang)) is not None]

    def _pods_of(self, ticket: Ticket) -> list[PodRecord]:
        job = self._jobs.job_of(ticket)
        return list(job.members) if job is not None else []

    def _measure(self, job: Job, answer: Plan | Refusal, seconds: float) -> None:
        fits = isinstance(answer, Plan) and answer.missing is None
        result = "scheduled" if fits else "unschedulable"
        scheduler = job.members[0].scheduler if job.members else ""
        metrics.ATTEMPTS.labels(result, scheduler).inc(len(job.members))
        metrics.ATTEMPT_SECONDS.labels(result, scheduler).observe(seconds)
        if job.demands:
            metrics.GANG_ATTEMPTS.labels(result).inc()
