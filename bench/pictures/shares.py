"""Two teams, a burst and a reclaim: what each queue has, is due and asks for, over time (docs/queues.md)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.pictures.cluster import Cluster, Obj, cluster, pod_spec
from bench.pictures.style import BLUE, GREY, INK, ORANGE, plain, save

_QUEUES = "/apis/scheduling.run.ai/v2/queues"
_JOBS = "/apis/batch/v1/namespaces/default/jobs"
_QUOTAS = {"research": 12, "serving": 4}
_COLOURS = {"research": BLUE, "serving": ORANGE}
_EACH = 2  # GPUs of a job
_SAMPLE_S = 0.1
_PAUSE_S = 15.0  # the Job of an evicted pod makes another after ten seconds


class Sample(NamedTuple):
    """What the scheduler said of one queue."""

    at_s: float
    queue: str
    has: float
    due: float
    wants: float


class Run(NamedTuple):
    samples: list[Sample]
    events: list[tuple[float, str]]
    ended_s: float


async def play() -> Run:
    """The story that the guide tells."""
    async with cluster(nodes=2, gpus=8) as on:
        for name, quota in _QUOTAS.items():
            body = {"metadata": {"name": name}, "spec": {"resources": {"gpu": {"quota": quota}}}}
            await on.create(_QUEUES, {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", **body})
        samples: list[Sample] = []
        watching = asyncio.create_task(_sample(on, samples))
        events: list[tuple[float, str]] = []
        for step, what in _STORY:
            events.append((on.seen.now(), what))
            await step(on)
            await asyncio.sleep(_PAUSE_S)
        ended_s = on.seen.now()
        watching.cancel()
    return Run(samples, events, ended_s)


async def _sample(on: Cluster, samples: list[Sample]) -> None:
    while True:
        for queue in (await on.queues()).items:
            has, due, wants = (float(each["gpu"] or 0) for each in (queue.allocated, queue.fair_share, queue.requested))
            samples.append(Sample(on.seen.now(), queue.name, has, due, wants))
        await asyncio.sleep(_SAMPLE_S)


async def _nine(on: Cluster) -> None:
    await _submit(on, "research", range(1, 9))


async def _burst(on: Cluster) -> None:
    await _submit(on, "serving", range(1, 5))


async def _half_done(on: Cluster) -> None:
    for number in range(1, 5):
        await on.delete(f"{_JOBS}/research-{number}")


async def _again(on: Cluster) -> None:
    await _submit(on, "research", range(9, 13))


_STORY = (
    (_nine, "research asks for 16"),
    (_burst, "a burst: serving asks for 8"),
    (_half_done, "half of research ends"),
    (_again, "research asks for 16 again"),
)


async def _submit(on: Cluster, queue: str, numbers: range) -> None:
    for number in numbers:
        await on.create(_JOBS, _job(f"{queue}-{number}", queue))


def _job(name: str, queue: str) -> Obj:
    metadata = {"name": name, "labels": {"kai.scheduler/queue": queue}}
    spec = {"template": {"spec": pod_spec(_EACH)}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def draw(run: Run, path: Path) -> None:
    """One panel for each queue, on the same time."""
    _, grid = plt.subplots(2, 1, figsize=(9.2, 5.2), sharex=True, layout="constrained")
    for axes, queue in zip(grid, _QUOTAS, strict=True):
        _panel(axes, queue, [sample for sample in run.samples if sample.queue == queue], run.ended_s)
        for at_s, _ in run.events:
            axes.axvline(at_s, color=INK, lw=0.8, alpha=0.5)
    for at_s, what in run.events:
        at = (at_s, 17.4)
        grid[0].annotate(what, at, (1, 0), textcoords="offset points", fontsize=9, color=INK, annotation_clip=False)
    grid[0].legend(loc="lower right", fontsize=8, ncols=4, framealpha=0.9)
    grid[1].set_xlabel("seconds", fontsize=9)
    save(path)


def _panel(axes: Axes, queue: str, samples: list[Sample], ended_s: float) -> None:
    times = [sample.at_s for sample in samples] + [ended_s]
    has, due, wants = ([*each, each[-1]] for each in zip(*((s.has, s.due, s.wants) for s in samples), strict=True))
    axes.fill_between(times, has, step="post", color=_COLOURS[queue], alpha=0.75, lw=0, label="has")
    axes.step(times, wants, where="post", color=INK, lw=1, ls=":", label="asks for")
    axes.step(times, due, where="post", color=INK, lw=1.8, label="fair share")
    axes.axhline(_QUOTAS[queue], color=GREY, lw=1.4, ls="--", label="quota", zorder=0.5)
    axes.set_title(f"{queue}, quota {_QUOTAS[queue]}", fontsize=10, loc="left", pad=20 if queue == "research" else 6)
    axes.set_ylabel("GPUs", fontsize=9)
    axes.set_ylim(0, 17)
    axes.set_yticks(range(0, 17, 4))
    axes.set_xlim(0, ended_s)
    plain(axes)
