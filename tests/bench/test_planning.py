"""The planning benches on tiny sizes: that they measure what they say. How fast it is, no test asks."""

import pytest

from bench.figures import BenchError, Figure
from bench.planning import gathering, growth, latency, memory, wakeups
from bench.planning.report import report
from bench.planning.suite import Sizes, run

TINY = Sizes(
    plain_nodes=(20, 40),
    attempts=10,
    neighbour_nodes=120,
    neighbour_pods=300,
    loaded_nodes=5,
    loaded_pods=1_100,
    unschedulable=30,
    full_nodes=5,
    events=2,
    growth_nodes=(10, 20),
    growth_gang=4,
    growth_sizes=(1, 8),
    growth_cluster=15,
    growth_attempts=2,
    evicting_nodes=20,
    evicting_gang=5,
    evicting_attempts=2,
    fabric_nodes=40,
    fabric_gangs=(2, 16),
    queues=((6, 2),),
    asked_nodes=(10,),
    questions=2,
    reserving_nodes=10,
    reserving_gang=4,
    network_nodes=48,
    gangs=20,
)


def test_every_planning_bench_runs_and_has_figures_of_its_own(tmp_path):
    figures = run(TINY, lambda _: None, traces=tmp_path)
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names)
    may_be_none = ("attempts", "%")
    assert all(figure.value > 0 for figure in figures if not f"{figure.name}{figure.unit}".endswith(may_be_none))


def test_every_attempt_is_a_sample():
    assert [len(figure.samples) for figure in latency.plain(20, attempts=10)] == [10, 10]


def test_planning_figures_carry_their_targets():
    figures = [*latency.plain(20, 1), *latency.neighbours(120, 300, 1), memory.figures(5, 10)[0]]
    assert [figure.target for figure in figures] == [0.5, 0.5, 2.0, 2.0, 400]


def test_a_bench_whose_pods_do_not_fit_is_an_error_and_no_figure():
    with pytest.raises(BenchError, match="was refused: 0/4 nodes are available"):
        latency.neighbours(nodes=4, pods=0, attempts=50)


def test_a_gang_that_does_not_fit_is_an_error_and_no_figure():
    with pytest.raises(BenchError, match="a gang of 500 was to be placed, and was refused"):
        growth.by_nodes((1,), size=500, attempts=1)


def test_each_sample_of_growth_finds_the_same_room():
    (figure,) = growth.by_nodes((2,), size=200, attempts=3)  # two nodes hold no more than 220 pods
    assert (figure.name, len(figure.samples)) == ("plan a gang of 200 on 2 nodes", 3)


def test_memory_is_measured_with_everything_loaded():
    loaded = memory.load(nodes=5, pods=1_100)
    assert min(loaded.rss_mb, loaded.empty_mb) > 10  # in a process that has run tests, it may shrink meanwhile
    assert 1_500 < loaded.bytes_per_pod < 3_000


def test_a_gathered_gang_that_does_not_fit_is_an_error_and_no_figure():
    with pytest.raises(BenchError, match="was refused: 0/8 nodes are available: no domain holds the whole job"):
        gathering.figures(nodes=8, sizes=(17,), attempts=1)


@pytest.mark.parametrize("shapes", [1, 30])
def test_an_event_without_room_for_any_pod_activates_none(shapes: int):
    full = wakeups.FullCluster(nodes=5)
    full.add_unschedulable(30, shapes, wakeups.TOO_MUCH_M)
    assert [attempts for _, attempts in full.events(3)] == [0, 0, 0]


def test_room_for_one_activates_one_of_a_shape_and_the_next_when_that_one_is_placed():
    full = wakeups.FullCluster(nodes=5)
    full.add_unschedulable(30, 1, wakeups.FITS_ONE_M)
    assert [attempts for _, attempts in full.events(3)] == [2, 2, 2]


def test_unschedulable_pods_that_find_room_are_an_error():
    full = wakeups.FullCluster(nodes=5)
    list(full.events(1))
    with pytest.raises(BenchError, match="29 of 30 pods are parked"):
        full.add_unschedulable(30, 1, wakeups.FITS_ONE_M)


def test_the_report_shows_targets_and_the_last_run():
    figure = Figure("plan", "ms", (1.0,), target=0.5)
    row = report([figure], {"plan": ("2026-01-01", Figure("plan", "ms", (4.0,)))}).splitlines()[-1]
    assert [cell.strip() for cell in row.strip("| ").split("|")] == ["plan", "1 ms", "0.50", "2.00x", "4", "0.25x"]
