"""Answers about large clusters: what is not asked twice, and what is left out."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from koordpy.api.answers import RequestLowered
from koordpy.controllers.grouping.expansion import expanded
from koordpy.scheduler.answers import starts
from koordpy.scheduler.answers.answering import Answering
from koordpy.scheduler.answers.holders import holders_of
from tests.scheduler.answers.test_starts import starts as starts_of
from tests.scheduler.queues.rig import QueueRig
from tests.scheduler.test_backfill import TimedRig


def lowered_to(rig: QueueRig, name: str) -> str:
    """What would start a job that asks for less CPU."""
    built = rig.built
    answering = Answering(built.parts, built.book, built.throttle, built.schedulers, expand=expanded)
    changes = asyncio.run(answering.explain("default", name)).changes
    return next(each.to for each in changes if isinstance(each, RequestLowered))


def test_a_smaller_job_starts_beside_those_in_front_that_start_too():
    rig = QueueRig()
    rig.node("n", cpu=3)
    rig.member("large", cpu=5)
    assert lowered_to(rig, "large") == "3"
    rig.member("first", cpu=1, priority=1)
    assert lowered_to(rig, "large") == "2"


def test_a_smaller_job_does_not_wait_for_those_in_front_that_do_not_start():
    rig = QueueRig()
    rig.node("n", cpu=3)
    rig.member("large", cpu=5)
    rig.member("larger", cpu=7, priority=1)
    assert lowered_to(rig, "large") == "3"


def held(rig: QueueRig, *resources: str) -> list[tuple[str, tuple[int, ...]]]:
    within = np.ones(rig.cluster.nodes.capacity, dtype=np.bool_)
    return [(each.name, each.amounts) for each in holders_of(resources, within, (), rig.cluster)]


@pytest.fixture
def crowded() -> QueueRig:
    """Of 300 jobs every third has three CPUs, the others one; and a gang has ten pods of one."""
    rig = QueueRig()
    rig.node("n", cpu=1000)
    for number in range(300):
        rig.member(f"p-{number:03}", on="n", cpu=1 if number % 3 else 3)
    rig.gang("g", 10)
    rig.members("g", 10, on="n")
    return rig


def test_of_many_holders_the_smallest_and_the_largest_are_named_smallest_first(crowded: QueueRig):
    found = held(crowded, "cpu")
    names = [name.removeprefix("default/") for name, _ in found]
    assert names[:100] == [f"p-{number:03}" for number in range(300) if number % 3][:100]
    assert names[100:] == [*[f"p-{number:03}" for number in range(300) if not number % 3][1:], "g"]
    assert found == sorted(found, key=lambda each: (each[1], each[0]))


def test_where_nothing_is_missing_everybody_there_is_a_holder(crowded: QueueRig):
    assert len(held(crowded)) == 200


def test_looking_at_what_runs_is_not_taken_off_the_time_for_planning(monkeypatch: pytest.MonkeyPatch):
    rig = TimedRig(nodes=1)
    rig.runs("busy", "n0", 10)
    rig.pending("a", 5)
    clock, ends_of = [0.0], starts.ends_of

    def slow(*given):
        clock[0] += 3600
        return ends_of(*given)

    monkeypatch.setattr(starts, "ends_of", slow)
    monkeypatch.setattr(starts, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert starts_of(rig, "a") == {"a": ("1970-01-01T00:16:50Z", "Declared")}
