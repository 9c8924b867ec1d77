"""`GET /apis/koordpy.io/v1alpha1/jobs`: everything that is pending, in the order of its turn."""

from __future__ import annotations

import pytest

from tests.scenarios.network import gathering, must
from tests.scenarios.objects import gang
from tests.scenarios.questions import JOBS, explained, jobs
from tests.scenarios.world import World

pytestmark = pytest.mark.usefixtures("patient")


async def test_a_gang_that_does_not_fit_is_listed_with_its_message(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pods("a-1", "a-2", "a-3", annotations=gang("a", minimum=3), cpu=2)
    await world.says("a-1", "2 of 3 members fit")
    (job,) = await jobs(world)
    assert (job["namespace"], job["name"], job["type"]) == (world.namespace, "a", "Gang")
    assert (job["state"], job["reason"], job["position"]) == ("Pending", "Resources", 1)
    assert "2 of 3 members fit" in job["message"]
    assert job["members"] == {"minimum": 3, "total": 3, "pending": 3, "bound": 0, "gated": 0}


async def test_an_explanation_names_the_smallest_changes(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pods("old", cpu=1)
    await world.bound("old")
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=2)
    await world.says("a-1", "1 of 2 members fit")
    answer = await explained(world, "a")
    kinds = {change["kind"]: change for change in answer["changes"]}
    assert kinds["JobEnds"]["job"] == f"{world.namespace}/old"
    assert kinds["MinimumLowered"]["to"] == 1
    assert kinds["NodeAdded"]["count"] == 1
    assert kinds["RequestLowered"]["to"] == "1"
    assert answer["missing"][0]["short"] == "1"


async def test_nothing_is_listed_when_nothing_is_pending(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("a", cpu=1)
    await world.bound("a")
    assert await jobs(world) == []


async def test_the_message_is_word_for_word_that_of_the_pods(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("a", cpu=2)
    await world.says("a", "Insufficient cpu")
    (job,) = await jobs(world)
    await world.says("a", job["message"])
    assert (await explained(world, "a"))["job"]["message"] == job["message"]


async def test_the_more_important_job_is_first_in_line(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("low", cpu=2)
    await world.says("low", "Insufficient cpu")
    await world.pods("high", cpu=2, priority=100)
    await world.says("high", "Insufficient cpu")
    assert [(job["position"], job["name"]) for job in await jobs(world)] == [(1, "high"), (2, "low")]


async def test_a_job_that_fits_nowhere_never_starts(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("a", cpu=2)
    await world.says("a", "even on an empty cluster")
    (job,) = await jobs(world)
    assert job["expectedStart"]["certainty"] == "Never"
    assert job["expectedStart"]["time"] is None


async def test_a_running_job_is_explained_as_started(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1)
    await world.bound("a-1", "a-2")
    answer = await explained(world, "a")
    assert (answer["job"]["state"], answer["job"]["position"], answer["job"]["reason"]) == ("Running", None, None)
    assert answer["job"]["message"] == ""
    assert answer["job"]["expectedStart"]["certainty"] == "Started"
    assert (answer["missing"], answer["inTheWay"], answer["changes"]) == ([], [], [])


async def test_a_gang_is_found_by_any_of_its_pods(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=1)
    await world.says("a-1", "1 of 2 members fit")
    assert (await explained(world, "a-2"))["job"]["name"] == "a"


async def test_an_incomplete_gang_needs_members(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("other", "n1", cpu=1)
    await world.pods("a-1", annotations=gang("a", minimum=3), cpu=1)
    await world.says("a-1", "1 of 3 members")
    answer = await explained(world, "a")
    assert (answer["job"]["state"], answer["job"]["reason"]) == ("Incomplete", "Incomplete")
    kinds = {change["kind"]: change for change in answer["changes"]}
    assert kinds["MembersAdded"]["count"] == 2
    assert kinds["MinimumLowered"]["to"] == 1
    assert [each["kind"] for each in answer["inTheWay"]] == ["Member"]  # who runs has nothing to do with it


async def test_a_gated_member_is_named(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pods("a-1", annotations=gang("a", minimum=2), cpu=1)
    await world.pods("a-2", annotations=gang("a", minimum=2), cpu=1, gated=True)
    await world.says("a-1", "gated: a-2")
    answer = await explained(world, "a")
    assert (answer["job"]["reason"], answer["job"]["members"]["gated"]) == ("Gated", 1)
    (change,) = (each for each in answer["changes"] if each["kind"] == "GateRemoved")
    assert change["members"] == [f"{world.namespace}/a-2"]


async def test_a_taint_in_the_way_is_named_with_both_cures(world: World) -> None:
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    await world.node("n1", cpu=2, taints=[taint])
    await world.pods("a", cpu=1)
    await world.says("a", "untolerated taint")
    answer = await explained(world, "a")
    assert answer["job"]["reason"] == "Constraints"
    kinds = {change["kind"]: change for change in answer["changes"]}
    assert kinds["TolerationAdded"]["key"] == "dedicated"
    assert kinds["TaintRemoved"]["node"] == "n1"
    assert answer["inTheWay"][0]["kind"] == "Node"


async def test_a_selector_that_no_node_has_can_be_dropped_or_given(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("a", cpu=1, node_selector={"disk": "ssd"})
    await world.says("a", "didn't match")
    kinds = {change["kind"]: change for change in (await explained(world, "a"))["changes"]}
    assert kinds["SelectorDropped"]["key"] == "disk"
    labelled = kinds["NodeLabelled"]
    assert (labelled["node"], labelled["key"], labelled["value"]) == ("n1", "disk", "ssd")


async def test_a_cordoned_node_can_be_uncordoned(world: World) -> None:
    await world.node("n1", cpu=2, cordoned=True)
    await world.pods("a", cpu=1)
    await world.says("a", "unschedulable")
    kinds = {change["kind"]: change for change in (await explained(world, "a"))["changes"]}
    assert kinds["NodeUncordoned"]["node"] == "n1"


async def test_where_one_domain_must_hold_all_of_it_the_domains_are_counted(world: World) -> None:
    await world.fabric({"s1/b1": "n1", "s2/b2": "n2"}, cpu=1)
    await world.topology()
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "no domain holds the whole job")
    answer = await explained(world, "a")
    assert answer["job"]["reason"] == "Topology"
    assert {(each["layer"], each["domain"], each["slots"], each["needed"]) for each in answer["missing"]} == {
        ("SpineLayer", "s1", 1, 2),
        ("SpineLayer", "s2", 1, 2),
    }
    kinds = {change["kind"]: change for change in answer["changes"]}
    assert kinds["GatherRelaxed"]["layer"] == "SpineLayer"
    assert kinds["GatherRelaxed"]["to"] is None
    assert kinds["NodeAdded"]["count"] == 1


async def test_a_job_that_does_not_exist_is_a_status_of_404(world: World) -> None:
    status, answer = await world.http(f"{JOBS}/{world.namespace}/nobody")
    assert (status, answer["kind"], answer["reason"]) == (404, "Status", "NotFound")
    assert f"{world.namespace}/nobody" in answer["message"]


async def test_a_process_that_does_not_lead_says_so(virtual: World) -> None:
    await virtual.stop()
    await virtual.stand_by()
    status, answer = await virtual.http(JOBS)
    assert (status, answer["kind"], answer["reason"]) == (503, "Status", "ServiceUnavailable")
    assert "the leader is" in answer["message"]


async def test_the_schema_is_served(virtual: World) -> None:
    status, answer = await virtual.http("/openapi.json")
    assert status == 200
    assert answer["openapi"].startswith("3.1")
    assert set(answer["components"]["schemas"]) >= {"Job", "Explanation", "WhatIf", "JobEnds", "Status"}
