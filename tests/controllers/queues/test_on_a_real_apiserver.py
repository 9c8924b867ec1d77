"""The queue controller on a real kube-apiserver of its own, with our definition and with KAI's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest

from koordpy.api.queue import GROUP
from tests.builders import Json, node_json
from tests.cli.commands import koordpy
from tests.controllers.podgroup.test_on_a_real_apiserver import CRDS, controllers, until
from tests.controllers.queues.actions import (
    GPU,
    definition,
    kais_definition,
    pod_in,
    queue_json,
    run_ai_group,
    run_ai_pod_groups,
)
from tests.controlplane.client import Client
from tests.controlplane.fixtures import Real, corner
from tests.controlplane.server import ControlPlane

pytestmark = pytest.mark.real

QUEUES = f"apis/{GROUP}/v2/queues"
GROUPS = f"apis/{GROUP}/v2alpha2/podgroups"
KINDS = {"ours": definition(), "kais": kais_definition()}


@pytest.fixture(scope="module")
def own_control_plane() -> Iterator[ControlPlane]:
    """Queues belong to the cluster, and these tests replace their definition."""
    with ControlPlane() as control_plane:
        yield control_plane


@pytest.fixture
async def own(own_control_plane: ControlPlane) -> AsyncIterator[Real]:
    async with corner(own_control_plane) as real:
        for plural, path in (("queues", QUEUES), ("podgroups", GROUPS)):
            await real.client.delete(CRDS, f"{plural}.{GROUP}")
            await until(lambda path=path: is_served(real.client, path), False)
        await real.client.create("nodes", node_json("n1", nvidia__com_gpu=8))
        yield real


async def is_served(api: Client, path: str) -> bool:
    return (await api.list(path, namespace="")).status == 200


async def install(api: Client, kind: str = "ours") -> None:
    for each, path in ((KINDS[kind], QUEUES), (run_ai_pod_groups(), GROUPS)):
        (await api.create(CRDS, each)).ok()
        await until(lambda path=path: is_served(api, path), True)


async def add(api: Client, *queues: Json) -> None:
    for each in queues:
        (await api.create(QUEUES, each, namespace="")).ok()


async def status_of(api: Client, name: str) -> Json:
    return (await api.get(QUEUES, name, namespace="")).ok().get("status", {})


async def shown(api: Client, name: str) -> tuple[str, str, str]:
    """GPUs allocated and requested, and the condition's reason."""
    status = await status_of(api, name)
    reasons = [each["reason"] for each in status.get("conditions", []) if each["type"] == "Ready"]
    return status.get("allocated", {}).get(GPU, ""), status.get("requested", {}).get(GPU, ""), "".join(reasons)


async def rests(api: Client) -> None:
    await asyncio.sleep(1)
    version = (await api.list(QUEUES, namespace="")).ok()["metadata"]["resourceVersion"]
    async with api.watch(QUEUES, namespace="", resourceVersion=version) as watch:
        assert await watch.quiet(1.5)


@pytest.mark.parametrize("kind", KINDS)
async def test_the_status_follows_the_pods_whatever_definition_is_installed(own: Real, tmp_path, kind):
    api = own.client
    await install(api, kind)
    async with controllers(own, tmp_path):
        await add(api, queue_json("top"), queue_json("a", "top"), queue_json("b", "top"))
        (await api.create(GROUPS, run_ai_group("g", "b"))).ok()
        (await api.create("pods", pod_in("a", "p1", 2, namespace=own.namespace))).ok()
        grouped = pod_in("a", "p2", 1, namespace=own.namespace, annotations={"pod-group-name": "g"}, node="n1")
        (await api.create("pods", grouped)).ok()
        await until(lambda: shown(api, "a"), ("", "2", "Ready"))
        await until(lambda: shown(api, "b"), ("1", "1", "Ready"))
        await until(lambda: shown(api, "top"), ("1", "3", "Ready"))
        assert (await status_of(api, "top"))["childQueues"] == ["a", "b"]
        (await api.delete("pods", "p1")).ok()
        await until(lambda: shown(api, "a"), ("", "0", "Ready"))
        await rests(api)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bad_tree_is_told_on_the_object_and_forgotten_when_it_is_mended(own: Real, tmp_path, kind):
    api = own.client
    await install(api, kind)
    async with controllers(own, tmp_path):
        await add(api, queue_json("a", "gone"), queue_json("x", "y"), queue_json("y", "x"))
        await until(lambda: shown(api, "a"), ("", "", "ParentMissing"))
        await until(lambda: shown(api, "x"), ("", "", "ParentCycle"))
        await until(lambda: notes(api, "a"), ["parent queue gone does not exist"])
        (await api.patch(QUEUES, "a", {"spec": {"parentQueue": None}}, namespace="")).ok()
        (await api.patch(QUEUES, "y", {"spec": {"parentQueue": None}}, namespace="")).ok()
        await until(lambda: shown(api, "a"), ("", "", "Ready"))
        await until(lambda: shown(api, "x"), ("", "", "Ready"))
        await rests(api)


async def notes(api: Client, name: str) -> list[str]:
    uid = (await api.get(QUEUES, name, namespace="")).ok()["metadata"]["uid"]
    selector = f"involvedObject.uid={uid},type=Warning"
    found = (await api.request("GET", "/api/v1/namespaces/default/events", params={"fieldSelector": selector})).ok()
    return [event["message"] for event in found["items"]]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_command_prints_what_there_is(own: Real, tmp_path, kind):
    api = own.client
    await install(api, kind)
    await add(api, queue_json("top", resources={"gpu": {"quota": 4}}), queue_json("a", "top", resources={"gpu": {}}))
    (await api.create("pods", pod_in("a", "p1", 2, namespace=own.namespace, node="n1"))).ok()
    (await api.create("pods", pod_in("a", "p2", 3, namespace=own.namespace))).ok()
    kubeconfig = own.kubeconfig(tmp_path)
    answer = await asyncio.to_thread(koordpy, "queues", "--kubeconfig", kubeconfig, "-o", "json")
    assert answer.returncode == 0, answer.stderr
    found = {item["name"]: item for item in json.loads(answer.stdout)["items"]}
    numbers = {name: [item[each]["gpu"] for each in _COLUMNS] for name, item in found.items()}
    assert numbers == {"top": ["4", "5", "2", "5"], "a": ["0", "5", "2", "5"]}
    assert found["top"]["jobs"] == {"running": 1, "waiting": 1}


_COLUMNS = ("quota", "fairShare", "allocated", "requested")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"resources": {"gpu": {"overQuotaWeight": -1}}}, "should be greater than or equal to 0"),
        ({"resources": {"gpu": {"limit": -2}}}, "should be greater than or equal to -1"),
        ({"resources": {"cpu": {"quota": -0.5}}}, "must be -1 (unlimited) or at least 0"),
        ({"preemptMinRuntime": "soon"}, "spec.preemptMinRuntime"),
        ({"priority": "high"}, "spec.priority"),
    ],
)
async def test_our_definition_refuses_numbers_that_cannot_be(own: Real, spec, words):
    await install(own.client)
    refused = await own.client.create(QUEUES, queue_json("bad", **spec), namespace="")
    assert refused.status == 422
    assert words in str(refused.body)


async def test_our_definition_fills_in_what_is_not_set_in_a_block_that_is_there(own: Real):
    await install(own.client)
    await add(own.client, queue_json("q", resources={"gpu": {}}))
    spec = (await own.client.get(QUEUES, "q", namespace="")).ok()["spec"]
    assert spec == {"priority": 100, "resources": {"gpu": {"quota": 0, "limit": -1, "overQuotaWeight": 1}}}
