"""A job that waits never loses its explanation, however long it waits; and nobody is left without one."""

from __future__ import annotations

import asyncio

from tests.builders import Json
from tests.scenarios.objects import condition, gang, members
from tests.scenarios.world import World

HALF_AN_HOUR = 1800


def warnings(world: World, **about: str) -> list[Json]:
    return world.events("FailedScheduling", **about)


async def test_warnings_are_repeated_every_half_hour_while_a_gang_waits(virtual: World) -> None:
    await virtual.nodes(1, cpu=1)
    await virtual.pod_group("a", minimum=2)
    await virtual.pods("a-1", "a-2", gang="a", cpu=1)
    await virtual.says("a-1", "; would start if ")  # what would start it is added to the message once
    pod, gang = len(warnings(virtual, pod="a-1")), len(warnings(virtual, pod_group="a"))
    for times in (1, 2):
        await asyncio.sleep(HALF_AN_HOUR + 5)
        assert len(warnings(virtual, pod="a-1")) == pod + times
        assert len(warnings(virtual, pod_group="a")) == gang + times


async def test_warnings_are_repeated_in_time_after_a_restart(virtual: World) -> None:
    await virtual.nodes(1, cpu=1)
    await virtual.pods("p", cpu=2)
    await virtual.says("p", "Insufficient cpu")
    await asyncio.sleep(HALF_AN_HOUR - 60)
    await virtual.restart()
    before = len(warnings(virtual, pod="p"))
    await asyncio.sleep(HALF_AN_HOUR - 60)
    assert len(warnings(virtual, pod="p")) == before + 1


async def test_nothing_is_repeated_about_a_gang_that_has_started(virtual: World) -> None:
    await virtual.nodes(1, cpu=1)
    await virtual.pod_group("a", minimum=2)
    await virtual.pods("a-1", "a-2", gang="a", cpu=1)
    await virtual.says("a-1", "1 of 2 members fit")
    await virtual.node("n2", cpu=1)
    await virtual.bound("a-1", "a-2")
    before = len(warnings(virtual, pod="a-1")), len(warnings(virtual, pod_group="a"))
    await asyncio.sleep(2 * HALF_AN_HOUR)
    assert (len(warnings(virtual, pod="a-1")), len(warnings(virtual, pod_group="a"))) == before


async def test_a_message_that_became_untrue_is_renewed(virtual: World) -> None:
    """Others took the room that it was told of; nothing wakes it, since nothing got better."""
    await virtual.nodes(3, cpu=1)
    await virtual.runs("other", "n1", cpu=1)
    await virtual.pod_group("a", minimum=3)
    await virtual.pods(*members("a", 3), gang="a", cpu=1)
    await virtual.says("a-1", "2 of 3 members fit")
    await virtual.pods("p", cpu=1)
    await virtual.bound("p")
    await asyncio.sleep(90)
    await virtual.says("a-1", "1 of 3 members fit")


async def test_advice_stands_beside_counts_of_its_own_time(virtual: World) -> None:
    """What the job was told at first has become untrue by the time that somebody thinks about it."""
    await virtual.nodes(3, cpu=1)
    await virtual.runs("other", "n1", cpu=1)
    await virtual.pod_group("a", minimum=3)
    await virtual.pods(*members("a", 3), gang="a", cpu=1)
    await virtual.says("a-1", "2 of 3 members fit")
    await asyncio.sleep(3)
    await virtual.pods("p", cpu=1)
    await virtual.bound("p")
    await virtual.says("a-1", "; would start if ")
    assert "1 of 3 members fit" in condition(virtual.pod("a-1"))["message"]


async def test_a_gang_by_annotations_without_a_minimum_is_warned_about(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("a-1", annotations=gang("a"), cpu=1)
    text = f"gang {world.namespace}/a has no minimum: no member carries a legal "
    await world.event("InvalidGangSpec", pod="a-1", text=text)
    await world.says("a-1", text)


async def test_a_member_that_eviction_cannot_help_is_named_with_what_it_lacks(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.runs("low-1", "n1", cpu=1)
    await world.runs("low-2", "n2", cpu=1)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", gang="a", cpu=1)
    await world.urgent("a-2", gang="a", cpu=1, claim="nowhere")
    gone = "would fit 1 of 2 members even with everything of lower priority gone"
    await world.all_say(f'{gone}: persistentvolumeclaim "nowhere" not found', "a-1", "a-2")
    await world.nobody_evicted()
