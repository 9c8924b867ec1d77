"""When a job is expected to start, and how sure that is, on both API servers."""

from __future__ import annotations

import pytest

from koordpy.api.times import seconds_of_instant
from tests.scenarios.objects import gang, members
from tests.scenarios.questions import expected_start, explained, what_if
from tests.scenarios.queueing import LABEL
from tests.scenarios.test_backfill import big_waits
from tests.scenarios.test_backfill_declaring import one_busy
from tests.scenarios.world import World

pytestmark = pytest.mark.usefixtures("patient")


async def test_a_reserved_start_is_that_of_the_annotation(world: World) -> None:
    await big_waits(world)
    at = await world.reserved(gang="big", within=600)
    found = await expected_start(world, "big")
    assert (found["certainty"], found["time"]) == ("Reserved", at)


async def test_the_next_in_line_starts_when_the_reserved_one_has_run(world: World) -> None:
    await one_busy(world)
    await world.timed("first", seconds=100)
    at = await world.reserved(pod="first", within=600)
    await world.timed("second", seconds=100)
    await world.says("second", "Insufficient cpu")
    found = await expected_start(world, "second")
    assert found["certainty"] == "Declared"
    assert seconds_of_instant(found["time"]) - seconds_of_instant(at) == 100


async def test_without_reservations_a_start_is_declared_by_whom_it_waits_for(world: World) -> None:
    await world.restart(koordpy={"backfill": "Off"})
    await one_busy(world)
    await world.timed("next", seconds=100)
    await world.says("next", "Insufficient cpu")
    found = await expected_start(world, "next")
    assert (found["certainty"], found["message"]) == ("Declared", f"when {world.namespace}/busy ends")


async def test_a_job_that_declares_nothing_itself_may_have_an_expected_start(world: World) -> None:
    await one_busy(world)
    await world.pods("next", cpu=1)
    await world.says("next", "Insufficient cpu")
    assert (await expected_start(world, "next"))["certainty"] == "Declared"


async def test_who_does_not_declare_its_end_is_named(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("busy", cpu=1)
    await world.bound("busy")
    await world.pods("next", cpu=1)
    await world.says("next", "Insufficient cpu")
    found = await expected_start(world, "next")
    assert (found["certainty"], found["time"]) == ("Unknown", None)
    assert f"the end of {world.namespace}/busy is not declared" in found["message"]


async def test_behind_one_of_unknown_length_nothing_is_known(world: World) -> None:
    await one_busy(world)
    await world.pods("first", cpu=1)
    await world.says("first", "Insufficient cpu")
    await world.another_second()
    await world.pods("second", cpu=1)
    await world.says("second", "Insufficient cpu")
    assert (await expected_start(world, "second"))["certainty"] == "Unknown"


async def test_a_gang_starts_when_the_last_ends_whose_room_it_needs(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.timed("early", seconds=300)
    await world.timed("late", seconds=600)
    await world.starts_now("early", "late")
    await world.pods(*members("a", 2), annotations=gang("a", minimum=2), cpu=1)
    await world.says("a-1", "Insufficient cpu")
    assert (await expected_start(world, "a"))["message"] == f"when {world.namespace}/late ends"
    await world.pods("single", cpu=1, priority=5)
    await world.says("single", "Insufficient cpu")
    assert (await expected_start(world, "single"))["message"] == f"when {world.namespace}/early ends"


async def test_nobody_knows_when_missing_members_come(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("a-1", annotations=gang("a", minimum=2), cpu=1)
    await world.says("a-1", "1 of 2 members")
    assert (await expected_start(world, "a"))["certainty"] == "Unknown"


async def test_a_job_at_its_queues_limit_starts_when_one_of_the_queue_ends(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=1)
    await world.timed("mine", seconds=600, labels={LABEL: "a"})
    await world.starts_now("mine")
    await world.timed("next", seconds=100, labels={LABEL: "a"})
    await world.says("next", "no room below its limit")
    found = await expected_start(world, "next")
    assert (found["certainty"], found["message"]) == ("Declared", f"when {world.namespace}/mine ends")


async def test_a_job_that_runs_has_started_when_its_kubelet_says(world: World) -> None:
    await one_busy(world)
    found = (await explained(world, "busy"))["job"]["expectedStart"]
    assert (found["certainty"], found["time"]) == ("Started", world.pod("busy")["status"]["startTime"])


async def test_a_foretold_start_is_where_and_when_a_reservation_would_be(world: World) -> None:
    await one_busy(world)
    new = {"metadata": {"name": "next", "namespace": world.namespace, "annotations": {"koordpy.io/run-time": "100s"}}}
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulerName": "koord-scheduler", "containers": [container]}
    answer = await what_if(world, {"apiVersion": "v1", "kind": "Pod", "spec": spec} | new)
    (job,) = answer["jobs"]
    assert (job["verdict"], job["placement"]) == ("Later", [{"pod": f"{world.namespace}/next", "node": "n1"}])
    await world.timed("next", seconds=100)
    assert await world.reserved(pod="next", within=600) == job["start"]["time"]
