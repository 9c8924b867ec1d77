"""Whatever could make a gang fit wakes it; nothing here waits for a periodic flush, which comes after five minutes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.scenarios.objects import gang, members
from tests.scenarios.world import World

GPU = {"example__com_gpu": 1}

CURES: dict[str, Callable[[World], Awaitable[None]]] = {
    "a node is added": lambda world: world.node("n3", cpu=1),
    "a node grows": lambda world: world.resize_node("n1", cpu=2),
    "a node is uncordoned": lambda world: world.change_node("cordoned", unschedulable=None),
    "a taint is removed": lambda world: world.change_node("tainted", taints=None),
    "a pod is deleted": lambda world: world.delete("other"),
    "a pod succeeds": lambda world: world.finish("other"),
    "a pod fails": lambda world: world.finish("other", phase="Failed"),
}


async def almost_enough_room(world: World) -> None:
    """Two free slots, and three that each lack one thing."""
    await world.nodes(2, cpu=1)
    await world.node("cordoned", cpu=1, cordoned=True)
    await world.node("tainted", cpu=1, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    await world.node("full", cpu=1)
    await world.bind_elsewhere("other", "full", cpu=1)


@pytest.mark.parametrize(
    ("cure", "mode"),
    [*((cure, "Strict") for cure in CURES), ("a node is added", "NonStrict"), ("a pod is deleted", "NonStrict")],
)
async def test_a_gang_that_lacks_one_slot_starts_when(world: World, cure: str, mode: str) -> None:
    await almost_enough_room(world)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode=mode), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await CURES[cure](world)
    await world.bound(*members("a", 3))


async def test_a_gang_starts_when_a_node_gets_the_label_it_asks_for(world: World) -> None:
    await world.nodes(2)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), node_selector={"disk": "ssd"})
    await world.says("a-1", "0 of 2 members fit")
    await world.change_node("n2", labels={"disk": "ssd"})
    await world.bound("a-1", "a-2")
    assert world.node_names("a-1", "a-2") == ["n2", "n2"]


async def test_room_for_two_gangs_starts_both(world: World) -> None:
    for name in ("a", "b"):
        await world.pods(*members(name, 2), annotations=gang(name, minimum=2), cpu=1)
        await world.says(f"{name}-1", "no nodes available")
    await world.node("large", cpu=4)
    await world.bound("a-1", "a-2", "b-1", "b-2")


async def test_room_that_is_too_small_for_the_first_gang_is_offered_to_the_second(world: World) -> None:
    await world.pods(*members("a", 4), annotations=gang("a", minimum=4), cpu=1)
    await world.pods(*members("b", 2), annotations=gang("b", minimum=2), cpu=1)
    await world.says("a-1", "no nodes available")
    await world.says("b-1", "no nodes available")
    await world.node("n1", cpu=2)
    await world.bound("b-1", "b-2")
    await world.pending(*members("a", 4))


async def test_room_that_comes_in_pieces_is_noticed(world: World) -> None:
    """No single change makes enough room; the last of them does."""
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3), cpu=1)
    await world.says("a-1", "no nodes available")
    for number in (1, 2, 3):
        await world.node(f"n{number}", cpu=1)
    await world.bound(*members("a", 3))


async def test_a_member_that_makes_a_gang_large_enough_wakes_it_after_a_refusal(world: World) -> None:
    """The first members fit nowhere; a new one does, and the minimum is one."""
    await world.nodes(1, cpu=1)
    await world.pod_group("a", minimum=1)
    await world.pods("a-1", gang="a", cpu=8)
    await world.says("a-1", "Insufficient cpu")
    await world.pods("a-2", gang="a", cpu=1)
    await world.bound("a-2")
    await world.node("large", cpu=8)
    await world.bound("a-1")


async def test_a_gang_waits_for_its_partner_and_starts_without_any_other_event(world: World) -> None:
    await world.nodes(3, cpu=1)
    both = world.group("a", "b")
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=both), cpu=1)
    await world.says("a-1", "gang {ns}/b does not exist")
    await world.pods("b-1", annotations=gang("b", minimum=2, groups=both), cpu=1)
    await world.says("a-1", "gang {ns}/b is incomplete: 1 of 2 members")
    await world.pods("b-2", annotations=gang("b", minimum=2, groups=both), cpu=1)
    await world.bound("a-1", "b-1", "b-2")


async def test_a_gang_starts_when_min_resources_are_lowered(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.pod_group("a", minimum=1, resources={"cpu": "8"})
    await world.pods("a-1", gang="a", cpu=1)
    await world.says("a-1", "minResources asks for cpu 8, and 4 are free")
    await world.change_pod_group("a", minResources={"cpu": "2"})
    await world.bound("a-1")


async def test_the_room_of_a_bind_that_failed_for_good_wakes_a_gang(world: World) -> None:
    """The single pod is deleted while its bind is under way: its room is free again."""
    await world.nodes(2, cpu=1)
    world.delays("bind", pod="single", seconds=0.5)
    await world.pods("single", cpu=1)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1)
    await world.says("a-1", "1 of 2 members fit")
    await world.delete("single")
    await world.bound("a-1", "a-2")


async def test_a_gang_whose_members_lie_in_different_queues_of_shapes_is_woken_by_either(world: World) -> None:
    await world.nodes(1, cpu=1, **GPU)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", gang="a", cpu=1, **GPU)
    await world.pods("a-2", gang="a", cpu=3)
    await world.says("a-1", "1 of 2 members fit, {ns}/a-2 does not")
    await world.node("n2", cpu=3)
    await world.bound("a-1", "a-2")


async def test_a_waiting_gang_that_lets_go_wakes_one_that_fits(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.busy_node()
    await world.pod_group("a", minimum=4, annotations=gang(mode="NonStrict"))
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.says("a-1", "3 of 4 members fit")
    await world.pods(*members("b", 3), annotations=gang("b", minimum=3), cpu=1)
    await world.says("b-1", "0 of 3 members fit")
    await world.delete("a-4")
    await world.bound(*members("b", 3))


async def test_surplus_members_are_woken_when_room_is_freed(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.bind_elsewhere("other", "n3", cpu=1)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.some_bound(2, *members("a", 3))
    await world.delete("other")
    await world.bound(*members("a", 3))


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
async def test_a_gang_that_waits_for_its_partner_does_not_put_others_of_its_kind_to_sleep(
    world: World, mode: str
) -> None:
    """Both want the same: a lacks room, and b would too, but first of all it lacks its partner."""
    await world.node("cordoned", cpu=2, cordoned=True)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2, mode=mode), cpu=1)
    await world.says("a-1", "1 node(s) were unschedulable")
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2, mode=mode, groups=world.group("b", "c")), cpu=1)
    await world.says("b-1", "gang {ns}/c does not exist")
    await world.node("n1", cpu=2)
    await world.bound("a-1", "a-2")
    await world.pending("b-1", "b-2")
