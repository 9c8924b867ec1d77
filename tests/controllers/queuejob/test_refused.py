"""A Service or a SchedulingSpec that the API server refuses: the QueueJob says so, and goes on when it is accepted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import looptime
import pytest
from structlog.testing import capture_logs

from koordpy.sim.embedded.faults import Fault, Rule
from tests.controllers.queuejob.world import World, embedded_world, job, real_world, task
from tests.controlplane.manager import ControllerManager
from tests.controlplane.server import ControlPlane
from tests.scenarios.faults import FaultyTransport

COMPANIONS = pytest.mark.parametrize(
    ("plural", "reason"), [("services", "ServiceRefused"), ("schedulingspecs", "SchedulingSpecRefused")]
)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    with looptime.enabled(strict=True):
        async with embedded_world() as world:
            yield world


def refusing(world: World, plural: str, *, method: str = "POST", status: int = 403) -> FaultyTransport:
    """A connection on which a quota or a policy refuses one kind, until its rules are cleared."""
    transport = FaultyTransport(world.transport)
    transport.rules.append(Rule(Fault.STATUS, method=method, path=f".*/{plural}(/.*)?", status=status, count=None))
    return transport


async def events_of(world: World, reason: str) -> list[dict[str, Any]]:
    found = await world.api.ask("GET", f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events")
    return [each for each in found["items"] if each["reason"] == reason and each["regarding"]["kind"] == "QueueJob"]


@COMPANIONS
@pytest.mark.parametrize("status", [403, 404, 422])
async def test_a_refusal_is_a_condition_and_one_event_in_the_api_servers_words(
    plural: str, reason: str, status: int, world: World
):
    async with world.controllers(refusing(world, plural, status=status)):
        await world.create(job("j", task("w", 2), network="Hostnames"))
        told = await world.until_condition("PodsCreated", "False", reason)
        assert told.endswith(f"/{plural}: {status} injected fault; 2 pods are not created")
        await asyncio.sleep(600)
        (event,) = await events_of(world, reason)
        assert (event["type"], event["note"]) == ("Warning", told.removesuffix("; 2 pods are not created"))
        assert await world.pods() == {}


@COMPANIONS
@pytest.mark.parametrize(("status", "within_s"), [(403, 30), (422, 300)])
async def test_what_was_refused_is_tried_again(plural: str, reason: str, status: int, within_s: float, world: World):
    transport = refusing(world, plural, status=status)
    async with world.controllers(transport):
        await world.create(job("j", task("w", 2), network="Hostnames"))
        await world.until_condition("PodsCreated", "False", reason)
        await asyncio.sleep(3600)
        tried = transport.rules[0].hits
        assert tried < 3600 / within_s * 2 + 20
        transport.rules.clear()
        await asyncio.sleep(within_s + 1)
        await world.until_condition("PodsCreated", "True")
        assert len(await world.pods()) == 2


async def test_another_spec_is_tried_at_once(world: World):
    transport = refusing(world, "services", status=422)
    async with world.controllers(transport):
        await world.create(job("j", task("w", 2), network="Hostnames"))
        await world.until_condition("PodsCreated", "False", "ServiceRefused")
        await asyncio.sleep(3600)
        await world.change(network="None")
        await world.quiet()
        assert len(await world.pods()) == 2


async def test_pods_that_have_to_go_do_not_wait_for_a_spec_that_is_refused(world: World):
    transport = refusing(world, "schedulingspecs", method="PATCH")
    async with world.controllers(transport):
        await world.create(job("j", task("w", 3)))
        await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0")
        await world.until_status(phase="Running", running=3)
        await world.change(taskSpecs=[task("w", 2)])
        await world.until_pods("j-w-0-0", "j-w-1-0")
        assert len(await events_of(world, "SchedulingSpecRefused")) == 1


async def test_a_refused_service_is_no_fault_of_the_definition_nor_trouble_of_the_controllers(world: World):
    with capture_logs() as lines:
        async with world.controllers(refusing(world, "services", status=422)) as controllers:
            await world.create(job("j", task("w", 2), network="Hostnames"))
            await world.until_condition("PodsCreated", "False", "ServiceRefused")
            assert controllers.health.report(verbose=False) == (True, "ok")
    assert [line for line in lines if "refused" in line["event"] or "failed" in line["event"]] == []


async def test_a_name_that_no_service_may_have_is_told_before_anything_is_written(world: World):
    transport = FaultyTransport(world.transport)
    async with world.controllers(transport):
        await world.create(job("my.job", task("w", 2), network="Hostnames"))
        told = await world.until_condition("SpecValid", "False", "Invalid", name="my.job")
        assert told.startswith("metadata.name is my.job: with network: Hostnames")
        assert [write.path for write in transport.writes if not write.path.endswith("/status")] == []


@pytest.mark.real
async def test_a_service_for_which_a_real_quota_has_no_room_is_told_and_made_when_it_has(
    control_plane: ControlPlane, controller_manager: ControllerManager
):
    async with real_world(control_plane, controller_manager.start) as world, world.controllers():
        await world.quota("services", most=0)
        await world.create(job("j", task("w", 2), network="Hostnames"))
        told = await world.until_condition("PodsCreated", "False", "QuotaExceeded")
        assert "exceeded quota: q, requested: services=1" in told
        await world.quota("services", most=1)
        await world.until_status(pending=2)
