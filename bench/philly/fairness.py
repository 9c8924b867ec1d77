"""Fair shares on the Philly trace: five queues with a fifth of the GPUs each, over time.

The four virtual clusters that ask for most have a queue each, all others share the fifth. Nothing is declared, so that
nobody has a reservation: who goes next is up to the queues alone. Every ten minutes it is noted what each queue has and
what its fair share is. A queue may be below its share because no job of it fits what is missing; what it has above its
share others will reclaim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from bench.figures import Figure, percentile
from bench.philly.replay import WARM_UP_S, Replay, Variant, in_use, slice_for
from bench.traces import GPUS_PER_NODE, TraceJob
from koordpy.api.meta import ObjectMeta
from koordpy.api.queue import Queue, QueueResource, QueueResources, QueueSpec
from koordpy.quota.amounts import GPU, MILLI

LOAD = 1.1  # more than there is: only then shares matter
EVERY_S = 600.0
QUEUES = tuple(f"team-{number}" for number in range(1, 6))
HAS, DUE = "GPUs of", "fair share of"


def series(kind: str, queue: str) -> str:
    """How the name of a figure begins that is drawn over time."""
    return f"{kind} {queue} every {EVERY_S / 60:g} min, "


def figures(directory: Path, count: int, say: Callable[[str], None]) -> list[Figure]:
    chosen = slice_for(directory, count, LOAD)
    jobs, gpus = in_five(chosen.jobs), chosen.nodes * GPUS_PER_NODE
    say(f"{chosen.where}: five queues ...")
    seen = Seen(jobs[-1].submitted_s)
    variant = Variant("queues", queues=tuple(_queue(name, gpus / len(QUEUES)) for name in QUEUES))
    replay = Replay(variant, jobs, chosen.nodes, look=seen.look, look_every_s=EVERY_S)
    replay.run()
    return [*_figures(replay, seen, chosen.where, gpus), *_waits(replay, chosen.where), *seen.figures(chosen.where)]


class Seen:
    """What each queue had and was due, as long as jobs came."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.has: dict[str, list[float]] = {name: [] for name in QUEUES}
        self.due: dict[str, list[float]] = {name: [] for name in QUEUES}

    def look(self, replay: Replay) -> None:
        book, cluster = replay.built.book, replay.built.cluster
        if len(self.has[QUEUES[0]]) * EVERY_S > self.until:
            return
        book.divide(cluster.nodes, cluster.resources)
        for name in QUEUES:
            row = book.tree.rows[name]
            self.has[name].append(float(book.usage.allocated[row, GPU]) / MILLI)
            self.due[name].append(float(book.shares[row, GPU]) / MILLI)

    def off(self, name: str) -> list[float]:
        """GPUs above its fair share, below it if negative, after the first day."""
        warm = int(WARM_UP_S / EVERY_S)
        return [has - due for has, due in zip(self.has[name][warm:], self.due[name][warm:], strict=True)]

    def figures(self, where: str) -> list[Figure]:
        """For the plot."""
        kinds = ((HAS, self.has), (DUE, self.due))
        return [Figure(series(kind, name) + where, "GPUs", tuple(of[name])) for kind, of in kinds for name in QUEUES]


def in_five(jobs: Sequence[TraceJob]) -> list[TraceJob]:
    """The virtual clusters of the trace as five teams, the one that asks for most first."""
    asked: Counter[str] = Counter()
    for job in jobs:
        asked[job.team] += int(job.gpus * job.duration_s)
    largest = [team for team, _ in asked.most_common(len(QUEUES) - 1)]
    team_of = dict(zip(largest, QUEUES, strict=False))
    return [job._replace(team=team_of.get(job.team, QUEUES[-1])) for job in jobs]


def _queue(name: str, gpus: float) -> Queue:
    free = QueueResource(quota=-1, limit=-1, over_quota_weight=1)
    share = QueueResource(quota=gpus, limit=-1, over_quota_weight=1)
    spec = QueueSpec(resources=QueueResources(gpu=share, cpu=free, memory=free))
    return Queue(ObjectMeta(name, uid=name, creation_timestamp="2026-01-01T00:00:00Z"), spec)


def _figures(replay: Replay, seen: Seen, where: str, gpus: int) -> list[Figure]:
    off = [[100 * each / gpus for each in seen.off(name)] for name in QUEUES]
    largest = tuple(max(map(abs, at_once)) for at_once in zip(*off, strict=True))
    above, below = (max(max(sign * each for each in of) for of in off) for sign in (1, -1))
    used = 100 * in_use(replay, WARM_UP_S, seen.until)
    played = replay.played.values()
    return [
        Figure(f"GPUs in use, five queues, {where}", "%", (used,)),
        Figure(f"largest deviation from fair share at a time, part of all GPUs, {where}", "%", largest),
        Figure(f"the most that a queue was below its fair share, part of all GPUs, {where}", "%", (below,)),
        Figure(f"the most that a queue was above its fair share, part of all GPUs, {where}", "%", (above,)),
        Figure(f"evictions, five queues, {where}", "", (float(sum(each.evictions for each in played)),)),
        Figure(f"GPU hours lost to evictions, {where}", "h", (sum(each.lost_gpu_s for each in played) / 3600,)),
    ]


def _waits(replay: Replay, where: str) -> list[Figure]:
    found = []
    for name in QUEUES:
        waits = tuple(each.wait_s / 60 for each in replay.played.values() if each.job.team == name)
        about = f"jobs of {name}, {where}"
        found.append(Figure(f"mean wait, {about}", "min", (fmean(waits),)))
        found.append(Figure(f"wait, 95 of 100, {about}", "min", (percentile(waits, 95),)))
        found.append(Figure(f"number of {about}", "", (float(len(waits)),)))
    return found
