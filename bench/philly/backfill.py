"""Backfill on the Philly trace: how full the cluster is, who waits how long, and whether expected starts come true.

Three runs of the same jobs: without backfill, where nothing is declared; with exact declarations; and with declarations
as users make them. An error is how far a start was off, as a part of how long the job waited from when it was told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from bench.figures import Figure, percentile
from bench.philly.api import EPOCH, wall
from bench.philly.estimates import as_users, exactly, nothing
from bench.philly.replay import WARM_UP_S, Played, Replay, Variant, in_use, slice_for
from bench.traces import GPUS_PER_NODE, TraceJob
from koordpy.api.times import seconds_of_instant
from koordpy.scheduler.answers import subjects
from koordpy.scheduler.answers.starts import Forward
from koordpy.scheduler.answers.turns import in_turn
from koordpy.scheduler.answers.views import Views

LOAD = 0.9
_SEED = 2010
_ASKED_EVERY = 50  # submissions between two questions for the expected start
_LEAST_WAIT_S = 60.0  # for an error to mean anything
_MOST_OFF = 20.0  # percent, if run times are exact

VARIANTS = (
    Variant("backfill off", backfill=False),
    Variant("backfill with exact run times", declares=exactly),
    Variant("backfill with run times as users estimate them", declares=as_users(_SEED)),
)
SIZES: dict[str, Callable[[TraceJob], bool]] = {
    "gangs of several nodes": lambda job: job.gpus > GPUS_PER_NODE,
    "jobs of a whole node": lambda job: job.gpus == GPUS_PER_NODE,
    "jobs of less than a node": lambda job: job.gpus < GPUS_PER_NODE,
}
MEAN, SLOWEST = "mean wait", "wait, 95 of 100"


def name_of(measure: str, size: str, variant: str) -> str:
    """How the name of a wait begins."""
    return f"{measure}, {size}, {variant}, "


def figures(directory: Path, count: int, say: Callable[[str], None]) -> Iterator[list[Figure]]:
    """Of one variant after the other."""
    chosen = slice_for(directory, count, LOAD)
    for variant in VARIANTS:
        say(f"{chosen.where}: {variant.name} ...")
        replay = Replay(variant, chosen.jobs, chosen.nodes, asks=_ask)
        replay.run()
        yield _figures(replay, variant.name, chosen.where)


def _figures(replay: Replay, variant: str, where: str) -> list[Figure]:
    played = list(replay.played.values())
    until = played[-1].submitted
    about = f"{variant}, {where}"
    found = [Figure(f"GPUs in use, {about}", "%", (100 * in_use(replay, WARM_UP_S, until),))]
    for size, belongs in SIZES.items():
        waits = tuple(each.wait_s / 60 for each in played if belongs(each.job))
        if waits:
            found.append(Figure(f"{name_of(MEAN, size, variant)}{where}", "min", (fmean(waits),)))
            found.append(Figure(f"{name_of(SLOWEST, size, variant)}{where}", "min", (percentile(waits, 95),)))
            found.append(Figure(f"number of {size}, {about}", "", (float(len(waits)),)))
    found.append(Figure(f"evictions, {about}", "", (float(sum(each.evictions for each in played)),)))
    target = _MOST_OFF if replay.variant.declares is exactly else None
    found += _errors(f"expected start at submission, {about}", _off(played, lambda each: each.expected), target)
    return found + _errors(f"reserved start when first told, {about}", _off(played, lambda each: each.promised), target)


def _off(played: Sequence[Played], told: Callable[[Played], list[tuple[float, float]]]) -> list[float]:
    """In percent of the wait from then on."""
    return [
        100 * abs(start - each.started) / (each.started - at)
        for each in played
        if each.started is not None
        for at, start in told(each)[:1]
        if each.started - at >= _LEAST_WAIT_S
    ]


def _errors(name: str, errors: list[float], target: float | None) -> list[Figure]:
    if not errors:
        return []
    return [
        Figure(f"error of the {name}", "%", (percentile(tuple(errors), 50),), target),
        Figure(f"error of the {name}, 90 of 100", "%", (percentile(tuple(errors), 90),)),
        Figure(f"how often told: {name}", "", (float(len(errors)),)),
    ]


def _ask(replay: Replay, played: Played) -> None:
    """When it is expected to start, of one job in so many: as `koordpy explain` says it, whatever it takes."""
    number = int(played.job.name.rpartition("-")[2])
    if played.started is not None or number % _ASKED_EVERY or replay.variant.declares is nothing:
        return
    parts, cluster = replay.built.parts, replay.built.cluster
    views = Views(parts, replay.built.throttle)
    turns = in_turn(
        subjects.pending(cluster, replay.built.schedulers).values(), parts.queue, cluster, replay.built.book
    )
    forward = Forward(parts.planning, parts.admission, wall(), parts.learnt, budget_s=math.inf)
    reserved = parts.backfill.reservation
    if reserved is not None:
        forward.reserve(reserved)
    for subject in turns:
        has_it = reserved is not None and reserved.key == subject.key
        job = views.waits_for_nodes(subject) if not has_it else None
        start = forward.start_of(job)[0] if job is not None else None
        if any(member.name.startswith(f"{played.job.name}-") for member in subject.members):
            at = start.time if start is not None else None
            if reserved is not None and has_it:
                played.expected.append((wall() - EPOCH, reserved.start.at - EPOCH))
            elif at is not None:
                played.expected.append((wall() - EPOCH, seconds_of_instant(at) - EPOCH))
            return
