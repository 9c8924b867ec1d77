"""The live benches on tiny workloads and the real control plane: every scheduler works, and is seen to."""

import asyncio
import sys

import pytest

from bench.figures import BenchError
from bench.live import network
from bench.live.compare import ROOT, checkout
from bench.live.measures import figure, measures
from bench.live.report import report
from bench.live.rounds import Result
from bench.live.run import Run, run
from bench.live.scheduler import Scheduler
from bench.live.schedulers import SCHEDULERS
from bench.live.workload import Workload
from bench.live.workloads import (
    basic,
    gangs,
    gangs_in_queues,
    grouped,
    never_fits,
    preempt,
    reclaim,
    streaming,
    topology,
)
from tests.controlplane.fixtures import Real

pytestmark = pytest.mark.real

BASIC = basic(node_count=4, pods=40)
TINY = (
    BASIC,
    gangs(4, 10, 4),
    streaming(count=4, size=10, node_count=4, per_second=20),
    preempt(node_count=4, size=2),
    never_fits(node_count=4, count=2, size=4),
    topology(count=2, size=4, cluster=network.nodes(2, 1, 2, 2)),
    gangs_in_queues(count=4, size=10, node_count=4, queue_count=2),
    reclaim(node_count=4, size=4),
)
# Of the others, one workload: they cost seconds each, and the peers take long to build.
COMBINATIONS = [
    *((workload, SCHEDULERS["koordpy"]) for workload in TINY),
    *((BASIC, SCHEDULERS[name]) for name in ("kube-scheduler", "bare client")),
    (BASIC, checkout("against", ROOT)),
]


@pytest.mark.parametrize(
    ("workload", "scheduler"), COMBINATIONS, ids=[f"{workload.name}-{s.name}" for workload, s in COMBINATIONS]
)
async def test_a_run_sees_every_pod_bound_and_what_it_cost(real: Real, workload: Workload, scheduler: Scheduler):
    seen = await run(real.control_plane, real.namespace, workload, scheduler)
    assert seen.problems == []
    assert seen.bound.keys() == workload.must_bind <= seen.created.keys()
    assert all(seen.started < bound <= seen.quiet for bound in seen.bound.values())
    assert seen.writes["POST pods/binding"] >= len(workload.must_bind)
    assert seen.outcome.evicted == workload.least_evictions
    assert 10 < seen.peak_mb < 2_000
    assert all(measure.of(seen) > 0 for measure in measures(workload))


async def test_a_grouper_makes_gangs_of_jobs_and_its_requests_and_cpu_are_seen(real: Real):
    workload = grouped(count=2, size=4, node_count=4)
    try:
        seen = await run(real.control_plane, real.namespace, workload, SCHEDULERS["koordpy"])
    finally:  # where they are, pods of other tests would wait for a grouper, and their jobs be checked
        (await real.client.delete("leases", "koordpy-podgrouper", namespace="kube-system")).ok()
        await _remove_definition(real, "pytorchjobs.kubeflow.org")
    assert seen.problems == []
    assert seen.writes["POST podgroups"] == len(workload.gangs)
    assert seen.writes["PATCH pods"] == workload.pods
    assert seen.reads["GET pytorchjobs"] <= len(workload.gangs)
    assert 0 < seen.grouper_cpu_s < seen.cpu_s


async def _remove_definition(real: Real, name: str) -> None:
    (await real.client.delete("customresourcedefinitions", name)).ok()
    async with asyncio.timeout(60):
        while True:
            if (await real.client.get("customresourcedefinitions", name)).status == 404:
                return
            await asyncio.sleep(0.1)


async def test_a_scheduler_that_exits_ends_the_run_with_the_end_of_its_log(real: Real):
    dying = Scheduler("dying", lambda _: [sys.executable, "-c", "import sys; sys.exit('no licence')"])
    with pytest.raises(BenchError, match=r"dying has ended(.|\n)*no licence"):
        await run(real.control_plane, real.namespace, BASIC, dying)


async def test_the_report_shows_schedulers_side_by_side_their_ratio_and_the_share_of_the_ceiling(real: Real):
    seen = await run(real.control_plane, real.namespace, BASIC, SCHEDULERS["bare client"])
    written = report(_result({"koordpy": seen, "bare client": seen}), {})
    assert "of what a bare client gets" in written
    assert "100%" in written
    assert written.count("1.00x") == len(measures(BASIC))
    assert "bare client: 32 connections" in written.splitlines()


def _result(seen: dict[str, Run]) -> Result:
    figures = {
        m.name: {name: figure(m, BASIC, SCHEDULERS[name], [one]) for name, one in seen.items()} for m in measures(BASIC)
    }
    return Result(BASIC, figures, [])
