"""The status of the topology follows the nodes within a second; and nothing is written in vain."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.topology import GROUP
from koordpy.sim.embedded.faults import Fault, Rule
from tests.controllers.topologies import (
    BLOCK,
    DEFAULT,
    NODES,
    SPINE,
    node,
    ready,
    tree_lines,
)
from tests.controllers.topology.actions import KINDS, add, install, status_after, topology_writes
from tests.controllers.world import World, definition

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("kind", KINDS)
async def test_a_node_that_appears_changes_or_leaves_is_seen_within_a_second(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        await status_after(world)
        await add(world, node("n2", "s1", "b2"))
        assert tree_lines(await status_after(world, 1.0))[1] == "cluster/s1 2 block: b1 b2"
        await world.ask("PATCH", f"{NODES}/n2", {"metadata": {"labels": {BLOCK: "b3"}}})
        assert tree_lines(await status_after(world, 1.0))[1] == "cluster/s1 2 block: b1 b3"
        await world.ask("PATCH", f"{NODES}/n2", {"metadata": {"labels": {SPINE: None, BLOCK: None}}})
        assert "cluster/- 1 block" in tree_lines(await status_after(world, 1.0))
        await world.ask("DELETE", f"{NODES}/n1")
        assert tree_lines(await status_after(world, 1.0)) == ["cluster 1 spine", "cluster/- 1 block", "-/- 1 node"]


@pytest.mark.parametrize("kind", KINDS)
async def test_one_change_is_one_write_and_no_change_is_none(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        await status_after(world)
        before = len(topology_writes(world))
        await add(world, node("n2", "s1", "b1"))
        await status_after(world)
        assert len(topology_writes(world)) == before + 1
        await world.ask("PATCH", f"{NODES}/n2", {"metadata": {"labels": {"example.com/other": "x"}}})
        await world.ask("PATCH", f"{NODES}/n2", {"spec": {"unschedulable": True}})
        await world.ask("PATCH", DEFAULT, {"metadata": {"labels": {"x": "y"}}})
        await status_after(world)
        assert len(topology_writes(world)) == before + 1


async def test_a_restart_finds_nothing_to_write():
    async with World(definition(GROUP)) as world:
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        async with world.controllers():
            before = await status_after(world)
        writes = len(topology_writes(world))
        async with world.controllers():
            assert await status_after(world) == before
        assert len(topology_writes(world)) == writes


async def test_many_nodes_at_once_are_a_write_or_two():
    async with World(definition(GROUP)) as world, world.controllers():
        await install(world)
        await status_after(world)
        before = len(topology_writes(world))
        await add(world, *(node(f"n{number}", "s1", f"b{number % 4}") for number in range(200)))
        assert (await status_after(world))["nodes"] == 200
        assert len(topology_writes(world)) - before <= 2


async def test_nothing_is_written_before_all_nodes_are_known():
    async with World(definition(GROUP)) as world:
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        world.faults.add(Rule(Fault.DELAY, "GET", NODES, seconds=20.0))
        async with world.controllers():
            await asyncio.sleep(15)
        assert topology_writes(world) == []


async def test_a_status_that_somebody_else_changes_is_mended():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        before = await status_after(world)
        await world.ask("PATCH", f"{DEFAULT}/status", {"status": {"nodes": 7, "detailStatus": []}})
        assert await status_after(world) == before


async def test_conditions_of_others_stay():
    async with World(definition(GROUP)) as world, world.controllers():
        await install(world)
        found = await status_after(world)
        mine = {"type": "Surveyed", "status": "Unknown", "reason": "Waiting"}
        await world.ask("PATCH", f"{DEFAULT}/status", {"status": {"conditions": [mine, *found["conditions"]]}})
        await add(world, node("n1", "s1", "b1"))
        found = await status_after(world)
    assert mine in found["conditions"]
    assert ready(found)["status"] == "True"
