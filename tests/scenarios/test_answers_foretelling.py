"""What-if about objects of every kind, and that what is foretold then happens, on both API servers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.builders import pod_json
from tests.scenarios.network import gathering, must
from tests.scenarios.objects import gang, members
from tests.scenarios.questions import WHATIF, Json, what_if
from tests.scenarios.queueing import LABEL
from tests.scenarios.test_queues_reclaim import full_of_a
from tests.scenarios.world import World

pytestmark = pytest.mark.usefixtures("patient")


def new_pod(world: World, name: str, **given: Any) -> Json:
    return pod_json(name, namespace=world.namespace, **({"cpu": 1} | given))


def new_gang(world: World, name: str, count: int, **given: Any) -> list[Json]:
    said = gang(name, minimum=count) | given.pop("annotations", {})
    return [new_pod(world, each, annotations=said, **given) for each in members(name, count)]


def new_queue(name: str, **cpu: int) -> Json:
    block = {"quota": 0, "limit": -1, "overQuotaWeight": 1} | cpu
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"resources": {"cpu": block}},
    }


def verdicts(answer: Json) -> dict[str, str]:
    return {job["name"]: job["verdict"] for job in answer["jobs"]}


# --- what is foretold happens ---


async def test_a_job_starts_where_it_was_foretold(world: World) -> None:
    await world.nodes(3, cpu=2)
    await world.pods("old", cpu=1)
    await world.bound("old")
    answer = await what_if(world, *new_gang(world, "a", 3, cpu=1))
    foretold = {each["pod"].partition("/")[2]: each["node"] for each in answer["jobs"][0]["placement"]}
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3), cpu=1)
    await world.bound(*members("a", 3))
    assert foretold == dict(zip(members("a", 3), world.node_names(*members("a", 3)), strict=True))


async def test_whom_a_queue_takes_back_from_is_foretold(world: World) -> None:
    await full_of_a(world)
    answer = await what_if(world, new_pod(world, "b-1", labels={LABEL: "b"}, priority=0))
    (job,) = answer["jobs"]
    assert (job["verdict"], job["queue"]) == ("ByEvicting", "b")
    (victim,) = job["evicts"]
    await world.in_queue("b", "b-1")
    await world.evicted(victim["pod"].partition("/")[2])


async def test_a_gang_that_is_evicted_as_a_whole_is_foretold_as_a_whole(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods(*members("g", 2), annotations=gang("g", minimum=2), cpu=1)
    await world.bound(*members("g", 2))
    answer = await what_if(world, new_pod(world, "high", priority=1000))
    (job,) = answer["jobs"]
    assert sorted(each["pod"] for each in job["evicts"]) == [f"{world.namespace}/g-1", f"{world.namespace}/g-2"]
    assert {each["job"] for each in job["evicts"]} == {f"{world.namespace}/g"}
    await world.urgent("high", cpu=1)
    await world.evicted(*members("g", 2))


async def test_starting_by_evicting_is_preferred_to_starting_later(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await world.starts_now("busy")
    later, now = new_pod(world, "low"), new_pod(world, "high", priority=1000)
    assert (await what_if(world, later))["verdict"] == "Later"
    assert (await what_if(world, now))["verdict"] == "ByEvicting"


async def test_asking_what_if_writes_nothing(virtual: World) -> None:
    await full_of_a(virtual)
    assert virtual.instance is not None
    before = len(virtual.instance.transport.writes)
    assert (await what_if(virtual, new_pod(virtual, "b-1", labels={LABEL: "b"})))["verdict"] == "ByEvicting"
    await virtual.nobody_evicted()
    assert len(virtual.instance.transport.writes) == before


# --- several jobs ---


async def test_the_verdict_is_the_worst_of_all_jobs(world: World) -> None:
    await world.nodes(1, cpu=2)
    answer = await what_if(world, new_pod(world, "small"), new_pod(world, "huge", cpu=64))
    assert verdicts(answer) == {"small": "Now", "huge": "Never"}
    assert answer["verdict"] == "Never"


async def test_jobs_are_planned_together_in_the_order_of_their_turn(world: World) -> None:
    await world.nodes(1, cpu=1)
    low, high = new_pod(world, "low"), new_pod(world, "high", priority=10)
    answer = await what_if(world, low, high)
    assert [job["name"] for job in answer["jobs"]] == ["high", "low"]
    assert verdicts(answer) == {"high": "Now", "low": "Never"}


async def test_nodes_that_are_added_go_to_those_that_wait_already(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("old", cpu=1)
    await world.bound("old")
    await world.pods("waits", cpu=1, priority=5)
    await world.says("waits", "Insufficient cpu")
    new = new_pod(world, "new")
    assert (await what_if(world, new, query="addNodes=1&like=n1"))["verdict"] == "Never"
    assert (await what_if(world, new, query="addNodes=2&like=n1"))["verdict"] == "Now"


async def test_gangs_that_start_together_are_one_job(world: World) -> None:
    await world.nodes(1, cpu=1)
    together = gang(groups=world.group("g", "h"))
    objects = [*new_gang(world, "g", 1, annotations=together), *new_gang(world, "h", 1, annotations=together)]
    (job,) = (await what_if(world, *objects))["jobs"]
    assert (job["type"], job["verdict"]) == ("GangGroup", "Never")


# --- the cluster is changed ---


async def test_nodes_and_jobs_that_are_gone_may_be_several(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pods("one", "two", "three", cpu=1)
    await world.bound("one", "two", "three")
    both = new_gang(world, "a", 2)
    gone = f"withoutJob={world.namespace}/one&withoutJob={world.namespace}/two"
    assert (await what_if(world, *both, query=gone))["verdict"] == "Now"
    on = world.node_names("one", "two")
    closed = f"{gone}&withoutNode={on[0]}&withoutNode={on[1]}"
    assert (await what_if(world, *both, query=closed))["verdict"] == "Never"


async def test_a_gang_is_without_as_a_whole(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods(*members("g", 2), annotations=gang("g", minimum=2), cpu=1)
    await world.bound(*members("g", 2))
    answer = await what_if(world, new_pod(world, "new", cpu=2), query=f"withoutJob={world.namespace}/g")
    assert answer["verdict"] == "Now"


# --- what may be sent ---


async def test_one_object_and_a_list_of_objects_are_read(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.caught_up()
    pod = new_pod(world, "p")
    for body in (pod, {"apiVersion": "v1", "kind": "List", "items": [pod]}):
        status, answer = await world.http(WHATIF, msgspec.json.encode(body))
        assert (status, verdicts(answer)) == (200, {"p": "Now"})


async def test_what_names_no_namespace_is_in_default(world: World) -> None:
    await world.nodes(1, cpu=2)
    pod = new_pod(world, "p")
    del pod["metadata"]["namespace"]
    (job,) = (await what_if(world, pod))["jobs"]
    assert (job["namespace"], job["placement"]) == ("default", [{"pod": "default/p", "node": "n1"}])


async def test_a_pod_that_waits_counts_as_changed_to_what_was_sent(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("p", cpu=4)
    await world.says("p", "Insufficient cpu")
    assert verdicts(await what_if(world, new_pod(world, "p", cpu=2))) == {"p": "Now"}
    await world.pending("p")


async def test_a_gangs_object_that_exists_counts_as_changed(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    group = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "a", "namespace": world.namespace},
        "spec": {"minMember": 2},
    }
    assert verdicts(await what_if(world, group)) == {"a": "Now"}
    await world.pending(*members("a", 3))


async def test_a_pod_that_runs_cannot_be_planned_again(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("p", cpu=1)
    await world.bound("p")
    answer = await what_if(world, new_pod(world, "p"), status=422)
    assert "runs on node n1 already" in answer["message"]


async def test_a_priority_class_is_read_from_the_cluster(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.classes(important=77)
    pod = new_pod(world, "p")
    pod["spec"]["priorityClassName"] = "important"
    await world.settled()
    assert (await what_if(world, pod))["jobs"][0]["priority"] == 77
    pod["spec"]["priorityClassName"] = "unheard-of"
    assert "'unheard-of' is no PriorityClass" in (await what_if(world, pod, status=422))["message"]


async def test_a_pod_with_gates_does_not_start(world: World) -> None:
    await world.nodes(1, cpu=1)
    pod = new_pod(world, "p")
    pod["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    (job,) = (await what_if(world, pod))["jobs"]
    assert (job["verdict"], job["explanation"]["reason"]) == ("Never", "Gated")


async def test_an_incomplete_gang_does_not_start(world: World) -> None:
    await world.nodes(1, cpu=4)
    pod = new_pod(world, "a-1", annotations=gang("a", minimum=2))
    (job,) = (await what_if(world, pod))["jobs"]
    assert (job["verdict"], job["explanation"]["reason"]) == ("Never", "Incomplete")
    assert job["explanation"]["changes"][0]["kind"] == "MembersAdded"


# --- queues ---


async def test_a_limit_that_would_be_in_the_way_is_named(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=1)
    (job,) = (await what_if(world, new_pod(world, "p", cpu=2, labels={LABEL: "a"})))["jobs"]
    assert (job["verdict"], job["queue"], job["explanation"]["reason"]) == ("Never", "a", "QueueLimit")
    assert "LimitRaised" in {each["kind"] for each in job["explanation"]["changes"]}


async def test_a_queue_that_is_sent_counts_for_what_is_pending(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=1)
    await world.in_queue("a", "p", cpu=2)
    await world.says("p", "no room below its limit")
    pod = new_pod(world, "p", cpu=2, labels={LABEL: "a"})
    answer = await what_if(world, new_queue("a", limit=1000), pod)
    assert verdicts(answer) == {"p": "Never"}
    answer = await what_if(world, new_queue("a", limit=2000), pod)
    assert verdicts(answer) == {"p": "Now"}


# --- together ---


async def test_how_close_together_a_gang_would_be(world: World) -> None:
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3"}, cpu=1)
    await world.topology()
    near = gathering(must("BlockLayer"))
    (job,) = (await what_if(world, *new_gang(world, "a", 2, annotations=near)))["jobs"]
    assert job["together"] == {"layer": "BlockLayer", "domain": "s1/b1"}


async def test_without_a_topology_nothing_is_said_of_that(world: World) -> None:
    await world.nodes(1, cpu=2)
    (job,) = (await what_if(world, *new_gang(world, "a", 2)))["jobs"]
    assert job["together"] is None


# --- workloads ---


def template(cpu: int = 1) -> Json:
    return {"metadata": {"labels": {"app": "w"}}, "spec": pod_json("x", cpu=cpu)["spec"]}


WORKLOADS = {
    "Deployment": ("apps/v1", {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "template": template()}),
    "LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1",
        {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template()}},
    ),
    "JobSet": (
        "jobset.x-k8s.io/v1alpha2",
        {
            "replicatedJobs": [
                {"name": "r", "replicas": 2, "template": {"spec": {"parallelism": 1, "template": template()}}}
            ]
        },
    ),
    "RayCluster": (
        "ray.io/v1",
        {
            "headGroupSpec": {"template": template()},
            "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "minReplicas": 1, "template": template()}],
        },
    ),
}


@pytest.mark.parametrize("kind", list(WORKLOADS))
async def test_a_workload_needs_what_its_pods_would_need(world: World, kind: str) -> None:
    """None of them is installed; two pods of one CPU come of each."""
    version, spec = WORKLOADS[kind]
    meta = {"name": "w", "namespace": world.namespace}
    sent = {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
    await world.nodes(1, cpu=1)
    assert (await what_if(world, sent))["verdict"] == "Never"
    answer = await what_if(world, sent, query="addNodes=1&like=n1")
    assert answer["verdict"] == "Now"
    placed = [each for job in answer["jobs"] for each in job["placement"]]
    assert sorted(each["node"] for each in placed) == ["n1", "n1-added-1"]


IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
DEPENDING = {"dependsOn": [{"name": "init", "status": "Complete"}]}


@pytest.mark.parametrize(("policy", "waits"), [(IN_ORDER, {}), ({}, DEPENDING)])
async def test_of_a_jobset_that_begins_with_one_part_only_that_part_is_foretold(
    world: World, policy: Json, waits: Json
) -> None:
    await world.nodes(1, cpu=1)
    first = {"name": "init", "replicas": 1, "template": {"spec": {"template": template()}}}
    second = {"name": "node", "replicas": 1, "template": {"spec": {"template": template(cpu=9)}}, **waits}
    meta = {"name": "w", "namespace": world.namespace}
    spec = {"replicatedJobs": [first, second], **policy}
    sent = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta, "spec": spec}
    (job,) = (await what_if(world, sent))["jobs"]
    assert (job["verdict"], len(job["placement"])) == ("Now", 1)


async def test_a_job_of_which_one_pod_suffices_starts_with_what_fits(world: World) -> None:
    await world.nodes(1, cpu=1)
    spec = {"parallelism": 2, "completions": 2, "template": template()}
    meta = {"name": "w", "namespace": world.namespace}
    (job,) = (await what_if(world, {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}))["jobs"]
    assert (job["verdict"], len(job["placement"])) == ("Now", 1)
