"""Definitions of PodGroup come, go and are replaced while the controller runs."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.podgroup.coscheduling import SIGS_GROUP, X_GROUP
from koordpy.sim.embedded.faults import Fault, Rule
from tests.controllers.world import DEFINITIONS, World, definition

pytestmark = pytest.mark.looptime


async def test_without_definitions_nothing_is_asked_but_whether_there_are_some():
    async with World() as world, world.controllers() as controllers:
        await world.pod("a")
        await asyncio.sleep(60)
        assert world.writes() == []
        assert controllers.health.report(verbose=False) == (True, "ok")
        assert len(world.requests) <= 160  # ten kinds, each every five seconds


async def test_a_definition_that_is_installed_later_is_noticed():
    async with World() as world, world.controllers():
        await world.pod("a")
        await asyncio.sleep(30)
        await world.cluster.create(DEFINITIONS, definition(X_GROUP))
        await world.pod_group(minimum=1, group=X_GROUP)
        assert await world.phase_of(group=X_GROUP) == "PreScheduling"


async def test_a_definition_that_is_deleted_and_installed_again_is_followed():
    async with World(definition()) as world, world.controllers():
        await world.pod("a")
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "PreScheduling"
        await world.ask("DELETE", f"{DEFINITIONS}/podgroups.{SIGS_GROUP}")
        await asyncio.sleep(10)
        await world.cluster.create(DEFINITIONS, definition(status_subresource=False))
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "PreScheduling"


async def test_a_definition_that_gets_its_subresource_while_we_run_is_written_there():
    koordinators = definition(status_subresource=False)
    async with World(koordinators) as world, world.controllers():
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "Pending"
        name = f"{DEFINITIONS}/podgroups.{SIGS_GROUP}"
        await world.ask("PATCH", name, {"spec": {"versions": definition()["spec"]["versions"]}})
        await world.pod("a")
        assert await world.phase_of() == "PreScheduling"
        await world.bind("a")
        before = len(world.writes())
        assert await world.phase_of() == "Scheduled"
        assert len(world.writes()) == before + 1  # it has learned where


async def test_a_definition_that_gets_its_subresource_is_written_there_although_the_phase_stays():
    async with World(definition(status_subresource=False)) as world, world.controllers():
        await world.pod_group(minimum=1)
        for name in ("a", "b"):
            await world.pod(name, node="n")
        await world.phase("a", "Running")
        assert (await world.status())["running"] == 1
        name = f"{DEFINITIONS}/podgroups.{SIGS_GROUP}"
        await world.ask("PATCH", name, {"spec": {"versions": definition()["spec"]["versions"]}})
        await world.phase("b", "Running")
        assert (await world.status())["running"] == 2


async def test_a_subresource_that_is_missing_for_once_is_written_to_again():
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1)
        for name in ("a", "b"):
            await world.pod(name, node="n")
        await world.phase("a", "Running")
        assert (await world.status())["running"] == 1
        world.faults.add(Rule(Fault.STATUS, "PATCH", ".*/podgroups/g/status", count=1, status=404))
        await world.phase("b", "Running")
        assert (await world.status())["running"] == 2
