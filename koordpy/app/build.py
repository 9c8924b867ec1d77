"""The composition root: every object of a scheduler is made here, in the order in which they depend on each other.

Tests build theirs here too, with clocks of their own. No attribute of a finished object is set from outside.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.scheduler.cycles import EvictionCycles
from koordpy.scheduler.execute.bind import Binder
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.execute.inflight import InFlight
from koordpy.scheduler.execute.lanes import Lanes
from koordpy.scheduler.execute.volumes import VolumeBinder
from koordpy.scheduler.grouper import Grouper
from koordpy.scheduler.ingest.sinks import Sinks
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.loop import Scheduler
from koordpy.scheduler.oversights import Oversights
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.permit import Permit
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.preempt import PostFilter
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queues.admission import Admission
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.queues.cure import Cure
from koordpy.scheduler.queues.order import FairOrder
from koordpy.scheduler.queues.policy import QueuePolicy
from koordpy.scheduler.queues.reclaim import Reclaim
from koordpy.scheduler.recovery import Recovery
from koordpy.scheduler.report.advice import Advice
from koordpy.scheduler.report.repeats import Repeats
from koordpy.scheduler.report.reporter import Reporter
from koordpy.scheduler.report.throttle import Throttle
from koordpy.scheduler.reservations.backfill import Backfill
from koordpy.scheduler.runtimes.learnt import LearntRunTimes
from koordpy.scheduler.staleness import Staleness
from koordpy.scheduler.timers import GangTimer
from koordpy.scheduler.waitingroom import WaitingRoom
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.changes import ChangeLog
from koordpy.state.cluster import Cluster
from koordpy.state.options import ClusterOptions
from koordpy.state.pods import PodRecord


@dataclass(frozen=True, slots=True)
class BuiltScheduler:
    """A scheduler, what feeds it, and what others may look at."""

    scheduler: Scheduler
    parts: Parts
    sinks: Sinks
    volumes: VolumeBinder
    throttle: Throttle
    schedulers: frozenset[str]  # the names of our profiles
    book: QueueBook

    @property
    def cluster(self) -> Cluster:
        return self.parts.cluster

    @property
    def queue(self) -> JobQueue:
        return self.parts.queue

    @property
    def room(self) -> WaitingRoom:
        return self.parts.permit.room


def build_scheduler(
    settings: Settings,
    client: Client,
    *,
    instance: str = "koordpy",
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
    on_foreign_bind: Callable[[PodRecord], None] = lambda _: None,
    learnt: LearntRunTimes | None = None,
    decided: Callable[[tuple[object, ...]], None] = lambda _: None,
) -> BuiltScheduler:
    """`client` is the one that writes, only while we lead; `instance` is our name in events.

    `on_foreign_bind` is told of pods that were pending here and that somebody else bound; `decided` every decision.
    `learnt` is what outlives this scheduler.
    """
    ready = asyncio.Event()
    profiles = {profile.scheduler_name: profile for profile in settings.profiles}
    changes = ChangeLog(ready.set)
    book = QueueBook(profiles.keys(), changes, default=settings.queues.default, gpus=settings.queues.gpus)
    policy, order = QueuePolicy(book), FairOrder(book)
    cluster = Cluster(_options(settings, book, policy), changes)
    order.look_at(cluster)
    queue = JobQueue(
        clock,
        wall,
        first_backoff_s=settings.first_backoff_s,
        most_backoff_s=settings.most_backoff_s,
        order=order,
        on_ready=ready.set,
    )
    jobs = Jobs(cluster, queue, profiles.keys())
    in_flight, throttle = InFlight(), Throttle(clock)
    recovery = Recovery(cluster, queue, jobs, in_flight=in_flight, throttle=throttle)
    lanes = Lanes.build(settings.bind_width, clock, recovery.run)
    advice = Advice(clock, wanted=settings.advice)
    reporter = Reporter(
        client,
        cluster,
        instance,
        profiles.keys(),
        lane=lanes.reports,
        throttle=throttle,
        repeats=Repeats(clock),
        advice=advice,
        wall=wall,
    )
    volumes = VolumeBinder(client, cluster, settings.volume_bind_timeout_s)
    evictor = Evictor(client, cluster, queue, reporter, lane=lanes.evictions, wall=wall)
    admission = Admission(book, cluster)
    reclaim = Reclaim(book, policy, cluster, admission, wall=wall, victims=evictor.victims)
    cure = Cure(reclaim, book, cluster, admission)
    planning = Planning(cluster, profiles, topology=settings.gangs.topology, reclaim=reclaim, cure=cure)
    oversights = Oversights(cluster, reporter, profiles.keys(), clock)
    grouper = Grouper(cluster, reporter, profiles.keys(), clock, wall)
    backfill = Backfill(planning, queue, reporter, wall=wall, enabled=settings.backfill)
    binder = Binder(
        client,
        cluster,
        jobs,
        reporter=reporter,
        volumes=volumes,
        lanes=lanes,
        in_flight=in_flight,
        annotations=backfill.backfilled.annotations,
    )
    timers: tuple[GangTimer, ...] = (Staleness(planning, evictor, reporter, clock), oversights, grouper, backfill)
    wakeups = Wakeups(cluster, queue, jobs, timers, reclaim)
    permit = Permit(
        planning, queue, jobs, WaitingRoom(cluster, in_flight, clock, wall), reporter=reporter, settings=settings.gangs
    )
    cycles, learnt = EvictionCycles(clock, wall), learnt or LearntRunTimes()
    postfilter = PostFilter(planning, permit, evictor, cycles)
    parts = Parts(
        cluster,
        queue,
        jobs,
        wakeups,
        timers,
        recovery,
        planning,
        permit,
        admission,
        backfill,
        postfilter,
        cycles,
        lanes,
        in_flight,
        binder,
        evictor,
        reporter,
        advice,
        learnt,
    )
    sinks = Sinks.build(
        cluster,
        jobs,
        wakeups,
        recovery,
        in_flight=in_flight,
        grouper=grouper,
        book=book,
        on_pending=(oversights.look_at_pod, grouper.look_at_pod),
        on_pod_gone=(reporter.forget, evictor.pod_gone, volumes.pod_gone, backfill.pod_gone),
        on_pod_finished=learnt.pod_finished,
        on_storage_changed=volumes.storage_changed,
        on_foreign_bind=on_foreign_bind,
    )
    scheduler = Scheduler(parts, ready, clock=clock, decided=decided)
    return BuiltScheduler(scheduler, parts, sinks, volumes, throttle, frozenset(profiles), book)


def _options(settings: Settings, book: QueueBook, policy: QueuePolicy) -> ClusterOptions:
    return ClusterOptions(
        schedulers=frozenset(profile.scheduler_name for profile in settings.profiles),
        gang_defaults=settings.gang_defaults,
        needing_spec=settings.needing_spec,
        eviction_policy=policy,
        queues=book,
        evictions=any(profile.preempts for profile in settings.profiles),
        protected_namespaces=settings.protected_namespaces,
        counts_all_resources=all(profile.counts_all_resources for profile in settings.profiles),
    )
