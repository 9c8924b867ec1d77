"""The topology object and the labels of nodes: both change while gangs wait and run."""

from __future__ import annotations

import pytest

from tests.scenarios.network import BLOCK, LAYERS, SPEC, SPINE, gathering, layer, must, prefer
from tests.scenarios.objects import members
from tests.scenarios.world import World

RACK = "example.com/rack"
BROKEN = {
    "cycle": (layer("SpineLayer", "BlockLayer", SPINE), *LAYERS[1:]),
    "two roots": (LAYERS[0], layer("BlockLayer", "", BLOCK), LAYERS[2]),
    "unknown parent": LAYERS[1:],
    "no node layer": LAYERS[:2],
}


async def gang_of(world: World, name: str, size: int, *strategies: dict[str, str]) -> None:
    await world.pod_group(name, minimum=size, annotations=gathering(*strategies))
    await world.pods(*members(name, size), gang=name, cpu=1)


async def test_a_layer_that_nobody_knows_is_refused_where_it_must_be_and_the_layers_are_named(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2"}, cpu=1)
    await gang_of(world, "a", 2, must("RackLayer"))
    await world.all_say("MustGather names the layer RackLayer, and the layers are", "a-1", "a-2")
    await world.says("a-1", "ClusterTopologyLayer, SpineLayer, BlockLayer, NodeTopologyLayer")
    await world.pending("a-1", "a-2")
    await world.change_topology(
        *LAYERS[:2], layer("RackLayer", "BlockLayer", RACK), layer("NodeTopologyLayer", "RackLayer")
    )
    await world.change_node("n1", labels={RACK: "r1"})
    await world.change_node("n2", labels={RACK: "r1"})
    await world.bound("a-1", "a-2")


async def test_a_layer_that_nobody_knows_is_warned_about_and_ignored_where_it_is_only_preferred(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s2/b2": "n4 n5"}, cpu=1)
    await gang_of(world, "a", 2, prefer("RackLayer"))
    await world.bound("a-1", "a-2")
    assert world.spines("a-1", "a-2") == ["s2", "s2"]
    await world.event("InvalidGangSpec", pod_group="a", text='"RackLayer" is no layer of the ClusterNetworkTopology')


@pytest.mark.parametrize("text", ["{", '{"gatherStrategy": 3}', '{"gatherStrategy": [{"strategy": "MustGather"}]}'])
async def test_what_cannot_be_read_is_complained_about_once_and_the_gang_is_a_plain_one(
    world: World, text: str
) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s2/b2": "n2"}, cpu=1)
    await world.pod_group("a", minimum=3, annotations={SPEC: text})
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.event("InvalidGangSpec", pod_group="a", text=f"{SPEC}: ")
    await world.change_pod_group("a", minMember=2)
    await world.bound("a-1", "a-2")
    assert len(world.events("InvalidGangSpec", pod_group="a")) == 1


async def test_without_a_topology_what_must_be_gathered_waits_for_one_and_other_gangs_do_not(world: World) -> None:
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    await gang_of(world, "a", 2, must("SpineLayer"))
    await world.says("a-1", "there is no ClusterNetworkTopology named default yet")
    await gang_of(world, "b", 2, prefer("SpineLayer"))
    await world.bound("b-1", "b-2")
    await world.delete("b-1", "b-2")
    await world.pending("a-1", "a-2")
    await world.topology()
    await world.bound("a-1", "a-2")
    assert len(set(world.spines("a-1", "a-2"))) == 1


async def test_only_the_topology_named_default_is_read(world: World) -> None:
    await world.topology(name="other")
    await world.fabric({"s1/b1": "n1 n2"}, cpu=1)
    await gang_of(world, "a", 2, must("SpineLayer"))
    await world.says("a-1", "there is no ClusterNetworkTopology named default yet")
    await world.pending("a-1", "a-2")


async def test_a_node_that_is_moved_to_another_spine_counts_there(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3"}, cpu=1)
    await gang_of(world, "a", 3, must("SpineLayer"))
    await world.says("a-1", "SpineLayer/s1: 2 of 3, SpineLayer/s2: 1 of 3")
    await world.relabel("n3", spine="s1", block="b2")
    await world.bound(*members("a", 3))


async def test_a_node_whose_label_is_taken_away_counts_nowhere_by_name(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2"}, cpu=1)
    await world.relabel("n2")
    await gang_of(world, "a", 2, must("SpineLayer"))
    await world.says("a-1", "SpineLayer/s1: 1 of 2; SpineLayer/s1 is closest and lacks 1")
    await world.pending("a-1", "a-2")
    await world.relabel("n2", spine="s1")
    await world.bound("a-1", "a-2")


async def test_a_topology_that_is_deleted_leaves_running_gangs_alone_and_is_missed_by_others(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    await gang_of(world, "a", 2, must("SpineLayer"))
    await world.bound("a-1", "a-2")
    await world.delete_topology()
    await gang_of(world, "b", 2, must("SpineLayer"))
    await world.says("b-1", "there is no ClusterNetworkTopology named default yet")
    await world.pods("a-3", gang="a", cpu=1)
    await world.says("a-3", "there is no ClusterNetworkTopology named default yet")
    await world.pending("a-3", "b-1", "b-2")
    await world.topology()
    await world.bound("b-1", "b-2")
    await world.says("a-3", "gang {ns}/a is gathered in SpineLayer/s1")


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_broken_spec_leaves_the_last_good_tree_which_goes_on_following_the_nodes(
    world: World, kind: str
) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3"}, cpu=1)
    await world.change_topology(*BROKEN[kind])
    await gang_of(world, "a", 3, must("SpineLayer"))
    await world.says("a-1", "SpineLayer/s1: 2 of 3, SpineLayer/s2: 1 of 3")
    await world.fabric({"s1/b3": "n4"}, cpu=1)
    await world.bound(*members("a", 3))
    assert set(world.spines(*members("a", 3))) == {"s1"}


async def test_a_mended_spec_is_used_from_then_on(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s1/b2": "n3"}, cpu=1)
    await gang_of(world, "a", 3, must("BlockLayer"))
    await world.says("a-1", "BlockLayer/b1: 2 of 3, BlockLayer/b2: 1 of 3")
    await world.change_topology(layer("BlockLayer", "", SPINE), layer("NodeTopologyLayer", "BlockLayer"))
    await world.bound(*members("a", 3))


async def test_of_several_labels_the_first_that_a_node_has_names_its_domain(world: World) -> None:
    """topograph changed its labels; nodes of both releases make one tree."""
    spine = layer("SpineLayer", "", "fabric.example.com/tier-1", SPINE)
    await world.topology(spine, layer("NodeTopologyLayer", "SpineLayer"))
    await world.fabric({"s1": "n1", "s2": "n2"}, cpu=1)
    await world.fabric({"s3": "n3"}, cpu=1, labels={"fabric.example.com/tier-1": "s2"})
    await gang_of(world, "a", 2, must("SpineLayer"))
    await world.bound("a-1", "a-2")
    assert set(world.node_names("a-1", "a-2")) == {"n2", "n3"}


async def test_nodes_without_labels_are_used_by_whoever_need_not_be_gathered(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "": "n2 n3"}, cpu=1)
    await gang_of(world, "a", 2, must("SpineLayer"))
    await world.says("a-1", "SpineLayer/s1: 1 of 2")
    await world.pending("a-1", "a-2")
    await gang_of(world, "b", 3, prefer("SpineLayer"))
    await world.bound(*members("b", 3))


async def test_a_node_without_the_lowest_label_is_a_block_by_itself(world: World) -> None:
    await world.topology()
    await world.fabric({"s1": "alone", "s1/b1": "n1"}, cpu=2)
    await gang_of(world, "a", 2, must("BlockLayer"))
    await world.bound("a-1", "a-2")
    await gang_of(world, "b", 3, must("BlockLayer"))
    await world.says("b-1", "2 of 3")
    await world.pending(*members("b", 3))


async def test_a_tree_may_be_irregular(world: World) -> None:
    """Blocks of three, one and two nodes, a spine without blocks, a block without a spine: the tightest still wins."""
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3", "s1/b2": "n4", "s2": "n5 n6", "/b9": "n7 n8", "s3/b5": "n9"}, cpu=1)
    await gang_of(world, "a", 2, must("BlockLayer"))
    await world.bound("a-1", "a-2")
    assert set(world.node_names("a-1", "a-2")) == {"n7", "n8"}
    await gang_of(world, "b", 4, must("SpineLayer"))
    await world.bound(*members("b", 4))
    assert set(world.spines(*members("b", 4))) == {"s1"}
    await gang_of(world, "c", 2, must("SpineLayer"))
    await world.bound("c-1", "c-2")
    assert set(world.spines("c-1", "c-2")) == {"s2"}


async def test_blocks_of_one_name_below_two_spines_are_two_blocks(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s2/b1": "n2"}, cpu=1)
    await gang_of(world, "a", 2, must("BlockLayer"))
    await world.says("a-1", "1 of 2")
    await world.pending("a-1", "a-2")
    await world.relabel("n2", spine="s1", block="b1")
    await world.bound("a-1", "a-2")
