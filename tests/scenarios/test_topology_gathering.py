"""Which domain of the network a gang is gathered in."""

from __future__ import annotations

import pytest

from tests.plan.constraints import HOSTNAME, affinity, host_port, node_term, pod_term, requirement, selector, taint
from tests.scenarios.network import gathering, must, prefer
from tests.scenarios.objects import gang, members
from tests.scenarios.world import World

TWELVE = {"s1/b1": "n1 n2 n3 n4 n5", "s2/b2": "n6 n7 n8 n9", "s3/b3": "n10 n11 n12"}
EIGHT = {"s1/b1": "n1 n8", "s1/b2": "n2 n7", "s2/b3": "n3 n6", "s2/b4": "n4 n5"}


async def test_of_twelve_nodes_in_three_spines_a_gang_gets_the_spine_that_it_fills_exactly(world: World) -> None:
    await world.topology()
    await world.fabric(TWELVE, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.bound(*members("a", 4))
    assert world.spines(*members("a", 4)) == ["s2"] * 4


async def test_gangs_of_the_sizes_of_the_spines_fill_them_without_a_hole_whatever_their_order(world: World) -> None:
    await world.topology()
    await world.fabric(TWELVE, cpu=1)
    for name, size in (("a", 3), ("b", 5), ("c", 4)):
        await world.pod_group(name, minimum=size, annotations=gathering(must("SpineLayer")))
        await world.pods(*members(name, size), gang=name, cpu=1)
        await world.bound(*members(name, size))
    assert set(world.spines(*members("a", 3))) == {"s3"}
    assert set(world.spines(*members("b", 5))) == {"s1"}
    assert set(world.spines(*members("c", 4))) == {"s2"}


@pytest.mark.parametrize("strategy", [must("SpineLayer"), prefer("SpineLayer")])
async def test_members_are_laid_out_block_by_block_in_the_order_of_their_names(
    world: World, strategy: dict[str, str]
) -> None:
    """Koordinator's own example of a layout."""
    await world.topology()
    await world.fabric(EIGHT, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(strategy))
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.bound(*members("a", 4))
    assert world.node_names(*members("a", 4)) == ["n1", "n8", "n2", "n7"]


async def test_what_must_be_gathered_waits_for_a_domain_and_what_should_be_is_spread_thinly(world: World) -> None:
    await world.topology()
    await world.fabric(EIGHT, cpu=1)
    await world.pod_group("a", minimum=5, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 5), gang="a", cpu=1)
    await world.says("a-1", "SpineLayer/s1: 4 of 5, SpineLayer/s2: 4 of 5")
    await world.pending(*members("a", 5))
    await world.pod_group("b", minimum=5, annotations=gathering(prefer("SpineLayer")))
    await world.pods(*members("b", 5), gang="b", cpu=1)
    await world.bound(*members("b", 5))
    spines = world.spines(*members("b", 5))
    assert sorted(spines.count(spine) for spine in ("s1", "s2")) == [1, 4]


async def test_of_several_layers_all_that_must_be_are_kept_and_the_rest_is_tried(world: World) -> None:
    await world.topology()
    await world.fabric(EIGHT, cpu=1)
    both = gathering(prefer("BlockLayer"), must("SpineLayer"))
    await world.pod_group("a", minimum=4, annotations=both)
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.bound(*members("a", 4))
    assert set(world.spines(*members("a", 4))) == {"s1"}
    await world.pod_group("b", minimum=3, annotations=gathering(must("SpineLayer"), must("BlockLayer")))
    await world.pods(*members("b", 3), gang="b", cpu=1)
    await world.says("b-1", "BlockLayer/b3: 2 of 3, BlockLayer/b4: 2 of 3")
    await world.pending(*members("b", 3))


@pytest.mark.parametrize("name", ["spinelayer", "SPINELAYER"])
async def test_names_of_layers_match_in_any_case(world: World, name: str) -> None:
    await world.topology()
    await world.fabric(TWELVE, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(must(name)))
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.bound(*members("a", 4))
    assert set(world.spines(*members("a", 4))) == {"s2"}


async def test_the_deepest_domain_that_holds_the_gang_is_taken_be_it_a_single_node(world: World) -> None:
    await world.topology()
    await world.fabric(EIGHT, cpu=1)
    await world.fabric({"s3/b5": "large"}, cpu=9)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    assert world.node_names("a-1", "a-2") == ["large", "large"]


async def test_among_equal_blocks_the_one_in_the_fuller_spine_is_taken(world: World) -> None:
    """Tightness is compared level by level, so that the emptier spine stays whole for a larger gang."""
    await world.topology()
    await world.fabric(EIGHT, cpu=1)
    await world.bind_elsewhere("other", "n4", cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(prefer("BlockLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    assert world.node_names("a-1", "a-2") == ["n3", "n6"]


async def test_what_is_equal_in_everything_is_taken_in_the_natural_order_of_names(world: World) -> None:
    await world.topology()
    await world.fabric({"s10/b1": "n1 n2", "s9/b1": "n3 n4"}, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    assert world.spines("a-1", "a-2") == ["s9", "s9"]


async def test_pods_come_to_each_domain_in_the_multiples_that_are_asked_for(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s1/b2": "n4 n5 n6"}, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(must("SpineLayer"), prefer("BlockLayer", multiple=2)))
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.bound(*members("a", 4))
    assert sorted(world.blocks(*members("a", 4))) == ["b1", "b1", "b2", "b2"]


async def test_a_gang_that_cannot_be_divided_into_the_multiples_waits_and_says_so(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s1/b2": "n4 n5 n6"}, cpu=4)
    await world.pod_group("a", minimum=3, annotations=gathering(prefer("BlockLayer", multiple=2)))
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "(podCountMultiple BlockLayer=2)")
    await world.pending(*members("a", 3))
    await world.change_pod_group("a", minMember=4)
    await world.pods("a-4", gang="a", cpu=1)
    await world.bound(*members("a", 4))


async def test_nodes_that_members_may_not_go_to_offer_nothing(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s2/b2": "n5 n6 n7 n8"}, cpu=1, labels={"disk": "ssd"})
    await world.fabric({"s1/b1": "n4", "s2/b2": "n9"}, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(must("SpineLayer")))
    ssd = affinity(nodes=[node_term(requirement("disk", "In", "ssd"))])
    await world.pods(*members("a", 4), gang="a", cpu=1, affinity=ssd)
    await world.bound(*members("a", 4))
    assert sorted(world.node_names(*members("a", 4))) == ["n5", "n6", "n7", "n8"]


async def test_tainted_and_cordoned_nodes_offer_nothing(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s2/b2": "n5 n6 n7 n8"}, cpu=1)
    await world.fabric({"s1/b1": "n4"}, cpu=1, taints=[taint("dedicated")])
    await world.change_node("n8", unschedulable=True)
    await world.pod_group("a", minimum=4, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.says("a-1", "SpineLayer/s1: 3 of 4, SpineLayer/s2: 3 of 4")
    await world.change_node("n8", unschedulable=False)
    await world.bound(*members("a", 4))
    assert set(world.spines(*members("a", 4))) == {"s2"}


async def test_a_host_port_is_one_slot_of_a_node(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s2/b2": "n4 n5"}, cpu=8)
    await world.pod_group("a", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 3), gang="a", host_ports=[host_port(8080)])
    await world.bound(*members("a", 3))
    assert set(world.node_names(*members("a", 3))) == {"n1", "n2", "n3"}
    await world.pod_group("b", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("b", 3), gang="b", host_ports=[host_port(8080)])
    await world.says("b-1", "SpineLayer/s2: 2 of 3, SpineLayer/s1: 0 of 3")


async def test_members_that_keep_apart_are_gathered_on_nodes_of_one_spine(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4 n5", "s2/b3": "n6"}, cpu=8)
    apart = affinity(apart=[pod_term(HOSTNAME, selector(app="a"))])
    await world.pod_group("a", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 3), gang="a", labels={"app": "a"}, affinity=apart)
    await world.bound(*members("a", 3))
    assert sorted(world.node_names(*members("a", 3))) == ["n3", "n4", "n5"]
    await world.pod_group("b", minimum=5, annotations=gathering(must("SpineLayer")))
    both = affinity(apart=[pod_term(HOSTNAME, selector(app="b"))])
    await world.pods(*members("b", 5), gang="b", labels={"app": "b"}, affinity=both)
    await world.says("b-1", "SpineLayer/s2: 4 of 5, SpineLayer/s1: 2 of 5; SpineLayer/s2 is closest and lacks 1")


async def test_of_two_gangs_that_want_one_spine_the_second_follows_when_the_first_is_done(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3 n4", "s2/b2": "n5 n6"}, cpu=1)
    for name in ("a", "b"):
        await world.pod_group(name, minimum=4, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.bound(*members("a", 4))
    await world.pods(*members("b", 4), gang="b", cpu=1)
    await world.says("b-1", "SpineLayer/s2: 2 of 4, SpineLayer/s1: 0 of 4")
    await world.delete("a-1", "a-2")
    await world.pending(*members("b", 4))
    await world.finish("a-3", "a-4")
    await world.bound(*members("b", 4))
    assert set(world.spines(*members("b", 4))) == {"s1"}


async def test_a_gang_without_the_annotation_is_a_plain_one(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s2/b2": "n2"}, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")


async def test_a_scheduler_that_is_not_aware_of_the_network_gathers_nothing(world: World) -> None:
    await world.restart(awareNetworkTopology=False)
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s2/b2": "n2"}, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")


async def test_a_gang_that_speaks_only_by_its_pods_is_gathered_too(world: World) -> None:
    await world.topology()
    await world.fabric(TWELVE, cpu=1)
    said = gang("a", minimum=4) | gathering(must("SpineLayer"))
    await world.pods(*members("a", 4), annotations=said, cpu=1)
    await world.bound(*members("a", 4))
    assert set(world.spines(*members("a", 4))) == {"s2"}


async def test_a_gang_that_may_accumulate_waits_for_a_whole_domain_if_it_must_be_gathered(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3"}, cpu=1)
    said = gang("a", minimum=3, mode="NonStrict") | gathering(must("SpineLayer"))
    await world.pods(*members("a", 3), annotations=said, cpu=1)
    await world.says("a-1", "SpineLayer/s1: 2 of 3, SpineLayer/s2: 1 of 3")
    await world.pods("other-1", "other-2", "other-3", cpu=1)
    await world.bound("other-1", "other-2", "other-3")
