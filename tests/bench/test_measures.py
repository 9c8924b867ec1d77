"""Measures of a run that are more than one number of it."""

from collections import Counter
from typing import Any

from bench.live.measures import RECLAIM, measures
from bench.live.run import Run
from bench.live.verdict import Outcome
from bench.live.workload import Workload
from bench.live.workloads import gangs, grouped, reclaim


def _run(workload: Workload, **seen: Any) -> Run:
    nothing = {
        "started": 0.0, "quiet": 0.0, "created": {}, "bound": {}, "completed": {}, "last_eviction": 0.0,
        "outcome": Outcome({}, 0, True, []), "cpu_s": 0.0, "grouper_cpu_s": 0.0, "peak_mb": 0.0,
        "control_plane_cpu_s": 0.0, "writes": Counter(), "reads": Counter(),
    }  # fmt: skip
    return Run(workload, **(nothing | seen))


def _value(run: Run, name: str) -> float:
    (measure,) = [each for each in measures(run.workload) if each.name.startswith(name)]
    return measure.of(run)


def test_the_steady_state_is_reached_with_the_last_bind_or_the_last_eviction():
    seen = {"created": {"a": 1.0, "b": 2.0}, "bound": {"a": 5.0, "b": 6.0}}
    assert RECLAIM.of(_run(reclaim(4, 2), **seen, last_eviction=3.0)) == 4.0
    assert RECLAIM.of(_run(reclaim(4, 2), **seen, last_eviction=9.0)) == 7.0


def test_requests_for_jobs_are_counted_by_job_and_by_pod():
    run = _run(
        grouped(count=2, size=2, node_count=4),
        bound=dict.fromkeys(("a", "b", "c", "d"), 1.0),
        reads=Counter({"GET pytorchjobs": 2, "LIST pods": 2}),
        writes=Counter(
            {"POST podgroups": 2, "PATCH podgroups": 1, "PATCH podgroups/status": 9, "PATCH pods": 4}
            | {"POST bindrequests": 4, "POST pods/binding": 4, "PATCH pods/status": 7}
        ),
    )
    assert _value(run, "API reads per workload") == 2.0
    assert _value(run, "writes of PodGroups per workload") == 1.5
    assert _value(run, "API writes per pod before its bind") == 2.0


def test_only_workloads_of_jobs_and_queues_have_their_measures():
    plain = {each.name for each in measures(gangs(2, 2, 4))}
    assert not {each for each in plain if "PodGroups" in each or "grouper" in each or "eviction" in each}
