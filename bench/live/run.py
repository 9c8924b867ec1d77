"""One run: one workload, one scheduler, on a control plane that is given.

The scheduler has processes of its own, the observer is another. This process only makes objects, plays the kubelets,
and asks the kernel and the API server for their counts before and after.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from bench.figures import BenchError
from bench.live import jobs
from bench.live.arrivals import create, create_gangs, install, stream
from bench.live.completions import Completions
from bench.live.kubelets import Kubelets
from bench.live.observer import Observer
from bench.live.programs import Programs, running
from bench.live.scheduler import Scheduler, Site
from bench.live.usage import cpu_seconds, reads, writes
from bench.live.verdict import Outcome, Seen, outcome_of
from bench.live.workload import PROBE, Arrival, Workload
from tests.controlplane.client import Client
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane

QUIET_SECONDS = 1.0
QUIET_AT_MOST_SECONDS = 20
POLL_SECONDS = 0.05
RUNNING = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


@dataclass(frozen=True)
class Run:
    """The observations of one run. Times are of the monotonic clock, in seconds."""

    workload: Workload = field(repr=False)
    started: float  # the scheduler's process
    quiet: float  # the scheduler wrote nothing after this
    created: dict[str, float] = field(repr=False)  # pod -> when it was asked for
    bound: dict[str, float] = field(repr=False)  # pod that has to be bound -> when it was seen bound
    completed: dict[str, float] = field(repr=False)  # pod -> when it was deleted, its run time being over
    last_eviction: float  # when the last pod was seen to be evicted; `started` if none was
    outcome: Outcome = field(repr=False)
    cpu_s: float
    grouper_cpu_s: float  # the part of it that is the grouper's
    peak_mb: float
    control_plane_cpu_s: float
    writes: Counter[str]  # of the scheduler, by verb and resource
    reads: Counter[str]  # likewise; GET and LIST

    @property
    def problems(self) -> list[str]:
        return self.outcome.problems


async def run(control_plane: ControlPlane, namespace: str, workload: Workload, scheduler: Scheduler) -> Run:
    """The namespace must exist and be empty, and the control plane have no nodes."""
    url, ca_path = control_plane.url, control_plane.ca_path
    async with Client(url, namespace=namespace, token=ADMIN_TOKEN, ca_path=ca_path) as client:
        created = await _prepare(client, workload, scheduler)
        grouped = workload.has_jobs
        async with (
            Observer(url, ca_path, namespace) as observer,
            Completions(client, observer, workload.gangs) as completions,
            _kubelets(client, workload) as kubelets,
        ):
            writes_before, reads_before = await writes(client, grouped=grouped), await reads(client)
            cpu_before, started = cpu_seconds(control_plane.pids), time.monotonic()
            with running(scheduler, _site(control_plane, namespace), grouped=grouped) as programs:
                created |= await _later(client, workload, scheduler, observer, programs)
                await _bound(observer, programs, workload.must_bind, workload.stalled_after_s)
                await completions.wait_completed()
                after = await _quiet(client, grouped=grouped)
                after.writes["DELETE pods"] -= kubelets.deletions + len(completions.completed)
                read = await reads(client) - reads_before  # now: the verdict reads as well
                return Run(
                    workload=workload,
                    started=started,
                    quiet=after.since,
                    created=created,
                    bound={name: at for name, at in observer.bound.items() if name in workload.must_bind},
                    completed=completions.completed,
                    last_eviction=max(_evicted(observer, completions).values(), default=started),
                    outcome=await outcome_of(client, workload, scheduler.knows_gangs, _seen(observer, completions)),
                    cpu_s=programs.cpu_s,
                    grouper_cpu_s=programs.grouper_cpu_s,
                    peak_mb=programs.peak_mb,
                    control_plane_cpu_s=cpu_seconds(control_plane.pids) - cpu_before,
                    writes=after.writes - writes_before,
                    reads=read,
                )


async def _prepare(client: Client, workload: Workload, scheduler: Scheduler) -> dict[str, float]:
    """Create everything that exists when the scheduler starts."""
    await install(client, (*scheduler.definitions(), *(jobs.definitions() if workload.has_jobs else ())))
    await create(client, (*workload.objects, *scheduler.objects))
    if workload.has_jobs and scheduler.grouper is not None:
        await create(client, scheduler.grouper.objects)
    if scheduler.queues_of is not None:
        await create(client, scheduler.queues_of(workload.queues))
    await create(client, (("nodes", node) for node in workload.nodes))
    running = [scheduler.manifests_of(gang, client.namespace) for gang in workload.running]
    await create_gangs(client, running)
    for pod in (pod for gang in running for pod in gang.pods):
        name = pod["metadata"]["name"]
        (await client.patch("pods", name, RUNNING, subresource="status", how="strategic")).ok()
    early = workload.gangs if workload.arrival is Arrival.BEFORE else (PROBE,)
    return await create_gangs(client, [scheduler.manifests_of(gang, client.namespace) for gang in early])


async def _later(
    client: Client, workload: Workload, scheduler: Scheduler, observer: Observer, programs: Programs
) -> dict[str, float]:
    """Create everything that arrives when the scheduler is up, which it is when it has bound the probe."""
    if workload.arrival is Arrival.BEFORE:
        return {}
    await _bound(observer, programs, frozenset(PROBE.member_names()), workload.stalled_after_s)
    manifests = [(gang.at, scheduler.manifests_of(gang, client.namespace)) for gang in workload.gangs]
    if workload.arrival is Arrival.STREAM:
        return await stream(client, manifests)
    return await create_gangs(client, [gang for _, gang in manifests])


def _seen(observer: Observer, completions: Completions) -> Seen:
    return Seen(
        evicted=len(_evicted(observer, completions)),
        done=frozenset(completions.completed),
        node_of=observer.node_of,
        events=observer.events,
    )


def _evicted(observer: Observer, completions: Completions) -> dict[str, float]:
    return {name: at for name, at in observer.gone.items() if name not in completions.completed}


@contextlib.asynccontextmanager
async def _kubelets(client: Client, workload: Workload) -> AsyncIterator[Kubelets]:
    """The kubelets, only for workloads with evictions: their watch of every pod costs time."""
    kubelets = Kubelets(client)
    if not workload.least_evictions:
        yield kubelets
        return
    async with kubelets:
        yield kubelets


def _site(control_plane: ControlPlane, namespace: str) -> Site:
    directory = control_plane.directory
    # A token, as schedulers have in a cluster; a certificate would be verified anew with each request, which costs the
    # API server a sixth of its time.
    kubeconfig = control_plane.kubeconfig(directory / "bench.kubeconfig", token=ADMIN_TOKEN)
    return Site(directory, kubeconfig, control_plane.url, control_plane.ca_path, namespace)


async def _bound(observer: Observer, programs: Programs, names: frozenset[str], stalled_after_s: float) -> None:
    """Wait until these pods are bound or no more are being bound; the verdict names the missing ones."""
    last_seen, deadline = -1, 0.0
    while (seen := len(observer.bound)) < len(names) or not names <= observer.bound.keys():
        if seen > last_seen:
            last_seen, deadline = seen, time.monotonic() + stalled_after_s
        if time.monotonic() > deadline and names & observer.bound.keys():
            return
        if time.monotonic() > deadline:
            raise BenchError(f"no pod was bound in {stalled_after_s:g} s\n{programs.tails()}")
        programs.check()
        if not observer.running:
            raise BenchError("the observer has ended in the middle of the run; what it died of is above")
        await asyncio.sleep(POLL_SECONDS)


@dataclass(frozen=True)
class _Quiet:
    since: float
    writes: Counter[str]


async def _quiet(client: Client, *, grouped: bool) -> _Quiet:
    """Wait until the scheduler stops writing: events follow the binds, and belong to the cost of scheduling."""
    deadline = time.monotonic() + QUIET_AT_MOST_SECONDS
    found = _Quiet(time.monotonic(), await writes(client, grouped=grouped))
    while time.monotonic() < min(found.since + QUIET_SECONDS, deadline):
        await asyncio.sleep(QUIET_SECONDS / 4)
        now = await writes(client, grouped=grouped)
        if now != found.writes:
            found = _Quiet(time.monotonic(), now)
    return found
