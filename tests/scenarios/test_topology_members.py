"""Members of gathered gangs: their order, those that come later, groups of gangs, and a scheduler that comes later."""

from __future__ import annotations

import pytest

from tests.scenarios.network import INDEX, gathering, must, prefer
from tests.scenarios.objects import KOORDINATOR, gang, members, node_of
from tests.scenarios.world import World

FOUR = {"s1/b1": "n1 n2", "s1/b2": "n3 n4"}
EIGHT = FOUR | {"s2/b3": "n5 n6", "s2/b4": "n7 n8"}


async def test_neighbours_in_rank_are_neighbours_in_the_network_whatever_their_names(world: World) -> None:
    await world.topology()
    await world.fabric(FOUR, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(must("SpineLayer")))
    for name, rank in (("w", "10"), ("x", "9"), ("y", "2"), ("z", "100")):
        await world.pods(name, gang="a", cpu=1, annotations={INDEX: rank})
    await world.bound("w", "x", "y", "z")
    assert world.node_names("y", "x", "w", "z") == ["n1", "n2", "n3", "n4"]


async def test_without_ranks_members_are_laid_out_in_the_natural_order_of_names(world: World) -> None:
    await world.topology()
    await world.fabric(FOUR, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(must("SpineLayer")))
    await world.pods("a-10", "a-9", "a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-10", "a-9", "a-1", "a-2")
    assert world.node_names("a-1", "a-2", "a-9", "a-10") == ["n1", "n2", "n3", "n4"]


async def test_members_without_a_usable_rank_come_after_the_others(world: World) -> None:
    await world.topology()
    await world.fabric(FOUR, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(must("SpineLayer")))
    for name, rank in (("a-1", "-1"), ("a-2", "first"), ("a-3", "1"), ("a-4", "0")):
        await world.pods(name, gang="a", cpu=1, annotations={INDEX: rank})
    await world.bound(*members("a", 4))
    assert world.node_names("a-4", "a-3", "a-1", "a-2") == ["n1", "n2", "n3", "n4"]


async def test_a_replacement_goes_to_the_domain_that_its_siblings_run_in(world: World) -> None:
    await world.topology()
    await world.fabric(EIGHT, cpu=1)
    await world.pod_group("a", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.bound(*members("a", 3))
    (spine,) = set(world.spines(*members("a", 3)))
    await world.fabric({"s3/b9": "n9"}, cpu=64)  # nothing is as empty as this
    await world.delete("a-2")
    await world.pods("a-4", gang="a", cpu=1)
    await world.bound("a-4")
    assert world.spines("a-4") == [spine]


async def test_a_replacement_waits_while_its_siblings_domain_is_full_and_says_so(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4 n5"}, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    freed = node_of(world.pod("a-2"))
    await world.delete("a-2")
    await world.bind_elsewhere("other", freed, cpu=1)
    await world.pods("a-3", gang="a", cpu=1)
    await world.says("a-3", "gang {ns}/a is gathered in SpineLayer/s1, and its later members have to be there too.")
    await world.pending("a-3")
    await world.delete("other")
    await world.bound("a-3")
    assert world.node_names("a-3") == [freed]


async def test_a_gang_that_grows_stays_in_its_domain(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s2/b2": "n4 n5 n6 n7"}, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.pods("a-3", "a-4", gang="a", cpu=1)
    await world.bound("a-3")
    await world.says("a-4", "gang {ns}/a is gathered in SpineLayer/s1")
    await world.pending("a-4")
    await world.fabric({"s1/b3": "n8"}, cpu=1)
    await world.bound("a-4")
    assert set(world.spines(*members("a", 4))) == {"s1"}


async def test_members_beyond_the_minimum_start_along_only_where_they_fit(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s2/b2": "n4 n5"}, cpu=1)
    await world.pod_group("a", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 5), gang="a", cpu=1, gated=True)
    await world.ungate(*reversed(members("a", 5)))
    bound = await world.some_bound(3, *members("a", 5))
    assert set(world.spines(*bound)) == {"s1"}


@pytest.mark.parametrize("policy", ["once-satisfied", "waiting-and-running"])
async def test_of_members_beyond_the_minimum_as_many_start_as_fit_later(world: World, policy: str) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n8 n9"}, cpu=1)
    says = {f"{KOORDINATOR}/match-policy": policy}
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")) | says)
    await world.pods(*members("a", 5), gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    (spine,) = set(world.spines("a-1", "a-2"))
    await world.fabric({f"{spine}/b3": "n3"}, cpu=2)
    await world.bound("a-3", "a-4")
    assert world.node_names("a-3", "a-4") == ["n3", "n3"]
    await world.pending("a-5")


async def test_a_replacement_goes_as_near_as_it_can_where_that_is_all_it_asks(world: World) -> None:
    """To the block of its siblings, else to their spine, else anywhere."""
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s1/b2": "n4", "s2/b3": "n5"}, cpu=1)
    await world.pod_group("a", minimum=3, annotations=gathering(prefer("BlockLayer")))
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.bound(*members("a", 3))
    (freed,) = world.node_names("a-3")
    await world.delete("a-3")
    await world.pods("a-4", gang="a", cpu=1)
    await world.bound("a-4")
    assert world.node_names("a-4") == [freed]
    await world.pods("a-5", gang="a", cpu=1)
    await world.bound("a-5")
    assert world.node_names("a-5") == ["n4"]
    await world.pods("a-6", gang="a", cpu=1)
    await world.bound("a-6")
    assert world.node_names("a-6") == ["n5"]


async def test_a_master_and_workers_of_other_sizes_are_gathered_together(world: World) -> None:
    """Only b2 holds all of them; b1 has more room, and none for the master."""
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3"}, cpu=3)
    await world.fabric({"s2/b2": "large"}, cpu=4)
    await world.fabric({"s2/b2": "n4"}, cpu=2)
    both = gang(groups=world.group("masters", "workers")) | gathering(must("BlockLayer"))
    await world.pod_group("masters", minimum=1, annotations=both)
    await world.pod_group("workers", minimum=2, annotations=both)
    await world.pods("worker-1", "worker-2", gang="workers", cpu=1)
    await world.pods("master", gang="masters", cpu=4)
    await world.bound("master", "worker-1", "worker-2")
    assert world.node_names("master", "worker-1", "worker-2") == ["large", "n4", "n4"]


async def test_what_one_gang_of_a_group_asks_for_holds_for_all_of_it(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s2/b2": "n4 n5"}, cpu=1)
    both = gang(groups=world.group("a", "b"))
    await world.pod_group("a", minimum=2, annotations=both | gathering(must("SpineLayer")))
    await world.pod_group("b", minimum=2, annotations=both)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.pods("b-1", "b-2", gang="b", cpu=1)
    await world.says("b-1", "SpineLayer/s1: 3 of 4, SpineLayer/s2: 2 of 4")
    await world.pending("a-1", "a-2", "b-1", "b-2")
    await world.fabric({"s2/b3": "n6 n7"}, cpu=1)
    await world.bound("a-1", "a-2", "b-1", "b-2")
    assert set(world.spines("a-1", "a-2", "b-1", "b-2")) == {"s2"}


async def test_a_gang_that_waited_for_a_domain_waits_for_it_after_a_restart_too(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3"}, cpu=1)
    await world.pod_group("a", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "SpineLayer/s1: 2 of 3, SpineLayer/s2: 1 of 3")
    await world.restart()
    await world.pending(*members("a", 3))
    await world.fabric({"s1/b2": "n4"}, cpu=1)
    await world.bound(*members("a", 3))
    assert set(world.spines(*members("a", 3))) == {"s1"}


async def test_siblings_are_known_after_a_restart(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4 n5"}, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.restart()
    await world.pods("a-3", gang="a", cpu=1)
    await world.says("a-3", "gang {ns}/a is gathered in SpineLayer/s1")
    await world.pending("a-3")


@pytest.mark.parametrize("policy", ["once-satisfied", "waiting-and-running", "only-waiting"])
async def test_a_gang_half_of_which_was_bound_when_the_scheduler_died_is_completed_beside_that_half(
    world: World, policy: str
) -> None:
    """Wherever else there is room meanwhile, and more of it."""
    await world.topology()
    await world.fabric(FOUR, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gang(policy=policy) | gathering(prefer("SpineLayer")))
    async with world.crash(after_binds=2):
        await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.fabric({"s2/b9": "large"}, cpu=8)
    await world.start()
    await world.bound(*members("a", 4))
    assert set(world.spines(*members("a", 4))) == {"s1"}
