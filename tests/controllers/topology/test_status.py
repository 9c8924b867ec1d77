"""What the status of the topology says."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.topology import GROUP
from tests.controllers.topologies import (
    BLOCK,
    GOOD,
    TOPOLOGIES,
    layer,
    node,
    ready,
    topology,
    tree_lines,
)
from tests.controllers.topology.actions import KINDS, add, install, status_after
from tests.controllers.world import SETTLED_S, World, definition

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("kind", KINDS)
async def test_the_status_shows_the_tree_each_domain_before_what_is_in_it(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"), node("n2", "s1", "b1"), node("n3", "s1", "b2"), node("n4", "s2", "b3"))
        await install(world)
        found = await status_after(world)
    assert tree_lines(found) == [
        "cluster 4 spine: s1 s2",
        "cluster/s1 3 block: b1 b2",
        "s1/b1 2 node",
        "s1/b2 1 node",
        "cluster/s2 1 block: b3",
        "s2/b3 1 node",
    ]


async def test_the_counts_are_those_of_the_columns():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"), node("n2", "s1", "b2"), node("n3"))
        await install(world)
        found = await status_after(world)
    assert (found["layers"], found["domains"], found["nodes"]) == (3, 3, 3)


async def test_names_are_sorted_naturally():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, *(node(f"n{number}", "s1", f"b{number}") for number in (10, 1, 2, 11)))
        await install(world)
        found = await status_after(world)
    assert tree_lines(found)[1:] == ["cluster/s1 4 block: b1 b2 b10 b11"] + [f"s1/b{i} 1 node" for i in (1, 2, 10, 11)]


async def test_domains_of_one_parent_stand_by_name():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s2", "a"), node("n2", "s1", "z"), node("n3", "s10", "a"), node("n4", "s1", "c"))
        await install(world)
        found = await status_after(world)
    assert [line.split()[0] for line in tree_lines(found)[1:]] == [
        "cluster/s1", "s1/c", "s1/z", "cluster/s2", "s2/a", "cluster/s10", "s10/a",
    ]  # fmt: skip


async def test_blocks_of_one_name_below_two_spines_are_two():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"), node("n2", "s2", "b1"), node("n3", "s2", "b1"))
        await install(world)
        found = await status_after(world)
    assert tree_lines(found)[2::2] == ["s1/b1 1 node", "s2/b1 2 node"]


async def test_nodes_without_a_label_are_counted_below_their_parent_without_a_name():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"), node("n2", "s1"), node("n3", "s1"), node("n4"), node("n5", None, "b9"))
        await install(world)
        found = await status_after(world)
    assert tree_lines(found) == [
        "cluster 5 spine: s1",
        "cluster/s1 3 block: b1",
        "s1/b1 1 node",
        "s1/- 2 node",
        "cluster/- 2 block: b9",
        "-/b9 1 node",
        "-/- 1 node",
    ]


async def test_a_block_that_has_the_name_of_its_only_node_keeps_it():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "n1"))
        await install(world)
        found = await status_after(world)
    assert tree_lines(found)[-1] == "s1/n1 1 node"


async def test_the_first_label_that_a_node_has_names_its_domain():
    layers = [layer("BlockLayer", "", "example.com/new", BLOCK), layer("NodeTopologyLayer", "BlockLayer")]
    async with World(definition(GROUP)) as world, world.controllers():
        both = node("n2", None, "old")
        both["metadata"]["labels"]["example.com/new"] = "new"
        await add(world, node("n1", None, "old"), both)
        await install(world, layers)
        found = await status_after(world)
    assert tree_lines(found) == ["cluster 2 block: new old", "cluster/new 1 node", "cluster/old 1 node"]


async def test_a_topology_of_nodes_alone_is_the_cluster():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1"))
        await install(world, [layer("NodeTopologyLayer")])
        found = await status_after(world)
    assert tree_lines(found) == ["cluster 1 node"]
    assert (found["layers"], found["domains"], found["nodes"]) == (1, 0, 1)


async def test_a_cluster_without_nodes_has_a_tree_without_domains():
    async with World(definition(GROUP)) as world, world.controllers():
        await install(world)
        found = await status_after(world)
    assert tree_lines(found) == ["cluster 0 spine"]
    assert ready(found)["status"] == "True"


async def test_only_the_topology_named_default_gets_a_status():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await world.cluster.create(TOPOLOGIES, topology(GOOD, "mine"))
        await asyncio.sleep(SETTLED_S)
        assert "status" not in await world.ask("GET", f"{TOPOLOGIES}/mine")
