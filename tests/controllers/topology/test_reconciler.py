"""The status of the topology follows the nodes and the spec, whatever is installed; and nothing is written in vain."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from koordpy.api.topology import GROUP
from koordpy.sim.embedded.faults import Fault, Rule
from tests.builders import Json
from tests.controllers.topologies import (
    BLOCK,
    BROKEN,
    DEFAULT,
    GOOD,
    NODES,
    SPINE,
    TOPOLOGIES,
    koordinators,
    layer,
    node,
    ready,
    told,
    topology,
)
from tests.controllers.world import DEFINITIONS, SETTLED_S, World, definition

pytestmark = pytest.mark.looptime

KINDS = {
    "ours": definition(GROUP),
    "koordinators": koordinators(),
    "without-subresource": definition(GROUP, status_subresource=False),
}


async def add(world: World, *nodes: Json) -> None:
    for each in nodes:
        await world.cluster.create(NODES, each)


async def status_after(world: World, seconds: float = SETTLED_S) -> Json:
    await asyncio.sleep(seconds)
    return (await world.ask("GET", DEFAULT)).get("status", {})


async def install(world: World, layers: list[Json] | None = None) -> None:
    await world.cluster.create(TOPOLOGIES, topology(GOOD if layers is None else layers))


async def change_spec(world: World, layers: list[Json]) -> None:
    await world.ask("PATCH", DEFAULT, {"spec": {"networkTopologySpec": layers}})


async def events(world: World) -> list[Any]:
    found = await world.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    return [(e["type"], e["reason"], e["regarding"]["name"], e["note"]) for e in found["items"]]


def topology_writes(world: World) -> list[str]:
    return [path for path in world.writes() if path.startswith(TOPOLOGIES)]


# --- what the status says ---


@pytest.mark.parametrize("kind", KINDS)
async def test_the_status_shows_the_tree_layer_by_layer(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"), node("n2", "s1", "b1"), node("n3", "s1", "b2"), node("n4", "s2", "b3"))
        await install(world)
        found = await status_after(world)
    assert told(found) == [
        "cluster 4 spine: s1 s2",
        "cluster/s1 3 block: b1 b2",
        "cluster/s2 1 block: b3",
        "s1/b1 2 node",
        "s1/b2 1 node",
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
    assert told(found)[1:] == ["cluster/s1 4 block: b1 b2 b10 b11"] + [f"s1/b{i} 1 node" for i in (1, 2, 10, 11)]


async def test_entries_of_a_layer_stand_by_parent_and_then_by_name():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s2", "a"), node("n2", "s1", "z"), node("n3", "s10", "a"), node("n4", "s1", "c"))
        await install(world)
        found = await status_after(world)
    assert [line.split()[0] for line in told(found)[4:]] == ["s1/c", "s1/z", "s2/a", "s10/a"]


async def test_blocks_of_one_name_below_two_spines_are_two():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"), node("n2", "s2", "b1"), node("n3", "s2", "b1"))
        await install(world)
        found = await status_after(world)
    assert told(found)[3:] == ["s1/b1 1 node", "s2/b1 2 node"]


async def test_nodes_without_a_label_are_counted_below_their_parent_without_a_name():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"), node("n2", "s1"), node("n3", "s1"), node("n4"), node("n5", None, "b9"))
        await install(world)
        found = await status_after(world)
    assert told(found) == [
        "cluster 5 spine: s1",
        "cluster/s1 3 block: b1",
        "cluster/- 2 block: b9",
        "s1/b1 1 node",
        "s1/- 2 node",
        "-/b9 1 node",
        "-/- 1 node",
    ]


async def test_a_block_that_has_the_name_of_its_only_node_keeps_it():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "n1"))
        await install(world)
        found = await status_after(world)
    assert told(found)[-1] == "s1/n1 1 node"


async def test_the_first_label_that_a_node_has_names_its_domain():
    layers = [layer("BlockLayer", "", "example.com/new", BLOCK), layer("NodeTopologyLayer", "BlockLayer")]
    async with World(definition(GROUP)) as world, world.controllers():
        both = node("n2", None, "old")
        both["metadata"]["labels"]["example.com/new"] = "new"
        await add(world, node("n1", None, "old"), both)
        await install(world, layers)
        found = await status_after(world)
    assert told(found) == ["cluster 2 block: new old", "cluster/new 1 node", "cluster/old 1 node"]


async def test_a_topology_of_nodes_alone_is_the_cluster():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1"))
        await install(world, [layer("NodeTopologyLayer")])
        found = await status_after(world)
    assert told(found) == ["cluster 1 node"]
    assert (found["layers"], found["domains"], found["nodes"]) == (1, 0, 1)


async def test_a_cluster_without_nodes_has_a_tree_without_domains():
    async with World(definition(GROUP)) as world, world.controllers():
        await install(world)
        found = await status_after(world)
    assert told(found) == ["cluster 0 spine"]
    assert ready(found)["status"] == "True"


async def test_only_the_topology_named_default_is_looked_at():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await world.cluster.create(TOPOLOGIES, topology(GOOD, "mine"))
        await asyncio.sleep(SETTLED_S)
        assert "status" not in await world.ask("GET", f"{TOPOLOGIES}/mine")


# --- it follows the nodes, within a second ---


@pytest.mark.parametrize("kind", KINDS)
async def test_a_node_that_appears_changes_or_leaves_is_seen_within_a_second(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        await status_after(world)
        await add(world, node("n2", "s1", "b2"))
        assert told(await status_after(world, 1.0))[1] == "cluster/s1 2 block: b1 b2"
        await world.ask("PATCH", f"{NODES}/n2", {"metadata": {"labels": {BLOCK: "b3"}}})
        assert told(await status_after(world, 1.0))[1] == "cluster/s1 2 block: b1 b3"
        await world.ask("PATCH", f"{NODES}/n2", {"metadata": {"labels": {SPINE: None, BLOCK: None}}})
        assert told(await status_after(world, 1.0))[2] == "cluster/- 1 block"
        await world.ask("DELETE", f"{NODES}/n1")
        assert told(await status_after(world, 1.0)) == ["cluster 1 spine", "cluster/- 1 block", "-/- 1 node"]


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


async def test_a_start_over_finds_nothing_to_write():
    async with World(definition(GROUP)) as world:
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        async with world.controllers():
            before = await status_after(world)
        writes = len(topology_writes(world))
        async with world.controllers():
            assert await status_after(world) == before
        assert len(topology_writes(world)) == writes


async def test_a_crowd_of_nodes_is_a_write_or_two():
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


# --- a spec that cannot be used ---


@pytest.mark.parametrize("problem", BROKEN)
async def test_a_broken_spec_keeps_the_tree_and_says_so_in_a_condition_and_an_event(problem):
    layers, words = BROKEN[problem]
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        before = await status_after(world)
        await change_spec(world, layers)
        found = await status_after(world)
        assert told(found) == told(before)
        condition = ready(found)
        assert (condition["status"], condition["reason"]) == ("False", "InvalidSpec")
        assert condition["observedGeneration"] == 2
        assert words in condition["message"]
        assert condition["message"].endswith("; the last good tree stays in use")
        assert await events(world) == [("Warning", "InvalidSpec", "default", condition["message"])]


@pytest.mark.parametrize("kind", ["koordinators", "without-subresource"])
async def test_a_broken_spec_is_told_once_whatever_definition_is_installed(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        before = await status_after(world)
        await change_spec(world, BROKEN["cycle"][0])
        await asyncio.sleep(60)
        assert told(await status_after(world)) == told(before)
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
        assert told(first) == []
        assert ready(first)["message"].endswith("; there is no tree")
        await change_spec(world, GOOD)
        found = await status_after(world)
    assert told(found)[0] == "cluster 1 spine: s1"
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
    assert told(found)[0] == "cluster 2 spine: s1 s2"
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


# --- objects and definitions come and go ---


async def test_a_topology_that_is_made_again_starts_without_the_old_tree():
    async with World(definition(GROUP)) as world, world.controllers():
        await add(world, node("n1", "s1", "b1"))
        await install(world)
        await status_after(world)
        await world.ask("DELETE", DEFAULT)
        await asyncio.sleep(SETTLED_S)
        await install(world, BROKEN["cycle"][0])
        assert told(await status_after(world)) == []


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
        assert told(await status_after(world))[0] == "cluster 1 spine: s1"


async def test_a_write_that_fails_is_made_up_for_and_told_in_the_health():
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
        assert told(await status_after(world)) == ["cluster 0 spine"]
