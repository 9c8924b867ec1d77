"""The measures of a run. A new measure is a line in one of the tables."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from bench.figures import Figure, percentile
from bench.live.network import GPU, placement_score
from bench.live.run import Run
from bench.live.scheduler import Scheduler
from bench.live.workload import Arrival, Workload


@dataclass(frozen=True)
class Measure:
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


def _last_bind(run: Run) -> float:
    return max(run.bound.values()) - run.started


def gang_waits(run: Run) -> tuple[float, ...]:
    """Seconds from the request for the last member until the last bind, of each complete gang."""
    waits = []
    for gang in run.workload.fitting:
        names = gang.member_names()
        if all(name in run.bound for name in names):
            waits.append(max(run.bound[n] for n in names) - max(run.created[n] for n in names))
    return tuple(waits)


def _gang_start(run: Run, percent: float) -> float:
    """Seconds from the start of the process until a gang is complete."""
    gangs = [gang.member_names() for gang in run.workload.fitting]
    complete = [max(run.bound[n] for n in names) - run.started for names in gangs if all(n in run.bound for n in names)]
    return percentile(tuple(complete), percent)


def _wait(percent: float) -> Callable[[Run], float]:
    return lambda run: percentile(gang_waits(run), percent) * 1000


def _makespan(run: Run) -> float:
    """From the request for the first pod until the last completes, or is bound if none completes."""
    first = min(at for name, at in run.created.items() if name in run.workload.must_bind)
    return max((run.completed or run.bound).values()) - first


def _utilisation(run: Run) -> float:
    """The share of all GPUs over the makespan that pods had, from their bind to their completion."""
    asked = {name: int(gang.requests.get(GPU, 0)) for gang in run.workload.gangs for name in gang.member_names()}
    used = sum(asked[name] * (end - run.bound[name]) for name, end in run.completed.items())
    there = sum(int(node["status"]["allocatable"].get(GPU, 0)) for node in run.workload.nodes)
    return 100 * used / (there * _makespan(run))


def _per_pod(run: Run) -> float:
    return run.cpu_s * 1000 / len(run.bound)


def _steady(run: Run) -> float:
    """Seconds from the request for the last pod until the last bind or eviction."""
    return max(*run.bound.values(), run.last_eviction) - max(run.created[name] for name in run.bound)


def _per_job(count: Callable[[Run], int]) -> Callable[[Run], float]:
    return lambda run: count(run) / len(run.workload.fitting)


def _group_writes(run: Run) -> int:
    return sum(count for name, count in run.writes.items() if name.endswith(" podgroups"))


def _writes_before_bind(run: Run) -> float:
    """To each pod, and to objects that are made for it."""
    asked = ("PATCH pods", "PUT pods", "APPLY pods", "POST bindrequests")
    return sum(run.writes[name] for name in asked) / len(run.bound)


_COST = (
    Measure("CPU of the scheduler", "s", lambda run: run.cpu_s),
    Measure("CPU of the scheduler per pod", "ms", _per_pod),
    Measure("peak memory of the scheduler", "MB", lambda run: run.peak_mb),
    Measure("API writes per pod", "", lambda run: run.writes.total() / len(run.bound)),
    Measure("CPU of etcd and kube-apiserver", "s", lambda run: run.control_plane_cpu_s),
)
# The rate that is quoted. Its clock starts with the process, so that it includes all work.
RATE = Measure("pods/s, process start to last bind", "", _from_start, more_is_better=True)
BEFORE = (
    RATE,
    Measure("pods/s, first to last bind", "", _first_to_last, more_is_better=True),
    Measure("process start to first bind", "s", _first_bind),
    Measure("process start to last bind", "s", _last_bind),
    Measure("process start to last write", "s", lambda run: run.quiet - run.started),
    Measure("process start to a whole gang, median", "s", lambda run: _gang_start(run, 50)),
)
STREAM = (
    Measure("wait of a gang, median", "ms", _wait(50)),
    Measure("wait of a gang, 99 of 100", "ms", _wait(99)),
)
GROUPED = (
    Measure("API reads per workload", "", _per_job(lambda run: run.reads.total())),
    Measure("writes of PodGroups per workload, without status", "", _per_job(_group_writes)),
    Measure("API writes per pod before its bind", "", _writes_before_bind),
    Measure("CPU of the grouper", "s", lambda run: run.grouper_cpu_s),
)
RECLAIM = Measure("last pod made to last bind or eviction", "s", _steady)
AT_ONCE = (
    Measure("last member made to last bound", "s", lambda run: max(gang_waits(run))),
    Measure("evictions", "", lambda run: run.outcome.evicted),
)
SCORE = Measure(
    "placement score",
    "",
    lambda run: placement_score(run.workload.fitting, run.outcome.node_of, run.workload.nodes),
    more_is_better=True,
)
TRACE = (
    Measure("makespan", "s", _makespan),
    Measure("wait of a gang, mean", "s", lambda run: statistics.fmean(gang_waits(run))),
    Measure("wait of a gang, 99 of 100", "s", lambda run: percentile(gang_waits(run), 99)),
)
UTILISATION = Measure("GPUs in use, mean", "%", _utilisation, more_is_better=True)
_BY_ARRIVAL = {Arrival.BEFORE: BEFORE, Arrival.STREAM: STREAM, Arrival.AT_ONCE: AT_ONCE}


def measures(workload: Workload) -> tuple[Measure, ...]:
    gathered = (SCORE,) if any(gang.gather for gang in workload.gangs) else ()
    if workload.name.startswith("trace"):
        ends = any(gang.lasts < math.inf for gang in workload.gangs)
        return (*TRACE, *((UTILISATION,) if ends else ()), *gathered, *_COST)
    reclaim = (RECLAIM,) if workload.queues and workload.least_evictions else ()
    grouped = GROUPED if workload.has_jobs else ()
    return (*_BY_ARRIVAL[workload.arrival], *reclaim, *gathered, *grouped, *_COST)


def figure_name(measure: str, workload: Workload, scheduler: str) -> str:
    """With everything that matters for comparing it."""
    return f"{workload.title}, {scheduler}, {measure}"


def figure(measure: Measure, workload: Workload, scheduler: Scheduler, runs: list[Run]) -> Figure:
    """One sample for each run."""
    name = figure_name(measure.name, workload, scheduler.name)
    samples = tuple(measure.of(run) for run in runs)
    return Figure(name, measure.unit, samples, configuration=scheduler.configuration)
