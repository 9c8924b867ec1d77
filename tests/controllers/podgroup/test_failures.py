"""Writes fail, and objects change under the writer: in the end the status is right, and /readyz says why it is not."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.podgroup.coscheduling import GROUPS, SIGS_GROUP, X_GROUP
from koordpy.controllers.podgroup import reconciler
from koordpy.controllers.podgroup.status import status_of
from koordpy.sim.embedded.faults import Fault, Rule
from tests.controllers.world import DEFINITIONS, PODS, World, definition, path_of

pytestmark = pytest.mark.looptime


async def test_a_status_whose_computation_raised_is_written_without_a_further_change(monkeypatch):
    failures = iter([RuntimeError("as ordered")] * 3)

    def failing(*given, **named):
        if (error := next(failures, None)) is not None:
            raise error
        return status_of(*given, **named)

    monkeypatch.setattr(reconciler, "status_of", failing)
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1)
        await asyncio.sleep(10)
        assert next(failures, None) is None
        assert await world.phase_of() == "Pending"


@pytest.mark.parametrize("status", [404, 409, 429, 500, 503])
async def test_a_write_that_fails_is_made_later(status):
    async with World(definition()) as world:
        rule = world.faults.add(Rule(Fault.STATUS, "PATCH", count=12, status=status))
        async with world.controllers():
            await world.pod_group(minimum=1)
            await asyncio.sleep(600)
            assert rule.hits == 12
            assert await world.phase_of() == "Pending"


@pytest.mark.parametrize("status", [403, 409, 422, 503])
async def test_a_write_that_fails_in_one_api_group_does_not_hold_up_the_other(status):
    async with World(*(definition(group) for group in GROUPS)) as world:
        world.faults.add(Rule(Fault.STATUS, "PATCH", f".*{SIGS_GROUP}.*", count=None, status=status))
        async with world.controllers():
            for group in GROUPS:
                await world.pod_group(minimum=1, group=group)
            await asyncio.sleep(30)
            assert await world.phase_of(group=X_GROUP) == "Pending"


async def test_what_we_have_written_is_known_although_the_watch_is_silent():
    async with World(definition()) as world:
        await world.pod_group(minimum=1)
        world.faults.add(Rule(Fault.WATCH_STUCK, path=".*/podgroups"))
        async with world.controllers():
            assert await world.phase_of() == "Pending"
            await world.pod("a")
            assert await world.phase_of() == "PreScheduling"
            assert len(world.writes()) == 2


async def test_a_write_whose_answer_is_lost_is_no_harm():
    async with World(definition()) as world, world.controllers():
        world.faults.add(Rule(Fault.ANSWER_LOST, "PATCH", count=1))
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "Pending"


async def test_a_missing_permission_fails_readyz_and_the_status_is_written_when_it_is_granted():
    async with World(definition()) as world:
        rule = world.faults.add(Rule(Fault.STATUS, "PATCH", count=None, status=403))
        async with world.controllers() as controllers:
            await world.pod_group(minimum=1)
            await asyncio.sleep(30)
            ready, text = controllers.health.report(verbose=False)
            assert not ready
            assert "podgroup-status failed: Forbidden" in text
            assert rule.hits < 10
            world.faults.clear()
            await asyncio.sleep(90)
            assert await world.phase_of() == "Pending"
            assert controllers.health.report(verbose=False) == (True, "ok")


async def test_a_podgroup_that_could_not_be_written_and_is_deleted_is_no_trouble_any_more():
    async with World(definition()) as world:
        world.faults.add(Rule(Fault.STATUS, "PATCH", count=None, status=403))
        async with world.controllers() as controllers:
            await world.pod_group(minimum=1)
            await asyncio.sleep(30)
            assert not controllers.health.report(verbose=False)[0]
            await world.ask("DELETE", path_of(name="g"))
            await asyncio.sleep(90)
            assert controllers.health.report(verbose=False) == (True, "ok")


async def test_trouble_lasts_while_any_podgroup_cannot_be_written():
    async with World(definition()) as world:
        world.faults.add(Rule(Fault.STATUS, "PATCH", ".*/podgroups/g/status", count=None, status=403))
        async with world.controllers() as controllers:
            await world.pod_group("g", minimum=1)
            await asyncio.sleep(100)
            await world.pod_group("h", minimum=1)
            assert await world.phase_of("h") == "Pending"
            assert not controllers.health.report(verbose=False)[0]


async def test_a_podgroup_that_is_deleted_meanwhile_is_not_retried():
    async with World(definition()) as world:
        world.faults.add(Rule(Fault.DELAY, "PATCH", count=1, seconds=2.0))
        async with world.controllers() as controllers:
            await world.pod_group(minimum=1)
            await asyncio.sleep(1)
            await world.ask("DELETE", path_of(name="g"))
            await asyncio.sleep(60)
            assert len(world.writes()) == 2  # with and without the subresource
            assert controllers.health.report(verbose=False) == (True, "ok")


async def test_a_podgroup_made_again_under_its_name_never_gets_the_status_of_the_old_one():
    async with World(definition()) as world:
        await world.pod("a", node="n")
        await world.pod_group(minimum=1)
        world.faults.add(Rule(Fault.DELAY, "PATCH", count=1, seconds=2.0))
        async with world.controllers():
            await asyncio.sleep(1)
            await world.ask("DELETE", path_of(name="g"))
            await world.delete("a")
            await world.pod_group(minimum=1)
            found = await world.status()
            assert [each["reason"] for each in found.pop("conditions")] == ["NoPods"]
            assert found == {
                "phase": "Pending", "occupiedBy": "", "scheduled": 0, "running": 0, "succeeded": 0, "failed": 0,
            }  # fmt: skip


async def test_a_status_that_the_definition_refuses_is_hardly_repeated():
    strict = definition()
    status = strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    status["properties"]["phase"]["enum"] = ["Pending", "Scheduled"]
    async with World(strict) as world, world.controllers():
        await world.pod_group(minimum=1)
        await world.pod("a")
        await asyncio.sleep(300)
        refused = len(world.writes())
        assert refused <= 3
        await world.bind("a")
        assert await world.phase_of() == "Scheduled"


async def test_a_status_that_the_definition_refused_is_written_when_the_definition_is_mended():
    strict = definition()
    status = strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    status["properties"]["phase"]["enum"] = ["Scheduled"]
    async with World(strict) as world, world.controllers():
        await world.pod_group(minimum=1)
        assert await world.phase_of() == ""
        name = f"{DEFINITIONS}/podgroups.{SIGS_GROUP}"
        await world.ask("PATCH", name, {"spec": {"versions": definition()["spec"]["versions"]}})
        await asyncio.sleep(600)
        assert await world.phase_of() == "Pending"


async def test_a_status_that_somebody_else_changes_is_mended():
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1)
        await world.status()
        await world.ask("PATCH", path_of(name="g") + "/status", {"status": {"phase": "Running", "running": 7}})
        found = await world.status()
        assert (found["phase"], found["running"]) == ("Pending", 0)


async def test_pods_are_never_written():
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1)
        made = await world.pod("a")
        await world.status()
        found = await world.ask("GET", f"{PODS}/a")
        assert found["metadata"] == made["metadata"]
