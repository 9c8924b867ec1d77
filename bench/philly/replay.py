"""Plays jobs of the trace to the scheduler, one run for one way of setting it up, and notes what becomes of each.

Jobs come when they came and run for as long as they ran, at the latest for a day: so the cluster is as full after a
day as it will be, and a slice of a week shows something. A job that is evicted is submitted anew, and begins again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

from bench.figures import BenchError
from bench.live.manifests import GANG_MINIMUM, GANG_NAME
from bench.philly import virtual
from bench.philly.api import EPOCH, Api, wall
from bench.philly.estimates import Declares, nothing
from bench.planning.fabric import GPU, PROFILES, SCHEDULER, nodes_of
from bench.traces import GPUS_PER_NODE, Role, TraceJob, training
from koordpy.api.keys import RESERVED_START, RUN_TIME
from koordpy.api.queue import Queue
from koordpy.api.times import seconds_of_instant
from koordpy.app.build import BuiltScheduler, build_scheduler
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.scheduler.loop import Scheduler

Json = dict[str, Any]

LONGEST_S = 86_400.0
WARM_UP_S = LONGEST_S  # from here on the cluster is as full as it will be
FIRST = 74_000  # of the trace: of 3,000 jobs in a week 43 are larger than a node, more than elsewhere
JOB_LABEL, QUEUE_LABEL = "job", "kai.scheduler/queue"


@dataclass(frozen=True)
class Variant:
    """One way to run the jobs."""

    name: str
    backfill: bool = True
    declares: Declares = nothing
    queues: tuple[Queue, ...] = ()


@dataclass
class Played:
    """What became of one job, in seconds of virtual time."""

    job: TraceJob
    submitted: float
    bound: int = 0
    started: float | None = None  # all of it, the last time
    ended: float | None = None
    evictions: int = 0
    lost_gpu_s: float = 0.0  # that evicted pods had run for
    promised: list[tuple[float, float]] = field(default_factory=list)  # when it was told, and which start
    expected: list[tuple[float, float]] = field(default_factory=list)  # when it was asked, and which start

    @property
    def wait_s(self) -> float:
        if self.started is None:
            raise BenchError(f"{self.job.name} has not started")
        return self.started - self.submitted


class Unflushed(Scheduler):
    """Without the periodic flush: it would try everything that waits two thousand times a week, and start nothing."""

    async def _flush_forever(self) -> None:
        await asyncio.Event().wait()


Look = Callable[["Replay"], None]
Asks = Callable[["Replay", Played], None]


class Replay:
    """One run. `look` is called every `look_every_s` of virtual time; `asks` a second after each submission."""

    def __init__(
        self,
        variant: Variant,
        jobs: Sequence[TraceJob],
        nodes: int,
        *,
        look: Look = lambda _: None,
        look_every_s: float = 600.0,
        asks: Asks = lambda *_: None,
    ) -> None:
        self.variant, self._jobs, self.nodes = variant, jobs, nodes
        self._look, self._look_every_s, self._asks = look, look_every_s, asks
        self.played = {job.name: Played(job, job.submitted_s) for job in jobs}
        self.busy_gpu_s: list[tuple[float, int]] = []  # (time, change of the GPUs in use)
        self._left = len(jobs)
        self._there: Counter[str] = Counter()  # pods of each job
        self._done: asyncio.Event
        self.built: BuiltScheduler
        self._api = Api(self._hear)

    def run(self) -> None:
        """Until every job has ended."""
        virtual.run(self._run())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        settings = Settings(profiles=tuple(PROFILES.values()), backfill=self.variant.backfill)
        client = Client(cast("Any", self._api))
        self.built = build_scheduler(settings, client, clock=loop.time, wall=wall)
        self._api.feed(self.built.sinks)
        for each in nodes_of(self.nodes, Random(1)):
            self.built.sinks.nodes.upsert(each)
        for queue in self.variant.queues:
            self.built.sinks.queues.upsert(queue)
        self.built.sinks.settle_queues()
        scheduler = Unflushed(self.built.parts, self.built.scheduler._ready)  # noqa: SLF001 - set by its sinks
        tasks = [loop.create_task(each) for each in (scheduler.run(), self._submit(), self._look_often())]
        await self._done.wait()
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)

    async def _submit(self) -> None:
        loop = asyncio.get_running_loop()
        for job in self._jobs:
            await asyncio.sleep(max(0.0, job.submitted_s - loop.time()))
            self._create(self.played[job.name])
            loop.call_later(1.0, self._asks, self, self.played[job.name])

    async def _look_often(self) -> None:
        while True:
            await asyncio.sleep(self._look_every_s)
            self._look(self)

    def _create(self, played: Played) -> None:
        job, (role,) = played.job, played.job.roles
        played.bound, self._there[job.name] = 0, role.pods
        declared = self.variant.declares(job)
        for pod in _pods(job, role, played.evictions, declared, job.team if self.variant.queues else ""):
            self._api.create(pod, job.duration_s)

    # --- what becomes of them ---

    def _hear(self, what: str, pod: Json) -> None:
        played, now = self.played[pod["metadata"]["labels"][JOB_LABEL]], asyncio.get_running_loop().time()
        (role,) = played.job.roles
        if what == "bound":
            self.busy_gpu_s.append((now, role.gpus))
            played.bound += 1
            if played.bound == role.pods:
                played.started = now
        elif what == "annotated":
            _note_promise(played, pod["metadata"]["annotations"].get(RESERVED_START), now)
        else:
            self._gone(played, what, pod, now)

    def _gone(self, played: Played, how: str, pod: Json, now: float) -> None:
        (role,) = played.job.roles
        self._there[played.job.name] -= 1
        if pod["spec"].get("nodeName"):
            self.busy_gpu_s.append((now, -role.gpus))
        if how == "evicted":
            began = seconds_of_instant(pod["status"]["startTime"]) - EPOCH
            played.lost_gpu_s += role.gpus * (now - began)
        if self._there[played.job.name]:
            return
        if how == "evicted":
            played.evictions += 1
            self._create(played)
            return
        played.ended, self._left = now, self._left - 1
        if not self._left:
            self._done.set()


def _note_promise(played: Played, said: str | None, now: float) -> None:
    """A promise that an older job takes over within a second was none: nobody has read it."""
    if said:
        played.promised.append((now, seconds_of_instant(said) - EPOCH))
    elif played.promised and now - played.promised[-1][0] < 1.0:
        played.promised.pop()


def _pods(job: TraceJob, role: Role, incarnation: int, declared: float | None, queue: str) -> Iterator[Json]:
    annotations = {} if declared is None else {RUN_TIME: f"{int(declared)}s"}
    if role.pods > 1:
        annotations |= {GANG_NAME: f"{job.name}-{incarnation}", GANG_MINIMUM: str(role.pods)}
    requests = {"cpu": f"{role.cpu_m}m", "memory": f"{role.memory_mib}Mi", GPU: str(role.gpus)}
    container = {"name": "main", "image": "train", "resources": {"requests": requests, "limits": {GPU: str(role.gpus)}}}
    labels = {JOB_LABEL: job.name} | ({QUEUE_LABEL: queue} if queue else {})
    for number in range(role.pods):
        name = f"{job.name}-{incarnation}-{number}"
        yield {
            "metadata": {"name": name, "labels": dict(labels), "annotations": dict(annotations)},
            "spec": {"schedulerName": SCHEDULER, "containers": [container], "priority": 0},
            "status": {"phase": "Pending"},
        }


class Slice(NamedTuple):
    """Jobs of the trace, and a cluster for them; `where` names both in figures."""

    where: str
    jobs: list[TraceJob]
    nodes: int


def slice_for(directory: Path, count: int, load: float) -> Slice:
    """So many jobs, on so many nodes that what the jobs ask for is this much of them."""
    trace = training(directory)
    jobs = _from_zero(trace.jobs[FIRST : FIRST + count])
    if jobs[-1].submitted_s <= WARM_UP_S:
        raise BenchError(
            f"{count} jobs of {trace.source} are submitted within a day, in which the cluster fills: take more"
        )
    asked = sum(job.gpus * job.duration_s for job in jobs) / (jobs[-1].submitted_s or 1.0)
    nodes = max(math.ceil(max(job.gpus for job in jobs) / GPUS_PER_NODE), round(asked / load / GPUS_PER_NODE))
    days = jobs[-1].submitted_s / 86_400
    return Slice(f"{len(jobs):,} jobs in {days:.1f} days of {trace.source}, {nodes} nodes", jobs, nodes)


def _from_zero(jobs: Sequence[TraceJob]) -> list[TraceJob]:
    """In their order, in whole seconds, none longer than a day."""
    began = jobs[0].submitted_s
    return [
        job._replace(
            submitted_s=float(int(job.submitted_s - began)), duration_s=max(1.0, min(job.duration_s, LONGEST_S))
        )
        for job in jobs
    ]


def in_use(replay: Replay, start: float, end: float) -> float:
    """GPUs in use between two times, of all."""
    total, level, since = 0.0, 0, 0.0
    for at, change in itertools.chain(replay.busy_gpu_s, [(end, 0)]):
        total += level * max(0.0, min(at, end) - max(since, start))
        level, since = level + change, at
    return total / ((end - start) * replay.nodes * GPUS_PER_NODE)
