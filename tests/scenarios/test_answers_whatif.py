"""`POST /apis/koordpy.io/v1alpha1/whatif`: what would become of objects that do not exist."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.builders import pod_json
from tests.scenarios.objects import gang
from tests.scenarios.questions import WHATIF, Json, expected_start, what_if
from tests.scenarios.queueing import RUN_TIME
from tests.scenarios.world import World

POD_OF_ODD_SIZE = yaml.safe_dump(pod_json("p", cpu="1x")).encode()

pytestmark = pytest.mark.usefixtures("patient")


def members(world: World, name: str, count: int, **given: Any) -> list[Json]:
    annotations = gang(name, minimum=count)
    return [
        pod_json(f"{name}-{number}", namespace=world.namespace, annotations=annotations, **given)
        for number in range(count)
    ]


async def test_a_gang_that_fits_starts_now_and_is_not_created(world: World) -> None:
    await world.nodes(2, cpu=2)
    answer = await what_if(world, *members(world, "a", 2, cpu=2))
    assert answer["verdict"] == "Now"
    (job,) = answer["jobs"]
    assert {each["node"] for each in job["placement"]} == {"n1", "n2"}
    assert (job["name"], job["type"], job["evicts"], job["explanation"]) == ("a", "Gang", [], None)
    status, listed = await world.http("/apis/koordpy.io/v1alpha1/jobs")
    assert (status, listed["items"]) == (200, [])


async def test_a_gang_that_does_not_fit_is_explained(world: World) -> None:
    await world.nodes(2, cpu=2)
    answer = await what_if(world, *members(world, "a", 3, cpu=2))
    assert answer["verdict"] == "Never"
    (job,) = answer["jobs"]
    assert job["start"]["certainty"] == "Never"
    assert job["placement"] == []
    assert job["explanation"]["reason"] == "Resources"
    assert {"NodeAdded", "MinimumLowered"} <= {each["kind"] for each in job["explanation"]["changes"]}


async def test_the_victims_that_are_named_are_those_that_are_evicted(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pods("low-1", "low-2", cpu=2)
    await world.bound("low-1", "low-2")
    new = pod_json("high", namespace=world.namespace, cpu=2, priority=1000)
    answer = await what_if(world, new)
    assert answer["verdict"] == "ByEvicting"
    (job,) = answer["jobs"]
    (victim,) = job["evicts"]
    assert job["start"]["certainty"] == "Declared"
    name = victim["pod"].partition("/")[2]
    await world.urgent("high", cpu=2)
    await world.evicted(name)
    await world.gone(name)
    await world.bound("high")
    assert [{"pod": f"{world.namespace}/high", "node": node} for node in world.node_names("high")] == job["placement"]


async def test_a_job_that_would_delay_a_reserved_start_starts_later(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.timed("busy", seconds=600)
    await world.starts_now("busy")
    await world.timed("a-1", "a-2", seconds=100, annotations=gang("a", minimum=2))
    await world.says("a-1", "reserved to start at")
    short, long = (
        pod_json("new", namespace=world.namespace, cpu=1, annotations={RUN_TIME: f"{seconds}s"})
        for seconds in (60, 900)
    )
    assert (await what_if(world, short))["verdict"] == "Now"
    answer = await what_if(world, long)
    assert answer["verdict"] == "Later"
    assert answer["jobs"][0]["explanation"]["reason"] == "Reservation"


async def test_nodes_that_are_added_count(world: World) -> None:
    await world.nodes(1, cpu=2)
    answer = await what_if(world, *members(world, "a", 3, cpu=2), query="addNodes=2&like=n1")
    assert answer["verdict"] == "Now"


async def test_an_empty_body_asks_about_what_is_pending(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), cpu=2)
    await world.says("a-1", "1 of 2 members fit")
    assert (await what_if(world, query="addNodes=1&like=n1"))["jobs"][0]["verdict"] == "Now"
    assert (await what_if(world))["jobs"][0]["verdict"] == "Never"


async def test_nodes_that_are_added_stay_for_the_jobs_that_come_after_one_that_would_need_more(world: World) -> None:
    """What would help the first is searched by adding still others, which must not take these away."""
    await world.nodes(1, cpu=2)
    await world.runs("old", "n1", cpu=2)
    first = members(world, "a", 3, cpu=2)
    last = pod_json("last", namespace=world.namespace, cpu=2, priority=-1)
    answer = await what_if(world, *first, last, query="addNodes=1&like=n1")
    refused, started = answer["jobs"]
    (more,) = (each for each in refused["explanation"]["changes"] if each["kind"] == "NodeAdded")
    assert more["count"] == 2
    assert started["verdict"] == "Now"
    assert started["placement"][0]["node"] == "n1-added-1"


async def test_without_a_job_its_room_is_free(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("old", cpu=2)
    await world.bound("old")
    new = pod_json("new", namespace=world.namespace, cpu=2)
    assert (await what_if(world, new))["verdict"] == "Never"
    assert (await what_if(world, new, query=f"withoutJob={world.namespace}/old"))["verdict"] == "Now"


async def test_without_a_node_there_is_less(world: World) -> None:
    await world.nodes(2, cpu=2)
    both = members(world, "a", 2, cpu=2)
    assert (await what_if(world, *both, query="withoutNode=n2"))["verdict"] == "Never"


async def test_a_workload_is_expanded_as_its_controller_and_the_grouper_would(world: World) -> None:
    await world.nodes(2, cpu=2)
    template = {"spec": pod_json("x", cpu=2)["spec"]}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train", "namespace": world.namespace},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": template},
                "Worker": {"replicas": 2, "template": template},
            }
        },
    }
    answer = await what_if(world, job)
    (shown,) = answer["jobs"]
    assert (shown["name"], shown["verdict"], shown["type"]) == ("train", "Never", "Gang")
    answer = await what_if(world, job, query="addNodes=1&like=n1")
    pods = {each["pod"].partition("/")[2] for each in answer["jobs"][0]["placement"]}
    assert pods == {"train-master-0", "train-worker-0", "train-worker-1"}


async def test_yaml_documents_are_read(world: World) -> None:
    await world.nodes(2, cpu=2)
    labels = {"pod-group.scheduling.sigs.k8s.io": "a"}
    group = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "a", "namespace": world.namespace},
        "spec": {"minMember": 2},
    }
    objects = [group, *(pod_json(f"a-{n}", namespace=world.namespace, labels=labels, cpu=2) for n in (1, 2))]
    status, answer = await world.http(WHATIF, yaml.safe_dump_all(objects).encode())
    assert (status, answer["verdict"]) == (200, "Now")


@pytest.mark.parametrize(
    ("body", "query", "status", "text"),
    [
        (b"{'a': [", "", 400, "neither JSON nor YAML"),
        (b"[1]", "", 400, "where an object should be"),
        (b'{"apiVersion": "v1", "kind": "Pod"}', "", 422, "metadata.name is missing"),
        (b'{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}', "", 422, "Secret default/s"),
        (b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}', "", 422, "schedulerName"),
        (POD_OF_ODD_SIZE, "", 422, "Pod default/p: spec.containers[0].resources.requests[cpu]: '1x' is not"),
        (b"# nothing but words", "", 400, "the body has no objects"),
        (b"", "addNodes=x&like=n1", 400, "addNodes=x"),
        (b"", "addNodes=1&like=n9", 404, "node n9"),
        (b"", "withoutJob=default/none", 404, "job default/none"),
        (b" " * (4 * 2**20 + 1), "", 413, "larger than"),
    ],
)
async def test_a_mistake_is_a_status_that_names_it(
    virtual: World, body: bytes, query: str, status: int, text: str
) -> None:
    found, answer = await virtual.http(f"{WHATIF}?{query}", body)
    assert found == status, answer
    assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Failure", status)
    assert text in answer["message"]


async def test_whose_end_is_not_declared_is_named_in_the_words_of_explain(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("old", "n1", cpu=2)
    await world.pods("waits", cpu=2)
    await world.says("waits", "Insufficient cpu")
    foretold = (await what_if(world, pod_json("new", namespace=world.namespace, cpu=2)))["jobs"][0]["start"]
    assert foretold == await expected_start(world, "waits")
    assert foretold["message"] == f"the end of {world.namespace}/old is not declared"


async def test_of_what_no_end_helps_nobody_knows_when_it_starts(world: World) -> None:
    await world.nodes(1, cpu=2)
    annotations = gang("a", minimum=2)
    foretold = (await what_if(world, pod_json("a-1", namespace=world.namespace, cpu=1, annotations=annotations)))[
        "jobs"
    ]
    assert foretold[0]["start"]["message"] == "nobody knows when what it lacks will be there"
