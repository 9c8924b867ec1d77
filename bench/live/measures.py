"""What is measured of a run, as numbers. A new measure is a line in one of the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.figures import Figure, percentile
from bench.live.run import Run
from bench.live.workloads import Workload


@dataclass(frozen=True)
class Measure:
    """`more_is_better` None: neither, such as a number of writes."""

    name: str
    unit: str
    of: Callable[[Run], float]
    more_is_better: bool = False


def _first_to_last(run: Run) -> float:
    times = sorted(run.bound.values())
    return (len(times) - 1) / max(times[-1] - times[0], 1e-9)


def _from_start(run: Run) -> float:
    return len(run.bound) / (max(run.bound.values()) - run.started)


def _first_bind(run: Run) -> float:
    return min(run.bound.values()) - run.started


def _waits(run: Run) -> tuple[float, ...]:
    """Milliseconds from creation to bind of every pod that came after the scheduler was up."""
    return tuple((at - run.created[name]) * 1000 for name, at in run.bound.items() if run.created[name] > run.started)


def _writes_per_pod(run: Run) -> float:
    return run.writes.total() / len(run.bound)


_COST = (
    Measure("CPU of the scheduler", "s", lambda run: run.cpu_s),
    Measure("CPU of the scheduler per pod", "ms", lambda run: run.cpu_s * 1000 / len(run.bound)),
    Measure("peak memory of the scheduler", "MB", lambda run: run.peak_mb),
    Measure("API writes per pod", "", _writes_per_pod),
    Measure("CPU of etcd and kube-apiserver", "s", lambda run: run.control_plane_cpu_s),
)
BURST = (
    Measure("pods/s, first to last bind", "", _first_to_last, more_is_better=True),
    Measure("pods/s, from process start", "", _from_start, more_is_better=True),
    Measure("process start to first bind", "s", _first_bind),
    Measure("process start to last write", "s", lambda run: run.quiet - run.started),
    *_COST,
)
STREAM = (
    Measure("wait of a pod, median", "ms", lambda run: percentile(_waits(run), 50)),
    Measure("wait of a pod, 99 of 100", "ms", lambda run: percentile(_waits(run), 99)),
    *_COST,
)


def measures(workload: Workload) -> tuple[Measure, ...]:
    return BURST if workload.per_second is None else STREAM


def figure(measure: Measure, workload: Workload, scheduler: str, runs: list[Run]) -> Figure:
    """One sample for each run."""
    name = f"{workload.title}, {scheduler}, {measure.name}"
    return Figure(name, measure.unit, tuple(measure.of(run) for run in runs))
