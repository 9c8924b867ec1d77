"""A reservation with backfilled jobs: which pod was where and when (docs/backfill.md).

Declarations are a little longer than what pods run, as with people.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import NamedTuple

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from bench.pictures.cluster import GPU, PODS, Cluster, cluster, pod_spec
from bench.pictures.style import BLUE, GREEN, GREY, INK, PURPLE, plain, save
from koordpy.api.keys import RESERVED_START, RUN_TIME
from koordpy.api.times import seconds_of_instant
from koordpy.sim.demo.seen import SeenPod, State
from koordpy.sim.embedded.kubelet import RUN_SECONDS

_GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
_POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
_NODES, _GPUS = 4, 4
_SPARE_S = 2  # that a job declares beyond what it runs
_END_S = 46.0
_SEEN_LATE_S = 0.05  # the end of a pod may be seen a moment after the bind of the next


class Job(NamedTuple):
    """At `at_s` so many pods are submitted, with so many GPUs and so many seconds each."""

    at_s: float
    name: str
    pods: int
    gpus: int
    declared_s: int
    role: str


_BEFORE, _LARGE, _BACKFILLED, _WAITED = (
    "runs already",
    "the reserved job",
    "ends in time: goes before",
    "would not: waits",
)
_COLOURS = {_BEFORE: GREY, _LARGE: BLUE, _BACKFILLED: GREEN, _WAITED: PURPLE}
_STORY = (
    Job(0, "sim", 2, 4, 22, _BEFORE),
    Job(0, "prep", 1, 4, 12, _BEFORE),
    Job(2, "large", 4, 4, 12, _LARGE),
    Job(4, "long", 1, 2, 30, _WAITED),
    Job(4.5, "a", 1, 2, 6, _BACKFILLED),
    Job(5, "b", 1, 2, 10, _BACKFILLED),
    Job(6, "c", 1, 2, 6, _BACKFILLED),
    Job(7, "d", 1, 4, 7, _BACKFILLED),
    Job(14, "e", 1, 4, 6, _BACKFILLED),
)


class Bar(NamedTuple):
    """A pod on its node, from its bind to its end."""

    name: str
    role: str
    node: str
    gpus: int
    submitted_s: float
    from_s: float
    to_s: float


class Run(NamedTuple):
    bars: list[Bar]
    reserved_s: float  # as it was promised first
    ended_s: float


async def play() -> Run:
    async with cluster(_NODES, _GPUS) as on:
        reserved_s = 0.0
        for job in _STORY:
            await asyncio.sleep(max(job.at_s - on.seen.now(), 0.0))
            await _submit(on, job)
            if job.role == _LARGE:
                reserved_s = await _reserved(on, job.name)
        await asyncio.sleep(_END_S - on.seen.now())
        ended_s = on.seen.now()
        bars = [bar for pod in on.seen.pods.values() if (bar := _bar(pod, ended_s)) is not None]
    return Run(bars, reserved_s, ended_s)


async def _submit(on: Cluster, job: Job) -> None:
    body = {"metadata": {"name": job.name}, "spec": {"minMember": job.pods}}
    await on.create(_GROUPS, {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", **body})
    for number in range(1, job.pods + 1):
        said = {RUN_TIME: f"{job.declared_s}s", RUN_SECONDS: str(job.declared_s - _SPARE_S)}
        labels = {_POD_GROUP: job.name, "app": job.name}
        metadata = {"name": f"{job.name}-{number}", "labels": labels, "annotations": said}
        await on.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(job.gpus)})


async def _reserved(on: Cluster, name: str) -> float:
    """On the story's clock."""
    while True:
        found = await on.get(f"{_GROUPS}/{name}")
        text = found["metadata"].get("annotations", {}).get(RESERVED_START)
        if text:
            return seconds_of_instant(text) - time.time() + on.seen.now()
        await asyncio.sleep(0.1)


def _bar(pod: SeenPod, ended_s: float) -> Bar | None:
    if State.BOUND not in pod.since:
        return None
    role = next(job.role for job in _STORY if job.name == pod.workload)
    ends = pod.since.get(State.FINISHED, ended_s)
    return Bar(pod.workload, role, pod.node, pod.asks[GPU], pod.since[State.PENDING], pod.since[State.BOUND], ends)


def draw(run: Run, path: Path) -> None:
    """A band for each node, as high as it has GPUs."""
    _, axes = plt.subplots(figsize=(9.2, 4.6), layout="constrained")
    nodes = sorted({bar.node for bar in run.bars})
    for row, node in enumerate(nodes):
        axes.axhline(row * (_GPUS + 1) - 0.5, color="#e5e5e5", lw=0.8)
        _band(axes, row * (_GPUS + 1), [bar for bar in run.bars if bar.node == node])
    top = len(nodes) * (_GPUS + 1) - 0.5
    axes.axvline(run.reserved_s, color=INK, lw=1.4, ls="--")
    submitted_s = min(bar.submitted_s for bar in run.bars if bar.role == _LARGE)
    label = f"promised at {submitted_s:.0f} s: large starts at {run.reserved_s:.0f} s"
    axes.annotate(label, (run.reserved_s, top), (0, 3), textcoords="offset points", fontsize=9, ha="center")
    for bar in run.bars:
        if bar.role == _WAITED:
            axes.plot([bar.submitted_s, bar.from_s], [-1.2, -1.2], color=PURPLE, lw=1.2, ls=":", marker="|")
            axes.text(bar.submitted_s, -1.6, f"{bar.name} waits", fontsize=9, color=INK, va="top")
    axes.set_yticks([row * (_GPUS + 1) + _GPUS / 2 for row in range(len(nodes))], nodes, fontsize=9)
    axes.set_ylim(-3.2, top)
    axes.set_xlim(0, run.ended_s)
    axes.set_xlabel("seconds; a node has 4 GPUs, and a bar is as high as its pod has GPUs", fontsize=9)
    handles = [Patch(color=colour, label=role) for role, colour in _COLOURS.items()]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.07), ncols=4, fontsize=8, frameon=False)
    plain(axes)
    axes.spines["left"].set_visible(False)
    save(path)


def _band(axes: Axes, bottom: float, bars: list[Bar]) -> None:
    for low, bar in lanes(bars):
        middle = bottom + low + bar.gpus / 2
        runs_s = bar.to_s - bar.from_s
        colour = _COLOURS[bar.role]
        axes.barh(middle, runs_s, left=bar.from_s, height=bar.gpus - 0.15, color=colour, edgecolor="white", lw=1)
        ink = INK if bar.role == _BEFORE else "white"
        axes.text(bar.from_s + runs_s / 2, middle, bar.name, ha="center", va="center", fontsize=9, color=ink)


def lanes(bars: list[Bar]) -> list[tuple[int, Bar]]:
    """Every bar of a node with the lowest lane from which on it has a lane for each of its GPUs while it runs."""
    placed: list[tuple[int, Bar]] = []
    for bar in sorted(bars, key=lambda each: each.from_s):
        beside = [(low, low + other.gpus) for low, other in placed if other.to_s > bar.from_s + _SEEN_LATE_S]
        low = 0
        while any(low < their_high and their_low < low + bar.gpus for their_low, their_high in beside):
            low += 1
        placed.append((low, bar))
    return placed
