"""`python -m bench`: measure, print, record, compare with the last record."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import structlog

from bench import jobs
from bench.figures import BenchError, Figure
from bench.live import compare, rounds, schedulers, workloads
from bench.live import report as live_report
from bench.live.scheduler import Scheduler
from bench.live.schedulers import SCHEDULERS
from bench.live.workload import Workload
from bench.live.workloads import workload
from bench.machine import description
from bench.philly import backfill, fairness
from bench.planning import report as planning_report
from bench.planning import suite
from bench.record import last_figures, new_record, save
from bench.traces import DIRECTORY
from tests.controlplane.golang import BuildError
from tests.controlplane.process import StartError

Last = dict[str, tuple[str, Figure]]

_TRACES = click.option(
    "--traces",
    type=click.Path(path_type=Path),
    default=DIRECTORY,
    show_default=True,
    help="Where the traces are; without them, jobs of the same shape are made up.",
)
_JOBS = click.option(
    "--jobs", "count", type=click.IntRange(2), default=3000, show_default=True, help="How many jobs of the trace."
)


@click.group()
def main() -> None:
    """Figures about koordpy, recorded in the user's cache. Linux only: it reads /proc."""
    if sys.platform != "linux":
        sys.exit("the bench reads what processes use from /proc, which only Linux has")
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR)
    )  # of schedulers in this process


@main.command()
def quick() -> None:
    """Planning with few samples, and a few workloads once: under 10 minutes."""
    about, last = _begin()
    _plan(suite.QUICK, about, last)
    _live([workload(name) for name in workloads.QUICK], schedulers.QUICK, 1, about, last)


@main.command()
@_TRACES
def plan(traces: Path) -> None:
    """Planning in memory, without an API server."""
    about, last = _begin()
    _plan(suite.FULL, about, last, traces)


@main.command()
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="How often each run is made.")
@click.option("--workload", "names", multiple=True, type=click.Choice(workloads.NAMES), default=workloads.FULL)
@click.option(
    "--scheduler", "scheduler_names", multiple=True, type=click.Choice(list(SCHEDULERS)), default=schedulers.FULL
)
@_TRACES
def live(runs: int, names: tuple[str, ...], scheduler_names: tuple[str, ...], traces: Path) -> None:
    """Schedulers side by side on a real control plane; each workload is reported and recorded when it is done."""
    about, last = _begin()
    _live([workload(name, traces) for name in names], scheduler_names, runs, about, last)


@main.command("jobs")
@click.option("--jobs", "count", type=click.IntRange(1), default=1000, show_default=True, help="How many jobs.")
@click.option("--pods", type=click.IntRange(1), default=10, show_default=True, help="How many pods each has.")
def job_controllers(count: int, pods: int) -> None:
    """QueueJobs under koordpy beside Jobs under kube-controller-manager: time, writes, CPU, memory."""
    about, last = _begin()
    figures = []
    try:
        for contender in jobs.contenders():
            how = f", with {' '.join(contender.settings)}" if contender.settings else ""
            _say(f"{contender.name}{how}: {count} jobs of {pods} pods ...")
            figures += jobs.measure(contender, count, pods)
    except (BenchError, BuildError, StartError) as error:
        sys.exit(f"error: {error}")
    _keep(figures, "job controllers", about, last)


@main.command("backfill")
@_JOBS
@_TRACES
def backfill_on_trace(count: int, traces: Path) -> None:
    """Waits with and without backfill on the Philly trace, in virtual time; each way is recorded when it is done."""
    about, last = _begin()
    try:
        for figures in backfill.figures(traces, count, _say):
            _keep(figures, "backfill, Philly trace", about, last)
    except BenchError as error:
        sys.exit(f"error: {error}")


@main.command("fairness")
@_JOBS
@_TRACES
def fairness_on_trace(count: int, traces: Path) -> None:
    """Five queues on the Philly trace, in virtual time: what each has, beside its fair share."""
    about, last = _begin()
    try:
        _keep(fairness.figures(traces, count, _say), "five queues, Philly trace", about, last)
    except BenchError as error:
        sys.exit(f"error: {error}")


@main.command("compare")
@click.option("--against", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="How often each run is made.")
@click.option("--workload", "names", multiple=True, type=click.Choice(workloads.NAMES), default=compare.WORKLOADS)
def compare_checkouts(against: Path, runs: int, names: tuple[str, ...]) -> None:
    """koordpy of this checkout beside that of another one, in turn; nothing is recorded."""
    _begin()
    candidates = [compare.checkout(rounds.OURS, compare.ROOT), compare.checkout(compare.AGAINST, against)]
    wrong: list[str] = []
    try:
        for each in candidates:
            each.built()
        for name in names:
            result = rounds.run_rounds(workload(name), candidates, runs, _say)
            print(f"\n{compare.report(result)}\n", flush=True)
            wrong += [problem.text for problem in result.problems]
    except (BenchError, BuildError, StartError) as error:
        sys.exit(f"error: {error}")
    if wrong:
        sys.exit("\n".join(["error: not every run was right:", *wrong]))


@main.command()
@_TRACES
def show(traces: Path) -> None:
    """Print the tables again, from the newest record of each figure."""
    recorded = {name: figure for name, (_, figure) in last_figures().items()}
    for name in workloads.NAMES:
        result = rounds.recorded(workload(name, traces), list(SCHEDULERS.values()), recorded)
        if result.all_figures():
            print(f"{live_report.report(result, {})}\n")


@main.command()
@click.option("--to", "directory", type=click.Path(path_type=Path, file_okay=False), default="docs", show_default=True)
def plot(directory: Path) -> None:
    """Draw the newest record of each figure, where there is one: benchmarks.png, planning.png, philly.png."""
    from bench import plot as drawing  # noqa: PLC0415 - only this needs matplotlib
    from bench.philly import plot as philly  # noqa: PLC0415

    last = last_figures()
    figures = {name: figure for name, (_, figure) in last.items()}
    shown = {name for panel in drawing.PANELS for name in (each.name for each in drawing.bars(panel, figures).values())}
    where = drawing.caption((last[name][0] for name in shown), description()["machine"]) if shown else ""
    _draw(directory / "benchmarks.png", lambda path: drawing.draw_schedulers(figures, path, where))
    _draw(directory / "planning.png", lambda path: drawing.draw_growth(figures, path))
    _draw(directory / "philly.png", lambda path: philly.draw(last, path))


def _draw(path: Path, draw: Callable[[Path], None]) -> None:
    try:
        draw(path)
    except BenchError as error:
        print(f"{path} is left as it is: {error}")
    else:
        print(f"drawn: {path}")


@main.command()
@click.option("--to", "directory", type=click.Path(path_type=Path, file_okay=False), default="docs", show_default=True)
def pictures(directory: Path) -> None:
    """Play two stories on a cluster in memory, and draw what was seen: queues.png and backfill.png (3 minutes)."""
    from bench.pictures import gantt, shares  # noqa: PLC0415 - only these need matplotlib

    directory.mkdir(parents=True, exist_ok=True)
    shares.draw(asyncio.run(shares.play()), directory / "queues.png")
    gantt.draw(asyncio.run(gantt.play()), directory / "backfill.png")
    print(f"drawn: {directory / 'queues.png'}, {directory / 'backfill.png'}")


def _begin() -> tuple[dict[str, str], Last]:
    about = description()
    for name, text in about.items():
        print(f"{name + ':':<13}{text}")
    print(f"{'date:':<13}{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC\n", flush=True)
    return about, last_figures()


def _plan(sizes: suite.Sizes, about: dict[str, str], last: Last, traces: Path = DIRECTORY) -> None:
    try:
        figures = suite.run(sizes, _say, traces)
    except BenchError as error:
        sys.exit(f"error: {error}")
    _keep(figures, "planning, in memory", about, last)


def _keep(figures: list[Figure], title: str, about: dict[str, str], last: Last) -> None:
    print(f"\n{planning_report.report(figures, last, title)}\n")
    print(f"recorded in {save(new_record(figures, about))}\n", flush=True)


def _live(chosen: list[Workload], names: tuple[str, ...], runs: int, about: dict[str, str], last: Last) -> None:
    ready = _ready([SCHEDULERS[name] for name in names])
    wrong: list[str] = []
    for each in chosen:
        try:
            result = rounds.run_rounds(each, ready, runs, _say)
        except (BuildError, StartError) as error:
            sys.exit(f"error: {error}")
        print(f"\n{live_report.report(result, last)}\n", flush=True)
        ours = [problem.text for problem in result.problems if problem.scheduler == rounds.OURS]
        wrong += ours
        if not ours:
            notes = tuple(problem.text for problem in result.problems)
            print(f"recorded in {save(new_record(result.all_figures(), about, notes))}\n", flush=True)
    if wrong:
        sys.exit("\n".join(["error: the figures of these workloads are not recorded, because", *wrong]))


def _ready(candidates: list[Scheduler]) -> list[Scheduler]:
    """Those that are there or can be built: without Go, koordpy is compared with its own last record."""
    ready = []
    for scheduler in candidates:
        try:
            scheduler.built()
        except BuildError as error:
            _say(f"{scheduler.name} is left out: {error}")
            continue
        ready.append(scheduler)
    return ready


def _say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(prog_name="python -m bench")
