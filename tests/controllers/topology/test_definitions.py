"""The topology and its definition come and go, and writes fail."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.topology import GROUP
from koordpy.sim.embedded.faults import Fault, Rule
from tests.controllers.topologies import (
    BROKEN,
    DEFAULT,
    node,
    tree_lines,
)
from tests.controllers.topology.actions import add, events, install, status_after
from tests.controllers.world import DEFINITIONS, SETTLED_S, World, definition

pytestmark = pytest.mark.looptime


async def test_a_topology_that_is_made_again_starts_without_the_old_tree():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        await status_after(world)
        await world.ask("DELETE", DEFAULT)
        await asyncio.sleep(SETTLED_S)
        await install(world, BROKEN["cycle"][0])
        assert tree_lines(await status_after(world)) == []


async def test_a_topology_that_is_made_again_with_the_same_mistake_has_an_event_of_its_own():
    async with World(definition(GROUP)) as world, world.controllers():
        for _ in range(2):
            await install(world, BROKEN["cycle"][0])
            await asyncio.sleep(SETTLED_S)
            await world.ask("DELETE", DEFAULT)
            await asyncio.sleep(SETTLED_S)
        assert len(await events(world)) == 2


async def test_a_definition_that_is_installed_later_is_noticed():
    async with World() as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await asyncio.sleep(30)
        await world.cluster.create(DEFINITIONS, definition(GROUP))
        await install(world)
        assert tree_lines(await status_after(world))[0] == "cluster 1 spine: s1"


async def test_a_write_that_fails_fails_readyz_and_is_made_later():
    async with World(definition(GROUP)) as world, world.controllers() as controllers:
        world.faults.add(Rule(Fault.STATUS, "PATCH", count=None, status=403))
        await install(world)
        await asyncio.sleep(5)
        healthy, text = controllers.health.report(verbose=False)
        assert not healthy
        assert "topology-status" in text
        world.faults.clear()
        await asyncio.sleep(60)
        assert controllers.health.report(verbose=False) == (True, "ok")
        assert tree_lines(await status_after(world)) == ["cluster 0 spine"]
