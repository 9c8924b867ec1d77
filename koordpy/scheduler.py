"""The story, top to bottom: next job, plan, reserve, permit, bind, report.

Planning is synchronous and sees one moment of the picture; binding is asynchronous and happens meanwhile. Whatever
happens to a bind, the watch decides in the end what is true; here we only make sure that nothing stays assumed for a
bind that did not happen, and that nothing is bound that was not planned.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import structlog

from koordpy import metrics
from koordpy.api.keys import SCHEDULER_ERROR
from koordpy.cluster.changes import Change
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.intake import group_of, wake
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError
from koordpy.kube.lane import Call, Lane
from koordpy.kube.writes import BindOutcome, bind
from koordpy.plan.answer import Placement, Plan, Refusal
from koordpy.plan.job import Job
from koordpy.plan.planner import plan
from koordpy.plan.profile import Profile
from koordpy.queue import JobQueue, Ticket
from koordpy.report import Reporter, ref
from koordpy.volumebinder import VolumeBinder, VolumesNotBound

# How long planning may keep the loop to itself before watches and binds get a turn.
_SLICE_S = 0.005
# Pods that wait for their volumes, which can take minutes, have a lane of their own: no other bind waits for them.
_VOLUME_WIDTH = 256
# A pod's default grace period is 30 s, and the lease must be released within it.
_FINISH_S = 5.0
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
        *,
        profiles: Mapping[str, Profile],
        reporter: Reporter,
        volumes: VolumeBinder,
        bind_width: int,
    ) -> None:
        self._client, self._cluster, self._queue = client, cluster, queue
        self._profiles, self._reporter = profiles, reporter
        self._binds = Lane(bind_width)
        self._volumes = volumes
        self._volume_binds = Lane(_VOLUME_WIDTH)
        self._ready = asyncio.Event()
        queue.on_ready = self._ready.set

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._binds.run())
            group.create_task(self._volume_binds.run())
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
                await self._binds.drained()
                await self._reporter.lane.drained()

    def start_over(self) -> None:
        """Before leading again: no assumption and no half-sent bind of an earlier term survives."""
        self._binds.clear()
        self._volume_binds.clear()
        self._reporter.start_over()
        self._cluster.forget_all()
        self._queue.wake_all()

    async def _schedule_forever(self) -> None:
        slice_end = time.monotonic() + _SLICE_S
        while True:
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
        """Nothing to do: sleep until a job is ready or a back-off ends. An idle scheduler uses no CPU."""
        self._ready.clear()
        try:
            async with asyncio.timeout(self._queue.seconds_to_next()):
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
            record = self._cluster.pods.get(ticket.key)
            if record is not None:
                metrics.ATTEMPTS.labels("error", record.scheduler).inc()
                problem = (
                    "planning failed because of a mistake in the scheduler or one of its plugins; its log says more"
                )
                self._reporter.refused(record, Refusal(problem, Change.NONE, record.uid, reason=SCHEDULER_ERROR))

    def schedule_one(self, ticket: Ticket) -> None:
        """One job, from the head of the queue to its binds under way, or back to sleep with a reason."""
        job = self._prefilter(ticket)
        if job is None:
            self._queue.done(ticket)
            return
        profile = self._profiles[job.members[0].scheduler]
        started = time.perf_counter()
        answer = plan(job, self._cluster, profile)
        metrics.ALGORITHM_SECONDS.observe(time.perf_counter() - started)
        if isinstance(answer, Refusal):
            self._refuse(job, ticket, answer)
        else:
            self._reserve(answer)
            self._queue.done(ticket)
            if ticket.rescued:
                metrics.RESCUES.inc()
            self._permit(answer, ticket)
        result = "unschedulable" if isinstance(answer, Refusal) else "scheduled"
        metrics.ATTEMPTS.labels(result, profile.scheduler_name).inc(len(job.members))
        seconds = time.perf_counter() - started
        metrics.ATTEMPT_SECONDS.labels(result, profile.scheduler_name).observe(seconds)

    def _prefilter(self, ticket: Ticket) -> Job | None:
        """The job behind a ticket, if there is still something to schedule."""
        record = self._cluster.pods.get(ticket.key)
        if record is None or not record.schedulable:
            return None
        return Job(ticket.key, (record,))

    def _refuse(self, job: Job, ticket: Ticket, refusal: Refusal) -> None:
        self._queue.park(ticket, refusal.cures, refusal.plugins)
        for member in job.members:
            self._reporter.refused(member, refusal)
        log.debug("refused", job=ticket.name, message=refusal.message)

    def _reserve(self, answer: Plan) -> None:
        """Nobody else sees this room as free from here on."""
        for placement in answer.placements:
            happened = self._cluster.assume(placement.uid, placement.node, placement.volumes)
            wake(self._cluster, self._queue, happened)  # somebody may be waiting to run beside it

    def _permit(self, answer: Plan, ticket: Ticket) -> None:
        """The whole job is placed, so all of it may be bound."""
        for placement in answer.placements:
            record = self._cluster.pods[placement.uid]
            bind_pod = partial(self._bind, record, placement.node, ticket)
            if any(placement.volumes):
                self._volume_binds.put(partial(self._bind_volumes, record, placement, ticket, bind_pod))
            else:
                self._binds.put(bind_pod)

    # --- binding ---

    async def _bind_volumes(self, pod: PodRecord, placement: Placement, ticket: Ticket, then: Call) -> None:
        """Volumes first: a pod bound before its volumes would be stuck on its node."""
        try:
            await self._volumes.bind(placement.volumes, placement.node)
            if self._cluster.nodes.row_of(placement.node) is None:
                raise VolumesNotBound(f"node {placement.node} is gone")  # noqa: TRY301
        except (VolumesNotBound, ApiError) as error:
            self._bind_failed(pod, ticket, error)
            return
        self._binds.put(then)

    async def _bind(self, pod: PodRecord, node: str, ticket: Ticket) -> None:
        started = time.perf_counter()
        try:
            outcome = await bind(self._client, ref(pod), node)
        except ApiError as error:
            self._bind_failed(pod, ticket, error)
            return
        metrics.BIND_SECONDS.observe(time.perf_counter() - started)
        metrics.WRITES.labels("bind", outcome.value).inc()
        if outcome is BindOutcome.BOUND:
            self._reporter.scheduled(pod, node)
            metrics.SLI_SECONDS.observe(time.monotonic() - ticket.first_seen)
            metrics.POD_ATTEMPTS.observe(ticket.failures + 1)
        elif outcome is BindOutcome.REFUSED:
            self._bind_failed(pod, ticket, ApiError("the API server did not take the binding"))
        else:
            self._unreserve(pod)  # gone, or bound elsewhere: the watch brings what is true

    def _bind_failed(self, pod: PodRecord, ticket: Ticket, problem: Exception) -> None:
        """Only this pod goes back; it is tried again after its back-off, unless the watch shows it bound after all."""
        self._unreserve(pod)
        current = self._cluster.pods.get(pod.uid)
        if current is None or not current.schedulable:
            return
        self._queue.retry(ticket, group_of(current))
        if isinstance(problem, NotLeading):
            return  # nothing was sent, and it is not ours to say
        log.warning("bind_failed", pod=pod.key, problem=str(problem))
        metrics.WRITES.labels("bind", "failed").inc()
        refusal = Refusal(f"binding failed: {problem}", Change.NONE, pod.uid, reason=SCHEDULER_ERROR)
        self._reporter.refused(current, refusal)

    def _unreserve(self, pod: PodRecord) -> None:
        happened = self._cluster.forget(pod.uid)
        wake(self._cluster, self._queue, happened)
