"""One run: one workload, one scheduler, on a control plane that is given.

The scheduler is a process of its own, the observer is another. This process only makes objects, and asks the kernel and
the API server for their counts before and after.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.figures import BenchError
from bench.live.arrivals import create, stream
from bench.live.observer import Observer
from bench.live.schedulers import Scheduler, Site
from bench.live.usage import cpu_seconds, peak_mb, writes
from bench.live.verdict import problems
from bench.live.workloads import Workload
from tests.controlplane.client import Client
from tests.controlplane.process import Process
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane

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
    url, ca_path = control_plane.url, control_plane.ca_path
    async with Client(url, namespace=namespace, token=ADMIN_TOKEN, ca_path=ca_path) as client:
        await create(client, "nodes", workload.nodes)
        # The first pod of a stream comes alone: when it is bound, the scheduler is up.
        early = len(workload.pods) if workload.per_second is None else 1
        created = await create(client, "pods", workload.pods[:early])
        writes_before, cpu_before = await writes(client), cpu_seconds(control_plane.pids)
        async with Observer(url, ca_path, namespace) as observer:
            started = time.monotonic()
            with _running(scheduler, control_plane, namespace) as process:
                if workload.per_second is not None:
                    await _bound(observer, process, early)
                    created |= await stream(client, workload.pods[early:], workload.per_second)
                await _bound(observer, process, workload.must_bind)
                after = await _quiet(client)
                return Run(
                    started=started,
                    quiet=after.since,
                    created=created,
                    bound=observer.bound,
                    cpu_s=cpu_seconds([process.pid]),
                    peak_mb=peak_mb(process.pid),
                    control_plane_cpu_s=cpu_seconds(control_plane.pids) - cpu_before,
                    writes=after.writes - writes_before,
                    problems=await problems(client, workload),
                )


@contextlib.contextmanager
def _running(scheduler: Scheduler, control_plane: ControlPlane, namespace: str) -> Iterator[Process]:
    directory = control_plane.directory
    kubeconfig = control_plane.kubeconfig(directory / "bench.kubeconfig")
    site = Site(directory, kubeconfig, control_plane.url, control_plane.ca_path, namespace)
    log = directory / f"{scheduler.name.replace(' ', '-')}.log"
    process = Process(scheduler.name, scheduler.command(site), log)
    try:
        yield process
    finally:
        process.signal(signal.SIGTERM)
        process.wait_stopped(STOP_SECONDS)


async def _bound(observer: Observer, process: Process, count: int) -> None:
    """Wait until so many pods are bound, or nothing goes on any more; the verdict names those that are missing."""
    last_seen, deadline = -1, 0.0
    while len(observer.bound) < count:
        if len(observer.bound) > last_seen:
            last_seen, deadline = len(observer.bound), time.monotonic() + STALL_SECONDS
        if time.monotonic() > deadline and observer.bound:
            return
        if time.monotonic() > deadline:
            raise BenchError(f"{process.name} has bound no pod in {STALL_SECONDS} s\n{process.tail()}")
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
