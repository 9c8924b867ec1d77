"""A gang that comes back starts as a whole again: resubmitted, preempted, or all of it lost otherwise."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import gang, members
from tests.scenarios.world import World


async def _runs_and_terminates(world: World, *, minimum: int = 5) -> None:
    """A gang of the first run; its pods and its PodGroup are deleted, and the pods still terminate."""
    await world.pod_group("a", minimum=minimum)
    await world.pods(*members("a", 5), gang="a", cpu=1)
    await world.bound(*members("a", 5))
    await world.delete_pod_group("a")
    await world.terminate(*members("a", 5))


AGAIN = members("b", 5)  # the pods of the second run


async def test_a_gang_resubmitted_under_its_name_does_not_start_beside_the_pods_that_terminate(world: World) -> None:
    await world.nodes(8, cpu=1)
    await _runs_and_terminates(world)
    await world.pod_group("a", minimum=5)
    await world.pods(*AGAIN, gang="a", cpu=1)
    await world.pending(*AGAIN)
    await world.gone("a-1", "a-2")
    await world.bound(*AGAIN)


async def test_a_resubmitted_gang_does_not_start_in_pieces_right_after_a_restart(world: World) -> None:
    await world.nodes(8, cpu=1)
    await _runs_and_terminates(world)
    await world.stop()
    await world.pod_group("a", minimum=5)
    await world.pods(*AGAIN, gang="a", cpu=1)
    await world.start()
    await world.pending(*AGAIN)


async def test_what_terminating_pods_say_about_their_gang_counts_for_nothing(world: World) -> None:
    await world.nodes(4, cpu=1)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1)
    await world.bound("a-1", "a-2")
    await world.terminate("a-1", "a-2")
    await world.pods("b-1", "b-2", annotations=gang("a", minimum=3), cpu=1)
    await world.all_say(f"gang {world.namespace}/a is incomplete: 2 of 3 members", "b-1", "b-2")
    await world.pending("b-1", "b-2")


async def test_members_that_succeeded_for_an_earlier_pod_group_do_not_count_for_the_next(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.finish("a-1", "a-2")
    await world.delete_pod_group("a")
    await world.another_second()
    await world.pod_group("a", minimum=2)
    await world.pods("b-1", gang="a", cpu=1)
    await world.says("b-1", f"gang {world.namespace}/a is incomplete: 1 of 2 members")
    await world.pods("b-2", gang="a", cpu=1)
    await world.bound("b-1", "b-2")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_gang_stays_started_while_a_member_of_it_has_succeeded(world: World, phase: str) -> None:
    """One that has failed keeps nothing going: what follows is a new start."""
    await world.nodes(1, cpu=2)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.finish("a-1", phase=phase)
    await world.delete("a-2")
    await world.pods("a-3", gang="a", cpu=1)
    if phase == "Succeeded":
        await world.bound("a-3")
    else:
        await world.says("a-3", f"gang {world.namespace}/a is incomplete: 1 of 2 members")


async def test_a_gang_of_which_one_still_runs_takes_its_later_members_one_by_one(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.bound(*members("a", 3))
    await world.terminate("a-1", "a-2")
    await world.pods("b-1", "b-2", gang="a", cpu=1)
    await world.gone("a-1")
    await world.some_bound(1, "b-1", "b-2")


async def test_a_preempted_gang_that_its_controller_makes_again_comes_back_as_a_whole(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.pod_group("u", minimum=2)
    await world.urgent("u-1", "u-2", gang="u", cpu=1)
    await world.evicted("a-1", "a-2")
    await world.pods("b-1", "b-2", gang="a", cpu=1)
    await world.gone("a-1", "a-2")
    await world.bound("u-1", "u-2")
    await world.pending("b-1", "b-2")
    await world.node("n4", cpu=1)
    await world.bound("b-1", "b-2")


async def test_a_group_of_gangs_starts_anew_when_nobody_of_it_is_left(world: World) -> None:
    await world.nodes(2, cpu=1)
    both = world.group("a", "b")
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=both), cpu=1)
    await world.pods("b-1", annotations=gang("b", minimum=1, groups=both), cpu=1)
    await world.bound("a-1", "b-1")
    await world.terminate("a-1", "b-1")
    await world.pods("a-2", annotations=gang("a", minimum=1, groups=both), cpu=1)
    await world.says("a-2", f"gang {world.namespace}/b has no members (terminating: b-1)")
    await world.pods("b-2", annotations=gang("b", minimum=1, groups=both), cpu=1)
    await world.gone("a-1", "b-1")
    await world.bound("a-2", "b-2")
