"""Rounds of one workload: each round runs every scheduler once, in another order.

Each run has a new control plane, without the history of another run.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import aiohttp

from bench.figures import BenchError, Figure
from bench.live.measures import figure, figure_name, measures
from bench.live.run import Run, run
from bench.live.scheduler import Scheduler
from bench.live.workload import Workload
from tests.controlplane.server import ControlPlane

NAMESPACE = "default"
UNANSWERED = (TimeoutError, aiohttp.ClientError)
OURS = "koordpy"
READS_SHOWN = 5


@dataclass(frozen=True)
class Problem:
    """An error of a scheduler."""

    scheduler: str
    text: str  # with the workload and the round


@dataclass(frozen=True)
class Result:
    """The result of one workload: figures by measure and scheduler, and problems."""

    workload: Workload
    figures: dict[str, dict[str, Figure]]  # measure -> scheduler
    problems: list[Problem]

    def all_figures(self) -> list[Figure]:
        return [figure for by_scheduler in self.figures.values() for figure in by_scheduler.values()]


def takes_part(scheduler: Scheduler, workload: Workload) -> bool:
    """Whether the scheduler can run the workload."""
    if not scheduler.decides:
        return workload.has_ceiling
    if (workload.queues and scheduler.queues_of is None) or (workload.has_jobs and scheduler.grouper is None):
        return False
    return scheduler.knows_gangs or not workload.only_for_gangs


def run_rounds(workload: Workload, schedulers: Sequence[Scheduler], rounds: int, say: Callable[[str], None]) -> Result:
    """Run all rounds. A run that did not finish is a problem and no sample: being wrong is often faster."""
    runs: defaultdict[str, list[Run]] = defaultdict(list)
    problems: list[Problem] = []
    participants = [scheduler for scheduler in schedulers if takes_part(scheduler, workload)]
    for number in range(rounds):
        turn = number % len(participants)  # the first scheduler of a round finds the machine idle
        for scheduler in (*participants[turn:], *participants[:turn]):
            label = f"{workload.name} {number + 1}/{rounds}, {scheduler.name}"
            try:
                seen = run_once(workload, scheduler)
            except BenchError as error:
                problems.append(Problem(scheduler.name, f"{label}: {str(error).splitlines()[0]}"))
                say(f"{label}: {error}")
                continue
            problems += [Problem(scheduler.name, f"{label}: {problem}") for problem in seen.problems]
            if seen.outcome.finished:
                runs[scheduler.name].append(seen)
            say(f"{label}: {_in_short(workload, scheduler, seen)}")
    return Result(workload, _figures(workload, participants, runs), problems)


def recorded(workload: Workload, schedulers: Sequence[Scheduler], figures: Mapping[str, Figure]) -> Result:
    """The recorded figures of a workload, as the result of a run."""
    found = {each.name: recorded_figures(each.name, workload, schedulers, figures) for each in measures(workload)}
    return Result(workload, found, [])


def recorded_figures(
    measure: str, workload: Workload, schedulers: Sequence[Scheduler], figures: Mapping[str, Figure]
) -> dict[str, Figure]:
    """Recorded figures by scheduler, without those of another configuration than the present one."""
    found = [(each, figures.get(figure_name(measure, workload, each.name))) for each in schedulers]
    return {each.name: one for each, one in found if one and one.configuration == each.configuration}


def run_once(workload: Workload, scheduler: Scheduler) -> Run:
    with ControlPlane() as control_plane:
        try:
            return asyncio.run(run(control_plane, NAMESPACE, workload, scheduler))
        except (*UNANSWERED, ExceptionGroup) as error:
            if isinstance(error, ExceptionGroup) and error.split(UNANSWERED)[1] is not None:
                raise  # something else went wrong as well
            raise BenchError(f"the API server did not answer the bench: {error!r}") from None


def _in_short(workload: Workload, scheduler: Scheduler, seen: Run) -> str:
    if not seen.outcome.finished:
        return "; ".join(seen.problems)
    said = [f"{each.name}: {figure(each, workload, scheduler, [seen]).written()}" for each in measures(workload)]
    writes = ", ".join(f"{count:,} {kind}" for kind, count in seen.writes.most_common())
    read = ", ".join(f"{count:,} {kind}" for kind, count in seen.reads.most_common(READS_SHOWN))
    return "; ".join([*said, f"writes: {writes}", f"reads: {read}", *seen.problems])


def _figures(
    workload: Workload, participants: Sequence[Scheduler], runs: dict[str, list[Run]]
) -> dict[str, dict[str, Figure]]:
    return {
        measure.name: {
            scheduler.name: figure(measure, workload, scheduler, runs[scheduler.name])
            for scheduler in participants
            if runs.get(scheduler.name)
        }
        for measure in measures(workload)
    }
