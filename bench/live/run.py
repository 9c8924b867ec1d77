"""One run: one workload, one scheduler, on a control plane that is given.

The scheduler is a process of its own, the observer is another. This process only makes objects, and asks the kernel and
the API server for their counts before and after.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import BenchError
from bench.live.observer import Observer
from bench.live.schedulers import Scheduler, Site
from bench.live.usage import cpu_seconds, peak_mb, writes
from bench.live.verdict import problems
from bench.live.workloads import Json, Workload
from tests.controlplane.client import Client
from tests.controlplane.process import Process
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane

CREATORS = 16
STALL_SECONDS = 60
QUIET_SECONDS = 1.0
QUIET_AT_MOST_SECONDS = 60
STOP_SECONDS = 10
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Run:
    """What was seen. Times are of the monotonic clock, in seconds."""

    started: float  # the scheduler's process
    quiet: float  # the scheduler wrote nothing after this
    created: dict[str, float] = field(repr=False)  # pod -> when it was made
    bound: dict[str, float] = field(repr=False)  # pod -> when it was seen bound
    cpu_s: float
    peak_mb: float
    control_plane_cpu_s: float
    writes: Counter[str]
    problems: list[str]


async def run(control_plane: ControlPlane, namespace: str, workload: Workload, scheduler: Scheduler) -> Run:
    """The namespace must exist and be empty, and the control plane have no nodes."""
    async with Client(
        control_plane.url, namespace=namespace, token=ADMIN_TOKEN, ca_path=control_plane.ca_path
    ) as client:
        await _create(client, "nodes", workload.nodes)
        pods = iter(workload.pods)
        # The first pod of a stream comes alone: when it is bound, the scheduler is up.
        early = list(pods) if workload.per_second is None else [next(pods)]
        created = await _create(client, "pods", early)
        before = await writes(client), cpu_seconds(control_plane.pids)
        async with Observer(control_plane.url, control_plane.ca_path, namespace) as observer:
            started = time.monotonic()
            process = _start(scheduler, control_plane, namespace)
            try:
                if workload.per_second is not None:
                    await _bound(observer, process, 1)
                    created |= await _stream(client, list(pods), workload.per_second)
                await _bound(observer, process, workload.must_bind)
                after = await _quiet(client)
                used = cpu_seconds([process.pid]), peak_mb(process.pid), cpu_seconds(control_plane.pids) - before[1]
            finally:
                process.signal(signal.SIGTERM)
                process.wait_stopped(STOP_SECONDS)
        return Run(
            started=started,
            quiet=after.since,
            created=created,
            bound=observer.bound,
            cpu_s=used[0],
            peak_mb=used[1],
            control_plane_cpu_s=used[2],
            writes=after.writes - before[0],
            problems=await problems(client, workload),
        )


def _start(scheduler: Scheduler, control_plane: ControlPlane, namespace: str) -> Process:
    directory = control_plane.directory
    kubeconfig = control_plane.kubeconfig(directory / "bench.kubeconfig")
    site = Site(directory, kubeconfig, control_plane.url, control_plane.ca_path, namespace)
    return Process(scheduler.name, scheduler.command(site), _log(directory, scheduler))


def _log(directory: Path, scheduler: Scheduler) -> Path:
    return directory / f"{scheduler.name.replace(' ', '-')}.log"


async def _bound(observer: Observer, process: Process, count: int) -> None:
    """Wait until so many pods are bound, or nothing goes on any more; the verdict names those that are missing."""
    last_seen, deadline = -1, 0.0
    while len(observer.bound) < count:
        if len(observer.bound) > last_seen:
            last_seen, deadline = len(observer.bound), time.monotonic() + STALL_SECONDS
        if time.monotonic() > deadline:
            return
        if not process.running:
            raise BenchError(f"{process.name} has ended in the middle of the run\n{process.tail()}")
        if not observer.running:
            raise BenchError("the observer has ended in the middle of the run; what it died of is above")
        await asyncio.sleep(POLL_SECONDS)


@dataclass(frozen=True)
class _Quiet:
    since: float
    writes: Counter[str]


async def _quiet(client: Client) -> _Quiet:
    """Wait until nothing is written any more: events follow the binds, and belong to the cost of scheduling."""
    deadline = time.monotonic() + QUIET_AT_MOST_SECONDS
    found = _Quiet(time.monotonic(), await writes(client))
    while time.monotonic() < min(found.since + QUIET_SECONDS, deadline):
        await asyncio.sleep(QUIET_SECONDS / 4)
        now = await writes(client)
        if now != found.writes:
            found = _Quiet(time.monotonic(), now)
    return found


async def _create(client: Client, resource: str, objects: Sequence[Json]) -> dict[str, float]:
    """Make them as fast as it goes; says when each was there."""
    created: dict[str, float] = {}
    todo = iter(objects)
    async with asyncio.TaskGroup() as group:
        for _ in range(CREATORS):
            group.create_task(_create_each(client, resource, todo, created))
    return created


async def _create_each(client: Client, resource: str, todo: Iterator[Json], created: dict[str, float]) -> None:
    for obj in todo:
        (await client.create(resource, obj)).ok()
        created[obj["metadata"]["name"]] = time.monotonic()


async def _stream(client: Client, pods: Sequence[Json], per_second: float) -> dict[str, float]:
    """Make them one by one at a rate, late ones at once, without waiting for the answer of the one before.

    A pod counts from the moment it is asked for: a server that is slow to take it is part of what its user waits for.
    """
    asked: dict[str, float] = {}
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number, pod in enumerate(pods):
            due = began + number / per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            asked[pod["metadata"]["name"]] = time.monotonic()
            group.create_task(_create_each(client, "pods", iter([pod]), {}))
    return asked
