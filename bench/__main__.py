"""`python -m bench`: measure, print, record, compare with the last record."""

from __future__ import annotations

import datetime as dt
import sys
import time

import click

from bench.figures import BenchError, Figure
from bench.live import report as live_report
from bench.live import rounds
from bench.live.schedulers import SCHEDULERS
from bench.live.workloads import WORKLOADS
from bench.machine import description
from bench.planning import report as planning_report
from bench.planning import suite
from bench.record import last_figures, new_record, save


@click.command()
@click.argument("part", type=click.Choice(["all", "plan", "live"]), default="all")
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="How often each live run is made.")
@click.option("--workload", "workloads", multiple=True, type=click.Choice(list(WORKLOADS)), default=list(WORKLOADS))
@click.option("--scheduler", "schedulers", multiple=True, type=click.Choice(list(SCHEDULERS)), default=list(SCHEDULERS))
def main(part: str, runs: int, workloads: tuple[str, ...], schedulers: tuple[str, ...]) -> None:
    """Figures about planning in memory (plan), about scheduling on a real control plane (live), or both.

    With both, planning is measured with fewer samples. Linux only: it reads /proc.
    """
    if sys.platform != "linux":
        sys.exit("the bench reads what processes use from /proc, which only Linux has")
    about, last = description(), last_figures()
    figures: list[Figure] = []
    problems: list[str] = []
    for name, text in about.items():
        print(f"{name + ':':<13}{text}")
    print(f"{'date:':<13}{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC\n", flush=True)
    try:
        if part != "live":
            figures += _plan(suite.FULL if part == "plan" else suite.QUICK, last)
        if part != "plan":
            measured, problems = _live(runs, workloads, schedulers, last)
            figures += measured
    except BenchError as error:
        sys.exit(f"error: {error}")
    _end(figures, about, problems)


def _plan(sizes: suite.Sizes, last: dict[str, tuple[str, Figure]]) -> list[Figure]:
    figures = suite.run(sizes, _say)
    print(f"\n{planning_report.report(figures, last)}\n", flush=True)
    return figures


def _live(
    runs: int, workloads: tuple[str, ...], schedulers: tuple[str, ...], last: dict[str, tuple[str, Figure]]
) -> tuple[list[Figure], list[str]]:
    chosen = [WORKLOADS[name]() for name in workloads]
    results = rounds.play(chosen, [SCHEDULERS[name] for name in schedulers], runs, _say)
    print(f"\n{live_report.report(results, last)}\n", flush=True)
    return results.all_figures(), results.problems


def _end(figures: list[Figure], about: dict[str, str], problems: list[str]) -> None:
    """A run in which a scheduler did something wrong is no record: being wrong is often faster."""
    if problems:
        sys.exit("\n".join(["error: these figures are not recorded, because", *problems]))
    print(f"recorded in {save(new_record(figures, about))}")


def _say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(prog_name="python -m bench")
