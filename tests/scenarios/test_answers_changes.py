"""The changes that an explanation names: each starts the job when it is made, and a smaller one does not."""

from __future__ import annotations

import pytest

from tests.scenarios.network import gathering, must
from tests.scenarios.objects import gang, members
from tests.scenarios.questions import changes, explained, what_if
from tests.scenarios.queueing import LABEL
from tests.scenarios.world import World

pytestmark = pytest.mark.usefixtures("patient")


async def gang_waits(world: World) -> None:
    """Gang a needs three nodes, and there are two, on one of which `old` runs."""
    await world.nodes(2, cpu=2)
    await world.pods("old", cpu=1)
    await world.bound("old")
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=2)
    await world.says("a-1", "1 of 3 members fit")


# --- jobs and nodes ---


async def test_so_many_nodes_suffice_and_one_less_does_not(world: World) -> None:
    await gang_waits(world)
    added = (await changes(world, "a"))["NodeAdded"]
    assert (added["like"], added["count"]) == ("n1", 2)
    await world.node("more-1", cpu=2)
    await world.pending(*members("a", 3))
    await world.node("more-2", cpu=2)
    await world.bound(*members("a", 3))


async def test_nodes_that_start_a_job_with_a_reserved_start_are_counted_once(world: World) -> None:
    """In front of `long` the gang takes a free node and an added one; nothing is reserved for it beside these."""
    await world.nodes(2, cpu=1)
    await world.timed("busy", seconds=600)
    await world.starts_now("busy")
    await world.timed("a-1", "a-2", seconds=100, annotations=gang("a", minimum=2))
    await world.says("a-1", "reserved to start at")
    await world.timed("long", seconds=900)
    await world.says("long", "nodes are reserved for {ns}/a")
    assert (await changes(world, "long"))["NodeAdded"]["count"] == 2
    found = await what_if(world, query="addNodes=2&like=n2")
    assert [job["verdict"] for job in found["jobs"]] == ["Now", "Now"]
    await world.node("more-1", cpu=1)
    await world.node("more-2", cpu=1)
    await world.bound("a-1", "a-2", "long")


async def test_the_job_that_ends_makes_room(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("small", cpu=1)
    await world.pods("other", cpu=1)
    await world.bound("small", "other")
    await world.pods("p", cpu=1)
    await world.says("p", "Insufficient cpu")
    ends = (await changes(world, "p"))["JobEnds"]["job"].partition("/")[2]
    await world.finish(ends)
    await world.bound("p")


async def test_a_job_whose_end_does_not_suffice_is_not_named(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("one", "two", cpu=1)
    await world.bound("one", "two")
    await world.pods("p", cpu=2)
    await world.says("p", "Insufficient cpu")
    answer = await explained(world, "p")
    assert not [each for each in answer["changes"] if each["kind"] == "JobEnds"]
    assert {each["name"] for each in answer["inTheWay"]} == {f"{world.namespace}/one", f"{world.namespace}/two"}


async def test_a_gang_that_ends_is_one_job(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("g", 2), annotations=gang("g", minimum=2), cpu=1)
    await world.bound(*members("g", 2))
    await world.pods(*members("a", 2), annotations=gang("a", minimum=2), cpu=1)
    await world.says("a-1", "Insufficient cpu")
    assert (await changes(world, "a"))["JobEnds"]["job"] == f"{world.namespace}/g"


async def test_an_uncordoned_node_takes_it(world: World) -> None:
    await world.node("closed", cpu=2, cordoned=True)
    await world.pods("p", cpu=1)
    await world.says("p", "unschedulable")
    await world.change_node((await changes(world, "p"))["NodeUncordoned"]["node"], unschedulable=None)
    await world.bound("p")


async def test_the_label_that_a_node_lacks_is_named_with_its_value(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("p", cpu=1, node_selector={"disk": "ssd"})
    await world.says("p", "didn't match")
    change = (await changes(world, "p"))["NodeLabelled"]
    await world.change_node(change["node"], labels={change["key"]: change["value"]})
    await world.bound("p")


async def test_a_taint_that_is_removed_lets_it_in(world: World) -> None:
    await world.node("n1", cpu=2, taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}])
    await world.pods("p", cpu=1)
    await world.says("p", "untolerated taint")
    change = (await changes(world, "p"))["TaintRemoved"]
    assert (change["key"], change["effect"]) == ("dedicated", "NoSchedule")
    await world.change_node(change["node"], taints=None)
    await world.bound("p")


# --- the job itself ---


async def test_the_largest_minimum_that_fits(world: World) -> None:
    await gang_waits(world)
    change = (await changes(world, "a"))["MinimumLowered"]
    assert (change["gang"], change["from"], change["to"]) == (f"{world.namespace}/a", 3, 1)
    await world.change_pod_group("a", minMember=2)
    await world.pending(*members("a", 3))
    await world.change_pod_group("a", minMember=1)
    await world.some_bound(1, *members("a", 3))


async def test_the_largest_request_that_fits(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.pods("old", cpu=1)
    await world.bound("old")
    await world.pods("p", cpu=4)
    await world.says("p", "Insufficient cpu")
    change = (await changes(world, "p"))["RequestLowered"]
    assert (change["from"], change["to"], change["members"]) == ("4", "3", [f"{world.namespace}/p"])
    await world.pods("q", cpu=3)
    await world.bound("q")


async def test_a_priority_above_who_is_in_the_way_evicts_whom_it_says(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("low", cpu=1, priority=7)
    await world.bound("low")
    await world.pods("p", cpu=1)
    await world.says("p", "Insufficient cpu")
    change = (await changes(world, "p"))["PriorityRaised"]
    assert (change["above"], change["evicts"]) == (7, [f"{world.namespace}/low"])
    await world.urgent("higher", cpu=1, priority=8)
    await world.evicted("low")


async def test_who_must_not_preempt_is_told_nothing_of_priorities(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("low", cpu=1)
    await world.bound("low")
    await world.pods("modest", cpu=1, priority=0)
    await world.says("modest", "Insufficient cpu")
    assert "PriorityRaised" not in await changes(world, "modest")


async def test_members_that_are_missing_start_it_when_they_come(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.pods("a-1", annotations=gang("a", minimum=3), cpu=1)
    await world.says("a-1", "1 of 3 members")
    assert (await changes(world, "a"))["MembersAdded"]["count"] == 2
    await world.pods("a-2", "a-3", annotations=gang("a", minimum=3), cpu=1)
    await world.bound(*members("a", 3))


async def test_members_are_not_asked_for_where_they_would_not_fit(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("a-1", annotations=gang("a", minimum=3), cpu=1)
    await world.says("a-1", "1 of 3 members")
    assert "MembersAdded" not in await changes(world, "a")


async def test_a_gate_that_is_removed_starts_a_single_pod(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("p", cpu=1, gated=True)
    await world.settled()
    change = (await changes(world, "p"))["GateRemoved"]
    assert change["members"] == [f"{world.namespace}/p"]
    await world.ungate("p")
    await world.bound("p")


async def test_a_gate_is_not_enough_where_there_is_no_room(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("p", cpu=2, gated=True)
    await world.settled()
    assert "GateRemoved" not in await changes(world, "p")


# --- topology ---


async def test_a_gather_rule_is_relaxed_to_the_narrowest_layer_that_holds_it(world: World) -> None:
    await world.fabric({"s1/b1": "n1", "s1/b2": "n2", "s2/b3": "n3"}, cpu=1)
    await world.topology()
    await world.pod_group("a", minimum=2, annotations=gathering(must("BlockLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "no domain holds the whole job")
    change = (await changes(world, "a"))["GatherRelaxed"]
    assert (change["layer"], change["to"]) == ("BlockLayer", "SpineLayer")
    await world.change_pod_group("a", annotations=gathering(must("SpineLayer")))
    await world.bound("a-1", "a-2")
    assert world.spines("a-1", "a-2") == ["s1", "s1"]


async def test_each_domain_says_how_much_of_the_gang_it_holds(world: World) -> None:
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3"}, cpu=1)
    await world.topology()
    await world.pod_group("a", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "no domain holds the whole job")
    found = (await explained(world, "a"))["missing"]
    assert [(each["domain"], each["slots"], each["short"]) for each in found] == [("s1", 2, "1"), ("s2", 1, "2")]


# --- queues ---


async def test_a_limit_is_raised_to_what_lets_the_whole_job_in(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=2)
    await world.jobs_of("a", 1)
    await world.have(a=1)
    await world.kai("g", 3, queue="a")
    await world.kai_pods(*members("g", 3), gang="g")
    await world.says("g-1", "no room below its limit")
    change = (await changes(world, "g"))["LimitRaised"]
    assert (change["queue"], change["resource"], change["from"], change["to"]) == ("a", "cpu", "2", "4")
    await world.change_queue("a", limit=3)
    await world.pending(*members("g", 3))
    await world.change_queue("a", limit=4)
    await world.bound(*members("g", 3))


async def test_a_quota_is_raised_for_work_that_is_not_preemptible(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", quota=1)
    await world.in_queue("a", "p", cpu=3, priority=100)
    await world.says("p", "no room below its quota")
    change = (await changes(world, "p"))["QuotaRaised"]
    assert (change["queue"], change["from"], change["to"]) == ("a", "1", "3")
    await world.change_queue("a", quota=3)
    await world.bound("p")


async def test_a_limit_whose_parent_is_as_narrow_is_not_the_change(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("top", limit=1)
    await world.queue("a", parent="top", limit=1)
    await world.in_queue("a", "p", cpu=2)
    await world.says("p", "no room below its limit")
    assert "LimitRaised" not in await changes(world, "p")


async def test_a_job_of_the_same_queue_that_ends_makes_room_below_its_limit(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=1)
    await world.jobs_of("a", 1)
    await world.have(a=1)
    await world.pods("outside", cpu=1)
    await world.bound("outside")
    await world.in_queue("a", "p")
    await world.says("p", "no room below its limit")
    ends = [each["job"] for each in (await explained(world, "p"))["changes"] if each["kind"] == "JobEnds"]
    assert ends == [f"{world.namespace}/a-1"]


async def test_the_queue_that_is_named_is_created(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a")
    await world.pods("p", cpu=1, labels={LABEL: "nowhere"})
    await world.says("p", "queue nowhere does not exist")
    assert (await changes(world, "p"))["QueueCreated"]["queue"] == "nowhere"
    await world.queue("nowhere")
    await world.bound("p")


# --- all of them ---


async def test_the_gentlest_change_is_first_and_what_costs_others_is_last(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pods("old", cpu=1)
    await world.bound("old")
    await world.pods(*members("a", 2), annotations=gang("a", minimum=2), cpu=2)
    await world.says("a-1", "1 of 2 members fit")
    kinds = list(await changes(world, "a"))
    assert kinds == ["MinimumLowered", "RequestLowered", "JobEnds", "NodeAdded", "PriorityRaised"]


async def test_what_those_in_front_would_take_is_no_change_for_those_behind(world: World) -> None:
    """One node more goes to the first of them."""
    await world.nodes(1, cpu=1)
    await world.pods("old", cpu=1)
    await world.bound("old")
    await world.pods("first", cpu=1, priority=5)
    await world.pods("second", cpu=1)
    await world.says("first", "Insufficient cpu")
    await world.says("second", "Insufficient cpu")
    assert (await changes(world, "first"))["NodeAdded"]["count"] == 1
    assert (await changes(world, "second"))["NodeAdded"]["count"] == 2


async def test_asking_writes_nothing(virtual: World) -> None:
    await gang_waits(virtual)
    await virtual.pending(*members("a", 3))
    assert virtual.instance is not None
    before = len(virtual.instance.transport.writes)
    assert (await explained(virtual, "a"))["changes"]
    await virtual.pending(*members("a", 3))
    assert len(virtual.instance.transport.writes) == before
