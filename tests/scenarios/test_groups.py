"""Gangs that must start together."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import gang
from tests.scenarios.world import World


async def test_gangs_of_a_group_start_together_or_not_at_all(world: World) -> None:
    await world.nodes(2)
    both = gang(groups=world.group("a", "b"))
    await world.pod_group("a", minimum=2, annotations=both)
    await world.pod_group("b", minimum=2, annotations=both)
    await world.pods("a-1", "a-2", gang="a")
    await world.pods("b-1", gang="b")
    await world.says("a-1", "gang {ns}/b is incomplete: 1 of 2 members")
    await world.pending("a-1", "a-2", "b-1")
    await world.pods("b-2", gang="b")
    await world.bound("a-1", "a-2", "b-1", "b-2")


async def test_a_gang_waits_for_a_partner_that_does_not_exist_yet(world: World) -> None:
    await world.nodes(1)
    both = world.group("a", "b")
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=both))
    await world.says("a-1", "gang {ns}/b does not exist; gang {ns}/a is in a group with it")
    await world.pending("a-1")
    await world.pods("b-1", annotations=gang("b", minimum=1, groups=both))
    await world.bound("a-1", "b-1")


async def test_a_group_of_which_only_one_gang_fits_holds_nothing(world: World) -> None:
    await world.nodes(3, cpu=1)
    both = world.group("a", "b")
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2, groups=both), cpu=1)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2, groups=both), cpu=1)
    await world.says("a-1", "0/3 nodes are available: 3 Insufficient cpu.")
    await world.pods("others-1", "others-2", "others-3", cpu=1)
    await world.bound("others-1", "others-2", "others-3")
    await world.pending("a-1", "a-2", "b-1", "b-2")


async def test_a_group_with_members_of_different_sizes_starts_together(world: World) -> None:
    await world.node("big", cpu=8)
    await world.nodes(2, cpu=2)
    both = world.group("masters", "workers")
    await world.pods("worker-1", "worker-2", annotations=gang("workers", minimum=2, groups=both), cpu=2)
    await world.pods("master", annotations=gang("masters", minimum=1, groups=both), cpu=8)
    await world.bound("master", "worker-1", "worker-2")
    assert world.node_names("master") == ["big"]


async def test_a_gang_that_is_listed_without_listing_back_does_not_wait(world: World) -> None:
    await world.nodes(1)
    await world.pods("b-1", annotations=gang("b", minimum=1, groups=world.group("a", "b")))
    await world.says("b-1", "gang {ns}/a does not exist")
    await world.pods("a-1", annotations=gang("a", minimum=2))
    await world.says("b-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pods("a-2", annotations=gang("a", minimum=2))
    await world.bound("a-1", "a-2", "b-1")


async def test_the_start_of_a_listed_gang_does_not_satisfy_the_one_that_lists_it(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1)
    await world.bound("a-1", "a-2")
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2, groups=world.group("a", "b")), cpu=1)
    await world.says("b-1", "Insufficient cpu")
    await world.pending("b-1", "b-2")
    await world.node("n4", cpu=1)
    await world.bound("b-1", "b-2")


async def test_a_list_without_the_gang_itself_still_binds_it_to_the_listed_ones(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=world.group("b")))
    await world.says("a-1", "gang {ns}/b does not exist")
    await world.pending("a-1")
    await world.pods("b-1", annotations=gang("b", minimum=1))
    await world.bound("a-1", "b-1")


async def test_partners_of_partners_are_waited_for(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=world.group("b")))
    await world.pods("b-1", annotations=gang("b", minimum=1, groups=world.group("c")))
    await world.says("a-1", "gang {ns}/c does not exist")
    await world.pending("a-1", "b-1")
    await world.pods("c-1", annotations=gang("c", minimum=1))
    await world.bound("a-1", "b-1", "c-1")


async def test_a_group_can_span_namespaces(world: World) -> None:
    await world.nodes(1)
    other = world.other_namespace
    both = [f"{world.namespace}/a", f"{other}/b"]
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=both))
    await world.says("a-1", f"gang {other}/b does not exist")
    await world.pods("b-1", annotations=gang("b", minimum=1, groups=both), namespace=other)
    await world.bound("a-1")
    await world.bound("b-1", namespace=other)


async def test_a_group_that_lists_only_the_gang_itself_is_the_gang_alone(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=world.group("a")))
    await world.bound("a-1")


async def test_a_lowered_minimum_of_a_partner_starts_the_group(world: World) -> None:
    await world.nodes(1)
    both = gang(groups=world.group("a", "b"))
    await world.pod_group("a", minimum=1, annotations=both)
    await world.pod_group("b", minimum=2, annotations=both)
    await world.pods("a-1", gang="a")
    await world.pods("b-1", gang="b")
    await world.says("a-1", "gang {ns}/b is incomplete: 1 of 2 members")
    await world.change_pod_group("b", minMember=1)
    await world.bound("a-1", "b-1")


async def test_a_partner_that_is_taken_off_the_list_is_not_waited_for_any_more(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=1, annotations=gang(groups=world.group("a", "b")))
    await world.pods("a-1", gang="a")
    await world.says("a-1", "gang {ns}/b does not exist")
    await world.change_pod_group("a", annotations=gang(groups=world.group("a")))
    await world.bound("a-1")


@pytest.mark.parametrize("slots", [4, 9])
async def test_a_group_of_three_gangs_takes_exactly_what_it_needs(world: World, slots: int) -> None:
    await world.nodes(slots, cpu=1)
    all_three = world.group("a", "b", "c")
    for name in ("a", "b", "c"):
        await world.pods(
            f"{name}-1", f"{name}-2", f"{name}-3", annotations=gang(name, minimum=3, groups=all_three), cpu=1
        )
    everyone = [f"{name}-{number}" for name in ("a", "b", "c") for number in (1, 2, 3)]
    await world.some_bound(9 if slots == 9 else 0, *everyone)
