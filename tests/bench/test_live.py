"""The live benches on tiny workloads and the real control plane: every scheduler works, and is seen to."""

import sys

import pytest

from bench.figures import BenchError
from bench.live.measures import figure, measures
from bench.live.report import report
from bench.live.rounds import Results
from bench.live.run import Run, run
from bench.live.schedulers import SCHEDULERS, Scheduler
from bench.live.workloads import Workload, basic, streaming
from tests.controlplane.fixtures import Real

pytestmark = pytest.mark.real

BASIC = basic(nodes=4, pods=40)
STREAMING = streaming(nodes=4, pods=40, per_second=100)
EVERY_COMBINATION = [
    pytest.param(workload, scheduler, id=f"{workload.name}-{scheduler.name}")
    for workload in (BASIC, STREAMING)
    for scheduler in SCHEDULERS.values()
    if scheduler.streams or workload.per_second is None
]


@pytest.mark.parametrize(("workload", "scheduler"), EVERY_COMBINATION)
async def test_a_run_sees_every_pod_bound_and_what_it_cost(real: Real, workload: Workload, scheduler: Scheduler):
    seen = await run(real.control_plane, real.namespace, workload, scheduler)
    assert seen.problems == []
    assert seen.bound.keys() == seen.created.keys() == {pod["metadata"]["name"] for pod in workload.pods}
    assert all(seen.started < bound <= seen.quiet for bound in seen.bound.values())
    assert seen.writes["POST pods/binding"] == 40
    assert 10 < seen.peak_mb < 2_000
    assert all(measure.of(seen) > 0 for measure in measures(workload))


async def test_a_scheduler_that_dies_ends_the_run_with_its_last_words(real: Real):
    dying = Scheduler("dying", lambda _: [sys.executable, "-c", "import sys; sys.exit('no licence')"])
    with pytest.raises(BenchError, match=r"dying has ended(.|\n)*no licence"):
        await run(real.control_plane, real.namespace, BASIC, dying)


async def test_the_report_shows_schedulers_side_by_side_and_their_ratio(real: Real):
    seen = await run(real.control_plane, real.namespace, BASIC, SCHEDULERS["bare client"])
    header, _, *rows = report(_results({"koordpy": seen, "bare client": seen}), {}).splitlines()
    assert "koordpy / bare client" in header
    assert len(rows) == len(measures(BASIC))
    assert all("1.00x" in row for row in rows)


def _results(seen: dict[str, Run]) -> Results:
    figures = {m.name: {name: figure(m, BASIC, name, [one]) for name, one in seen.items()} for m in measures(BASIC)}
    return Results([BASIC], {"basic": figures}, [])
