"""A spec that cannot be used: the last good tree stays, and an event reports it once."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.topology import GROUP
from koordpy.sim.embedded.faults import Fault, Rule
from tests.controllers.topologies import (
    BROKEN,
    DEFAULT,
    GOOD,
    node,
    ready,
    tree_lines,
)
from tests.controllers.topology.actions import KINDS, add, change_spec, events, install, status_after
from tests.controllers.world import SETTLED_S, World, definition

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("problem", BROKEN)
async def test_a_broken_spec_keeps_the_tree_and_says_so_in_a_condition_and_an_event(problem):
    layers, words = BROKEN[problem]
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        before = await status_after(world)
        await change_spec(world, layers)
        found = await status_after(world)
        assert tree_lines(found) == tree_lines(before)
        condition = ready(found)
        assert (condition["status"], condition["reason"]) == ("False", "InvalidSpec")
        assert condition["observedGeneration"] == 2
        assert words in condition["message"]
        assert condition["message"].endswith("; the last good tree stays in use")
        assert await events(world) == [("Warning", "InvalidSpec", "default", condition["message"])]


@pytest.mark.parametrize("kind", ["koordinators", "without-subresource"])
async def test_a_broken_spec_is_reported_once_whatever_definition_is_installed(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        before = await status_after(world)
        await change_spec(world, BROKEN["cycle"][0])
        await asyncio.sleep(60)
        assert tree_lines(await status_after(world)) == tree_lines(before)
        for number in (2, 3):
            await add(world, node(f"n{number}", "s1", "b1"))
            await asyncio.sleep(SETTLED_S)
        assert len([path for path in world.writes() if "/events" in path]) == 1


async def test_the_event_is_where_kubectl_describe_looks_for_it():
    async with World(definition(GROUP)) as world, world.controllers():
        await install(world, BROKEN["cycle"][0])
        await asyncio.sleep(SETTLED_S)
        (event,) = (await world.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
        uid = (await world.ask("GET", DEFAULT))["metadata"]["uid"]
    about = event["regarding"]
    assert (about["kind"], about["name"], about["uid"]) == ("ClusterNetworkTopology", "default", uid)
    assert not about.get("namespace")  # a cluster-scoped object has none


async def test_a_spec_that_is_mended_is_ready_again():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world, BROKEN["cycle"][0])
        first = await status_after(world)
        assert tree_lines(first) == []
        assert ready(first)["message"].endswith("; there is no tree")
        await change_spec(world, GOOD)
        found = await status_after(world)
    assert tree_lines(found)[0] == "cluster 1 spine: s1"
    assert (ready(found)["status"], ready(found)["reason"]) == ("True", "TreeBuilt")
    assert ready(found)["lastTransitionTime"] > ready(first)["lastTransitionTime"]


async def test_while_a_spec_is_broken_the_last_good_tree_follows_the_nodes():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        await status_after(world)
        await change_spec(world, BROKEN["duplicate"][0])
        first = await status_after(world)
        await add(world, node("n2", "s2", "b2"))
        found = await status_after(world)
    assert tree_lines(found)[0] == "cluster 2 spine: s1 s2"
    assert ready(found) == ready(first)


async def test_a_controller_that_starts_over_a_broken_spec_leaves_the_tree_and_does_not_repeat_the_event():
    async with World(definition(GROUP)) as world:
        async with world.controllers():
            await add(world, node("n1", "s1", "b1"))
            await install(world)
            await status_after(world)
            await change_spec(world, BROKEN["cycle"][0])
            before = await status_after(world)
        async with world.controllers():
            assert await status_after(world) == before
        assert len(await events(world)) == 1


async def test_another_mistake_is_another_event():
    async with World(definition(GROUP)) as world, world.controllers():
        await install(world, BROKEN["cycle"][0])
        await status_after(world)
        await change_spec(world, BROKEN["duplicate"][0])
        await status_after(world)
        assert len(await events(world)) == 2


async def test_an_event_that_could_not_be_written_is_written_later():
    async with World(definition(GROUP)) as world, world.controllers() as controllers:
        world.faults.add(Rule(Fault.STATUS, "POST", "/apis/events.k8s.io/.*", count=2, status=403))
        await install(world, BROKEN["cycle"][0])
        await asyncio.sleep(30)
        assert len(await events(world)) == 1
        assert controllers.health.report(verbose=False) == (True, "ok")


async def test_a_leader_that_stops_before_its_event_is_written_leaves_it_to_the_next():
    async with World(definition(GROUP)) as world:
        world.faults.add(Rule(Fault.DELAY, "POST", "/apis/events.k8s.io/.*", seconds=8.0))
        async with world.controllers():
            await install(world, BROKEN["cycle"][0])
            await asyncio.sleep(5)
            assert await events(world) == []
        async with world.controllers():
            await asyncio.sleep(60)
            assert len(await events(world)) == 1


@pytest.mark.parametrize("status", [403, 422, 503])
async def test_an_event_that_cannot_be_written_does_not_hold_up_the_status(status):
    async with World(definition(GROUP)) as world, world.controllers():
        world.faults.add(Rule(Fault.STATUS, "POST", "/apis/events.k8s.io/.*", count=None, status=status))
        await install(world, BROKEN["cycle"][0])
        assert ready(await status_after(world, 30))["status"] == "False"


async def test_an_event_that_is_refused_does_not_bury_a_status_that_should_be_tried_soon():
    async with World(definition(GROUP)) as world, world.controllers():
        world.faults.add(Rule(Fault.STATUS, "POST", "/apis/events.k8s.io/.*", count=None, status=422))
        world.faults.add(Rule(Fault.STATUS, "PATCH", count=1, status=409))
        await install(world, BROKEN["cycle"][0])
        assert ready(await status_after(world, 30))["status"] == "False"
