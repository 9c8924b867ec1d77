"""Rounds: every workload with every scheduler, once; then again, in another order.

Each run has a control plane of its own, fresh from the start, so that none finds the history of another.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.figures import Figure
from bench.live.measures import figure, measures
from bench.live.run import Run, run
from bench.live.schedulers import Scheduler
from bench.live.workloads import Workload
from tests.controlplane.server import ControlPlane

NAMESPACE = "default"


@dataclass(frozen=True)
class Results:
    """Figures by workload, measure and scheduler, and what went wrong."""

    workloads: list[Workload]
    figures: dict[str, dict[str, dict[str, Figure]]]  # workload -> measure -> scheduler
    problems: list[str]

    def all_figures(self) -> list[Figure]:
        return [f for by_measure in self.figures.values() for each in by_measure.values() for f in each.values()]


def play(
    workloads: list[Workload], schedulers: Sequence[Scheduler], rounds: int, say: Callable[[str], None]
) -> Results:
    runs: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
    problems = []
    for number in range(rounds):
        turn = number % len(schedulers)  # whoever is first meets a machine that has rested
        for workload in workloads:
            for scheduler in (*schedulers[turn:], *schedulers[:turn]):
                if number >= workload.most_rounds or (workload.per_second is not None and not scheduler.streams):
                    continue
                seen = play_once(workload, scheduler)
                runs[workload.name, scheduler.name].append(seen)
                label = f"{workload.name} {number + 1}/{rounds}, {scheduler.name}"
                say(f"{label}: {_in_short(workload, scheduler, seen)}")
                problems += [f"{label}: {problem}" for problem in seen.problems]
    return Results(workloads, {w.name: _figures(w, schedulers, runs) for w in workloads}, problems)


def play_once(workload: Workload, scheduler: Scheduler) -> Run:
    with ControlPlane() as control_plane:
        return asyncio.run(run(control_plane, NAMESPACE, workload, scheduler))


def _in_short(workload: Workload, scheduler: Scheduler, seen: Run) -> str:
    first = figure(measures(workload)[0], workload, scheduler.name, [seen])
    return f"{first.written()} ({measures(workload)[0].name})"


def _figures(
    workload: Workload, schedulers: Sequence[Scheduler], runs: dict[tuple[str, str], list[Run]]
) -> dict[str, dict[str, Figure]]:
    return {
        measure.name: {
            scheduler.name: figure(measure, workload, scheduler.name, runs[workload.name, scheduler.name])
            for scheduler in schedulers
            if runs.get((workload.name, scheduler.name))
        }
        for measure in measures(workload)
    }
