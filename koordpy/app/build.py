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
from koordpy.scheduler.ingest.sinks import Sinks
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.loop import Scheduler
from koordpy.scheduler.oversights import Oversights
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.permit import Permit
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.preempt import PostFilter
from koordpy.scheduler.queue.order import OneLine
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.recovery import Recovery
from koordpy.scheduler.report.repeats import Repeats
from koordpy.scheduler.report.reporter import Reporter
from koordpy.scheduler.report.throttle import Throttle
from koordpy.scheduler.staleness import Staleness
from koordpy.scheduler.timers import GangTimer
from koordpy.scheduler.waitingroom import WaitingRoom
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.changes import ChangeLog
from koordpy.state.cluster import Cluster, ClusterOptions
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
) -> BuiltScheduler:
    """`client` is the one that writes, only while we lead; `instance` is our name in events.

    `on_foreign_bind` is told of pods that were pending here and that somebody else bound.
    """
    ready = asyncio.Event()
    profiles = {profile.scheduler_name: profile for profile in settings.profiles}
    cluster = Cluster(_options(settings), ChangeLog(ready.set))
    queue = JobQueue(
        clock,
        wall,
        first_backoff_s=settings.first_backoff_s,
        most_backoff_s=settings.most_backoff_s,
        order=OneLine(),
        on_ready=ready.set,
    )
    jobs = Jobs(cluster, queue, profiles.keys())
    in_flight, throttle = InFlight(), Throttle(clock)
    recovery = Recovery(cluster, queue, jobs, in_flight=in_flight, throttle=throttle)
    lanes = Lanes.build(settings.bind_width, clock, recovery.run)
    reporter = Reporter(
        client, cluster, instance, lane=lanes.reports, throttle=throttle, repeats=Repeats(clock), wall=wall
    )
    volumes = VolumeBinder(client, cluster, settings.volume_bind_timeout_s)
    binder = Binder(client, cluster, jobs, reporter=reporter, volumes=volumes, lanes=lanes, in_flight=in_flight)
    evictor = Evictor(client, cluster, queue, reporter, lane=lanes.evictions, wall=wall)
    planning = Planning(cluster, profiles, topology=settings.gangs.topology)
    oversights = Oversights(cluster, reporter, profiles.keys(), clock)
    timers: tuple[GangTimer, ...] = (Staleness(planning, evictor, reporter, clock), oversights)
    wakeups = Wakeups(cluster, queue, jobs, timers)
    permit = Permit(
        planning, queue, jobs, WaitingRoom(cluster, in_flight, clock, wall), reporter=reporter, settings=settings.gangs
    )
    cycles = EvictionCycles(clock, wall)
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
        postfilter,
        cycles,
        lanes,
        in_flight,
        binder,
        evictor,
        reporter,
    )
    sinks = Sinks.build(
        cluster,
        jobs,
        wakeups,
        recovery,
        in_flight=in_flight,
        on_pending=oversights.look_at_pod,
        on_pod_gone=(reporter.forget, evictor.pod_gone, volumes.pod_gone),
        on_storage_changed=volumes.storage_changed,
        on_foreign_bind=on_foreign_bind,
    )
    return BuiltScheduler(Scheduler(parts, ready), parts, sinks, volumes, throttle, frozenset(profiles))


def _options(settings: Settings) -> ClusterOptions:
    return ClusterOptions(
        schedulers=frozenset(profile.scheduler_name for profile in settings.profiles),
        gang_defaults=settings.gang_defaults,
        evictions=any(profile.preempts for profile in settings.profiles),
        protected_namespaces=settings.protected_namespaces,
        counts_all_resources=all(profile.counts_all_resources for profile in settings.profiles),
    )
