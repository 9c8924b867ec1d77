"""Who is served first, and that nobody stands in the way of everybody."""

from __future__ import annotations

from tests.scenarios.objects import gang, members
from tests.scenarios.world import World


async def both_wait_for_two_slots(world: World) -> None:
    """The scheduler finds everybody at once, and room for one gang of two."""
    await world.nodes(2, cpu=1)
    await world.start()


async def test_the_gang_of_higher_priority_is_served_first(world: World) -> None:
    await world.stop()
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1, priority=10)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1, priority=20)
    await both_wait_for_two_slots(world)
    await world.bound("b-1", "b-2")
    await world.pending("a-1", "a-2")


async def test_a_job_has_the_priority_of_its_highest_member(world: World) -> None:
    await world.stop()
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1, priority=10)
    await world.pods("b-1", annotations=gang("b", minimum=2), cpu=1, priority=5)
    await world.pods("b-2", annotations=gang("b", minimum=2), cpu=1, priority=20)
    await both_wait_for_two_slots(world)
    await world.bound("b-1", "b-2")
    await world.pending("a-1", "a-2")


async def test_of_equal_priority_the_older_gang_is_served_first(world: World) -> None:
    await world.stop()
    await world.pods("z-1", "z-2", annotations=gang("z", minimum=2), cpu=1)
    await world.another_second()
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1)
    await both_wait_for_two_slots(world)
    await world.bound("z-1", "z-2")
    await world.pending("b-1", "b-2")


async def test_a_group_is_as_old_as_its_oldest_gang(world: World) -> None:
    await world.stop()
    both = world.group("y", "z")
    await world.pods("z-1", annotations=gang("z", minimum=1, groups=both), cpu=1)
    await world.another_second()
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1)
    await world.another_second()
    await world.pods("y-1", annotations=gang("y", minimum=1, groups=both), cpu=1)
    await both_wait_for_two_slots(world)
    await world.bound("y-1", "z-1")
    await world.pending("b-1", "b-2")


async def test_a_gang_of_a_pod_group_is_as_old_as_the_pod_group(world: World) -> None:
    await world.stop()
    await world.pod_group("z", minimum=2)
    await world.another_second()
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1)
    await world.another_second()
    await world.pods("z-1", "z-2", gang="z", cpu=1)
    await both_wait_for_two_slots(world)
    await world.bound("z-1", "z-2")
    await world.pending("b-1", "b-2")


async def test_a_gang_and_a_single_pod_are_served_by_the_same_order(world: World) -> None:
    await world.stop()
    await world.pods("single", cpu=1, priority=30)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1, priority=20)
    await both_wait_for_two_slots(world)
    await world.bound("single")
    await world.pending("a-1", "a-2")


async def test_a_big_gang_that_never_fits_blocks_nobody(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pods(*members("big", 9), annotations=gang("big", minimum=9), cpu=1, priority=1000)
    await world.says("big-1", "gang {ns}/big: 4 of 9 members fit")
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1)
    await world.bound("a-1", "a-2")
    await world.pods("single", cpu=1)
    await world.bound("single")


async def test_of_two_gangs_that_failed_the_one_that_failed_first_is_served_first(world: World) -> None:
    """When there is room again both are asked, by the time of their last failure."""
    await world.node("n1", cpu=2, cordoned=True)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1)
    await world.says("b-1", "1 node(s) were unschedulable")
    await world.another_second()
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1)
    await world.says("a-1", "1 node(s) were unschedulable")
    await world.change_node("n1", unschedulable=None)
    await world.bound("b-1", "b-2")
    await world.pending("a-1", "a-2")


async def test_when_the_first_in_line_does_not_fit_the_next_one_is_served(world: World) -> None:
    await world.stop()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3), cpu=1, priority=20)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1, priority=10)
    await both_wait_for_two_slots(world)
    await world.bound("b-1", "b-2")
    await world.pending(*members("a", 3))
