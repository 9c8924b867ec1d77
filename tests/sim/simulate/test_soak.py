"""What a soak calls growing, and that its load fills the nodes."""

from __future__ import annotations

import random

import pytest

from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.sim.simulate.sizes import Hour, grown, is_judged, sizes
from koordpy.sim.simulate.soak import soak
from koordpy.sim.simulate.soakload import LOAD, NODE_CPUS, Submissions


def hours(*given: tuple[float, int]) -> list[Hour]:
    return [Hour(memory_mb, 0, {"queue": size}) for memory_mb, size in given]


def test_what_is_as_large_in_the_last_third_as_in_the_middle_one_has_not_grown():
    assert grown(hours((50, 0), (100, 9000), (104, 9100))) == []


def test_memory_that_is_larger_by_more_than_a_twentieth_has_grown():
    assert grown(hours((50, 0), (100, 0), (106, 0))) == ["memory grew from 100 to 106 MB"]


def test_a_structure_with_ever_more_entries_has_grown():
    assert grown(hours((50, 0), (50, 9000), (50, 18000))) == ["queue grew from 9000 to 18000 entries"]


def test_what_forgets_its_oldest_entries_may_fill_up():
    told = [Hour(50, 0, {"scheduler._events._recent": size}) for size in (0, 1000, 4000)]
    assert grown(told) == []


def test_two_hours_are_too_short_to_say_what_grows():
    assert not is_judged(hours((50, 0), (50, 0)))
    assert is_judged(hours((50, 0), (50, 0), (50, 0)))


def test_sizes_are_found_behind_tuples_and_methods_and_with_what_is_inside():
    queue: WorkQueue[str] = WorkQueue()
    queue._held.add("a")
    queue._timers = {"a": [1, 2, 3]}  # type: ignore[dict-item]
    found = sizes((queue.add,), "it")
    assert (found["it[0]._held"], found["it[0]._timers"]) == (1, 4)


@pytest.mark.parametrize("nodes", [10, 50, 1000])
def test_what_is_submitted_in_an_hour_asks_for_most_of_the_nodes(nodes: int):
    submissions = Submissions(nodes, random.Random(1))
    drawn = [submissions.draw() for _ in range(20_000)]
    work = sum(job.members * job.ask["cpu"] * job.ask["run_s"] for job in drawn) / len(drawn)
    assert work * submissions.an_hour / (nodes * NODE_CPUS * 3600) == pytest.approx(LOAD, rel=0.05)
    assert max(job.members for job in drawn) * 2 >= nodes * NODE_CPUS // 8


@pytest.mark.random
def test_a_short_soak_says_that_it_was_too_short():
    told: list[str] = []
    assert soak(1, 3, told.append) == 0
    assert "too short to say whether anything grows: that takes 3 hours" in told
