"""Definitions that come and go, an API server that fails, two replicas of the controllers, and specs nobody can use."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import looptime
import pytest
from structlog.testing import capture_logs

from koordpy.app.controllers import Controllers
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.sim.embedded.faults import Fault, Rule
from tests.controllers.queuejob import morestories
from tests.controllers.queuejob.killed import Killing, NoPodTwice, end_of
from tests.controllers.queuejob.stories import Story
from tests.controllers.queuejob.world import DEFINITIONS, World, embedded_world, install, job, task
from tests.scenarios.api import MERGE, Refused
from tests.scenarios.clock import virtual_clocks
from tests.scenarios.faults import FaultyTransport


@pytest.fixture
async def virtual():
    with looptime.enabled(strict=True):
        yield


async def test_definitions_that_are_installed_later_are_noticed(virtual):
    async with embedded_world(installed=False) as world, world.controllers():
        await world.quiet()
        await install(world.api)
        await world.create(job())
        await world.until_status(pending=2)


async def test_without_definitions_nothing_is_written_and_nothing_is_logged_again_and_again(virtual):
    async with embedded_world(installed=False) as world:
        transport = Killing(world.transport)
        with capture_logs() as lines:
            async with world.controllers(transport):
                await asyncio.sleep(600)
        assert transport.writes == []
        assert max(Counter(line["event"] for line in lines).values()) == 1


async def test_definitions_that_are_removed_and_installed_again_start_from_the_beginning(virtual):
    async with embedded_world() as world, world.controllers() as controllers:
        await world.create(job())
        await world.until_status(pending=2)
        await world.api.ask("DELETE", f"{DEFINITIONS}/queuejobs.arbitrator.incubator.k8s.io")
        await asyncio.sleep(600)
        assert controllers.health.report(verbose=False) == (True, "ok")
        await install(world.api)
        await world.create(job("k"))
        await world.until_status("k", pending=2)


async def test_under_a_definition_that_keeps_no_removed_indexes_fewer_replicas_are_deleted_without_a_busy_loop(virtual):
    async with embedded_world() as world:
        await _forget_removed_indexes(world)
        transport = Killing(world.transport)
        async with world.controllers(transport):
            await world.create(job("j", task("w", 3)))
            await world.start("j-w-0-0", "j-w-1-0", "j-w-2-0")
            await world.until_status(phase="Running", running=3)
            await world.change(taskSpecs=[task("w", 2)])
            await world.wait_for(lambda: world.is_terminating("j-w-2-0"), "the highest index goes")
            writes = len(transport.writes)
            await asyncio.sleep(600)
            assert len(transport.writes) - writes <= 2
            await world.until_pods("j-w-0-0", "j-w-1-0")
            await world.until_status(phase="Running", running=2, restarts=0)
            await world.change(taskSpecs=[task("w", 3)])
            await world.until_status(phase="Running", running=2, pending=1, restarts=0)


async def _forget_removed_indexes(world: World) -> None:
    """As an earlier version has installed it."""
    name = f"{DEFINITIONS}/queuejobs.arbitrator.incubator.k8s.io"
    definition = await world.api.ask("GET", name)
    status = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    del status["properties"]["taskStatuses"]["items"]["properties"]["removedIndexes"]
    await world.api.ask("PUT", name, definition)


FAULTS = {
    "refused once": Rule(Fault.STATUS, method="POST|PATCH|DELETE", status=500),
    "refused six times": Rule(Fault.STATUS, method="POST|PATCH|DELETE", status=503, count=6),
    "answer lost": Rule(Fault.ANSWER_LOST, method="POST|PATCH|DELETE", status=0, count=6),
    "conflict": Rule(Fault.STATUS, method="PATCH", status=409, count=2),
    "too many requests": Rule(Fault.STATUS, method="POST|PATCH|DELETE", status=429, retry_after=1, count=3),
    "watch cut": Rule(Fault.WATCH_CUT, method="GET", count=4, after_chunks=1),
}


@pytest.mark.random
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("story", morestories.ALL, ids=lambda story: story.__name__)
async def test_an_api_server_that_fails_now_and_then_changes_no_end(story: Story, fault: str, virtual):
    ends = []
    for rules in ([], [replace(FAULTS[fault])]):
        async with embedded_world() as world:
            observer, transport = NoPodTwice(world.store), FaultyTransport(world.transport)
            transport.rules += rules
            async with world.controllers(transport):
                await story(world)
                ends.append(await end_of(world))
            assert observer.seen == []
    assert ends[0] == ends[1]


async def test_of_two_replicas_the_leader_alone_writes_and_the_other_goes_on_when_it_is_gone(virtual):
    with virtual_clocks():  # of the lease
        async with embedded_world() as world:
            await _lose_the_leader(world)


async def _lose_the_leader(world: World) -> None:
    observer = NoPodTwice(world.store)
    transports = [Killing(world.transport), Killing(world.transport)]
    await world.create(job("j", task("w", 2)))
    async with _replica(world, transports[0]) as leader:
        await world.until_status(pending=2)
        async with _replica(world, transports[1]):
            await world.phase("Running")
            await world.until_status(phase="Running", running=2)
            assert [write for write in transports[1].writes if "/leases" not in write] == []
            transports[0].died.set()  # without giving its lease back
            leader.cancel()
            await world.fail("j-w-0-0")
            await world.until_status(phase="Restarting", restarts=1, pending=2)
    assert observer.seen == []


class _replica:  # noqa: N801 - read as a function
    """Controllers with a lease, as a task that can be cancelled."""

    def __init__(self, world: World, transport: Killing) -> None:
        client = Client(transport)
        reflectors = SharedReflectors(client)
        self._runs = (reflectors, Controllers(client, Settings(), reflectors, clock=world.clock))

    async def __aenter__(self) -> asyncio.Task[None]:
        async def run() -> None:
            async with asyncio.TaskGroup() as tasks:
                for each in self._runs:
                    tasks.create_task(each.run())

        self._task = asyncio.ensure_future(run())
        return self._task

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])


# --- specs that cannot be used ---


async def test_where_nobody_evaluates_cel_the_status_names_field_and_value_and_no_pod_is_touched(virtual):
    async with embedded_world() as world, world.controllers():
        await world.create(job("j", task("w", 2), minimum=2))
        await world.until_status(pending=2)
        before = {name: pod["metadata"]["uid"] for name, pod in (await world.pods()).items()}
        await world.change(schedSpec={"minAvailable": 5})
        told = await world.until_condition("SpecValid", "False", "Invalid")
        assert told == "spec.schedSpec.minAvailable is 5, and all taskSpecs together have 2 replicas"
        assert {name: pod["metadata"]["uid"] for name, pod in (await world.pods()).items()} == before
        await world.change(schedSpec={"minAvailable": 1})
        status = await world.until_status(minAvailable=1, pending=2)
        assert "SpecValid" not in [each["type"] for each in status["conditions"]]


INVALID = {
    "minAvailable must not be more than": job("j", task("w", 2), minimum=3),
    "give one of them": job("j", task("w"), minimum=1, schedulingSpec={"minAvailable": 1}),
    "two taskSpecs have the same name": job("j", task("w"), task("w")),
    "63 characters": job("j" * 64, task("w")),
    "spec.taskSpecs": job("j", {"name": "Not_A_Name", "template": {}}),
    "spec.maxRestarts": job("j", task("w"), maxRestarts=-1),
    "spec.network": job("j", task("w"), network="Everything"),
}


@pytest.mark.real
@pytest.mark.parametrize("told", INVALID)
async def test_a_real_api_server_refuses_what_cannot_be_used(told: str, real_world_of_jobs: World):
    with pytest.raises(Refused, match=told):
        await real_world_of_jobs.create(INVALID[told])


@pytest.mark.real
async def test_a_real_api_server_refuses_a_change_to_a_minimum_that_is_too_high(real_world_of_jobs: World):
    await real_world_of_jobs.create(job("j", task("w", 2), minimum=2))
    with pytest.raises(Refused, match="must not be more than the replicas"):
        await real_world_of_jobs.api.ask(
            "PATCH", real_world_of_jobs._jobs("j"), {"spec": {"schedSpec": {"minAvailable": 3}}}, MERGE
        )
