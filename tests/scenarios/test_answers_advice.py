"""The end of a waiting job's message: what would start it, and when it is expected to start. On both API servers."""

from __future__ import annotations

import pytest

from koordpy.scheduler.answers import advisor, explaining
from koordpy.scheduler.report import advice
from tests.scenarios.objects import condition
from tests.scenarios.test_answers_jobs import explained
from tests.scenarios.world import World


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice comes at once, and however slow the machine is, all changes are tried."""
    monkeypatch.setattr(explaining, "BUDGET_S", 60.0)
    monkeypatch.setattr(advisor, "_LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(advisor, "_SHARE", 1.0)
    monkeypatch.setattr(advice, "_FIRST_S", 0.1)
    monkeypatch.setattr(advice, "_TRIED_AGAIN_S", 0.1)


async def notebook_is_in_the_way(world: World, **given: object) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("notebook", cpu=2, **given)
    await world.bound("notebook")


async def test_a_message_ends_in_what_would_start_the_job(world: World) -> None:
    await notebook_is_in_the_way(world)
    await world.pods("a", cpu=2)
    await world.says("a", "Insufficient cpu")
    await world.says("a", "; would start if {ns}/notebook ended")


async def test_a_message_ends_in_the_expected_start(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.timed("notebook", seconds=600, cpu=2)
    await world.starts_now("notebook")
    await world.pods("a", cpu=2)
    await world.says("a", "; would start if {ns}/notebook ended; expected start ")


async def test_the_condition_the_event_and_the_explanation_say_the_same(world: World) -> None:
    await notebook_is_in_the_way(world)
    await world.pods("a", cpu=2)
    await world.says("a", "; would start if {ns}/notebook ended")
    said = condition(world.pod("a"))["message"]
    await world.event("FailedScheduling", pod="a", text=said)
    answer = await explained(world, "a")
    assert answer["job"]["message"] == said


async def test_a_gang_and_its_object_are_told_too(world: World) -> None:
    await notebook_is_in_the_way(world)
    await world.kai("g", 2)
    await world.kai_pods("g-1", "g-2", gang="g", cpu=1)
    await world.all_say("; would start if {ns}/notebook ended", "g-1", "g-2")
    about = ("PodGroup", "g")
    await world.event("FailedScheduling", about=about, text="; would start if {ns}/notebook ended")


async def test_advice_outlives_a_restart_of_the_scheduler(world: World) -> None:
    await notebook_is_in_the_way(world)
    await world.pods("a", cpu=2)
    await world.says("a", "; would start if {ns}/notebook ended")
    before = world.pod("a")["metadata"]["resourceVersion"]
    await world.restart()
    await world.caught_up()
    await world.stays(lambda: world.pod("a")["metadata"]["resourceVersion"] == before, "a is told nothing new")


async def test_a_job_that_needs_no_change_is_given_no_advice(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("a", cpu=2)
    await world.bound("a")
    assert condition(world.pod("a")).get("message", "") == ""


async def test_a_refusal_that_others_have_made_untrue_is_said_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advisor, "_OLD_S", 0.5)
    await world.nodes(2, cpu=2)
    await world.pods("notebook", cpu=2)
    await world.bound("notebook")
    await world.kai("g", 2)
    await world.kai_pods("g-1", "g-2", gang="g", cpu=2)
    await world.all_say("1 of 2 members fit", "g-1", "g-2")
    await world.pods("other", cpu=2)  # takes the room that the message counts, and wakes nobody
    await world.bound("other")
    await world.all_say("0/2 nodes are available: 2 Insufficient cpu. gang {ns}/g: 0 of 2 members fit", "g-1", "g-2")
