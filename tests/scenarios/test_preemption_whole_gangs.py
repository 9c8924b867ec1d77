"""All or nothing in both directions: a gang loses members that it can spare, or all of them, and its owner is told."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import gang, members
from tests.scenarios.world import World

MODE = "koordpy.io/disruption-mode"
PROTECTED = {"scheduling.koordinator.sh/disable-preemptible": "true"}


async def _runs(world: World, *names: str, minimum: int, mode: str | None = None) -> None:
    """A gang g of one CPU each, on as many nodes of one CPU."""
    await world.nodes(len(names), cpu=1)
    await world.pod_group("g", minimum=minimum, annotations={MODE: mode} if mode else {})
    await world.pods(*names, gang="g", cpu=1)
    await world.bound(*names)


@pytest.mark.parametrize("mode", [None, "Minimum", "All"])
async def test_a_gang_that_would_fall_below_its_minimum_goes_as_a_whole(world: World, mode: str | None) -> None:
    await _runs(world, *members("g", 3), minimum=3, mode=mode)
    await world.urgent("high", cpu=1)
    await world.evicted(*members("g", 3))
    await world.gone(*members("g", 3))
    await world.bound("high")


@pytest.mark.parametrize("refused", members("g", 3))
async def test_nobody_of_it_goes_if_the_api_server_refuses_one_of_the_evictions(world: World, refused: str) -> None:
    """An admission webhook may protect a pod by a rule that we cannot know: two of three must not leave for nothing."""
    await _runs(world, *members("g", 3), minimum=3)
    world.refuses("evict", pod=refused, status=403, times=None)
    await world.urgent("high", cpu=1)
    await world.says("high", f"; evicting {{ns}}/{refused} was refused: DELETE ")
    await world.nobody_evicted()


async def test_members_that_a_gang_can_spare_go_one_by_one(world: World) -> None:
    await _runs(world, *members("g", 3), minimum=2)
    await world.urgent("high", cpu=1)
    await world.evicted_some(1, *members("g", 3))


async def test_a_gang_in_mode_single_loses_only_what_is_needed(world: World) -> None:
    await _runs(world, *members("g", 3), minimum=3, mode="Single")
    await world.urgent("high", cpu=1)
    await world.evicted_some(1, *members("g", 3))


async def test_the_mode_of_a_gang_without_an_object_is_that_of_its_oldest_member(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods("g-1", annotations=gang("g", minimum=2) | {MODE: "Single"}, cpu=1)
    await world.another_second()
    await world.pods("g-2", annotations=gang("g", minimum=2) | {MODE: "All"}, cpu=1)
    await world.bound("g-1", "g-2")
    await world.urgent("high", cpu=1)
    await world.evicted_some(1, "g-1", "g-2")


async def test_the_word_of_the_gangs_object_counts_before_that_of_its_members(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("g", minimum=2, annotations={MODE: "Single"})
    await world.pods("g-1", "g-2", gang="g", annotations={MODE: "All"}, cpu=1)
    await world.bound("g-1", "g-2")
    await world.urgent("high", cpu=1)
    await world.evicted_some(1, "g-1", "g-2")


async def test_a_mode_that_there_is_not_is_complained_about_and_the_default_is_used(world: World) -> None:
    await _runs(world, "g-1", "g-2", minimum=2, mode="Half")
    await world.event("InvalidGangSpec", pod_group="g", text=f'{MODE}: "Half" is not Single or Minimum or All')
    await world.urgent("high", cpu=1)
    await world.evicted("g-1", "g-2")


async def test_the_configuration_can_change_the_default(world: World) -> None:
    await world.restart(defaultDisruptionMode="Single")
    await _runs(world, "g-1", "g-2", minimum=2)
    await world.urgent("high", cpu=1)
    await world.evicted_some(1, "g-1", "g-2")


async def test_nobody_of_a_gang_goes_when_it_would_have_to_go_as_a_whole_and_may_not(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("g", minimum=2)
    await world.pods("g-1", gang="g", cpu=1)
    await world.pods("g-2", gang="g", cpu=1, labels=PROTECTED)
    await world.bound("g-1", "g-2")
    await world.urgent("high", cpu=1)
    await world.says("high", "preemption: ")
    await world.nobody_evicted()


async def test_a_gang_whose_last_protected_member_is_not_protected_any_more_is_evicted(world: World) -> None:
    """The job that waits fits on another node than that member's."""
    await world.node("small", cpu=1)
    await world.node("large", cpu=2)
    await world.pod_group("g", minimum=2)
    await world.pods("g-1", gang="g", cpu=1, labels=PROTECTED, node_selector={"kubernetes.io/hostname": "small"})
    await world.pods("g-2", gang="g", cpu=2)
    await world.bound("g-1", "g-2")
    await world.urgent("high", cpu=2)
    await world.says("high", "preemption: ")
    await world.label("g-1", labels=dict.fromkeys(PROTECTED))
    await world.evicted("g-1", "g-2")


async def test_the_object_of_a_preempted_gang_says_who_took_how_many_members(world: World) -> None:
    await _runs(world, "g-1", "g-2", minimum=2)
    await world.pod_group("u", minimum=1)
    await world.urgent("u-1", gang="u", cpu=1)
    await world.evicted("g-1", "g-2")
    ns = world.namespace
    text = f"Preempted by gang {ns}/u: 2 members of gang {ns}/g evicted, for pod {ns}/u-1"
    await world.event("Preempted", pod_group="g", text=text)


async def test_a_gang_that_gives_more_room_than_is_needed_is_spared_for_a_smaller_one(world: World) -> None:
    await world.nodes(5, cpu=1)
    for name, size in (("large", 3), ("small", 2)):
        await world.pod_group(name, minimum=size)
        await world.pods(*members(name, size), gang=name, cpu=1)
        await world.bound(*members(name, size))
    await world.pod_group("u", minimum=2)
    await world.urgent("u-1", "u-2", gang="u", cpu=1)
    await world.evicted(*members("small", 2))


@pytest.mark.parametrize("first", ["single", "gang"])
async def test_one_pod_leaves_rather_than_a_gang_of_two(world: World, first: str) -> None:
    """Either is one broken job; whoever is older."""
    await world.nodes(1, cpu=3)
    for each in (first, "gang" if first == "single" else "single"):
        if each == "single":
            await world.pods("single", cpu=1)
            await world.bound("single")
        else:
            await world.pods("g-1", "g-2", annotations=gang("g", minimum=2), cpu=1)
            await world.bound("g-1", "g-2")
    await world.urgent("high", cpu=1)
    await world.evicted("single")
    await world.gone("single")
    await world.bound("high")


async def test_one_gang_is_broken_rather_than_two(world: World) -> None:
    await world.nodes(7, cpu=1)
    for name, size in (("a", 2), ("b", 2), ("c", 3)):
        await world.pod_group(name, minimum=size)
        await world.pods(*members(name, size), gang=name, cpu=1)
        await world.bound(*members(name, size))
    await world.pod_group("u", minimum=3)
    await world.urgent(*members("u", 3), gang="u", cpu=1)
    await world.evicted(*members("c", 3))


async def test_a_pod_made_again_while_the_rest_of_its_gang_is_evicted_does_not_start_alone(world: World) -> None:
    """The eviction of the one is slow; there is room for what the controller has made for the other."""
    await _runs(world, "g-1", "g-2", minimum=2)
    (first,) = [name for name in ("g-1", "g-2") if world.node_names(name) == ["n1"]]
    other = "g-2" if first == "g-1" else "g-1"
    world.holds_up("evict", pod=other, seconds=2.0)
    await world.urgent("high", cpu=1, node_selector={"kubernetes.io/hostname": "n1"})
    await world.until(lambda: "deletionTimestamp" in world.pod(first)["metadata"], f"{first} terminates")
    await world.node("n3", cpu=2)
    await world.pods("g-3", gang="g", cpu=1)
    await world.says("g-3", f"gang {world.namespace}/g is incomplete: 1 of 2 members")
    await world.evicted("g-1", "g-2")
    await world.pods("g-4", gang="g", cpu=1)
    await world.bound("g-3", "g-4")
