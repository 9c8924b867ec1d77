"""The topology controller on a real kube-apiserver of its own: nodes come, change and go, and specs break there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from koordpy.api.topology import GROUP
from tests.builders import Json
from tests.controllers.podgroup.test_on_a_real_apiserver import CRDS, controllers, until
from tests.controllers.topologies import BLOCK, BROKEN, GOOD, koordinators, node, ready, topology, tree_lines
from tests.controllers.world import definition
from tests.controlplane.client import Client
from tests.controlplane.fixtures import Real, corner
from tests.controlplane.server import ControlPlane

pytestmark = pytest.mark.real

RESOURCE = f"apis/{GROUP}/v1alpha1/clusternetworktopologies"
KINDS = {
    "ours": definition(GROUP),
    "koordinators": koordinators(),
    "without-subresource": definition(GROUP, status_subresource=False),
}


@pytest.fixture(scope="module")
def own_control_plane() -> Iterator[ControlPlane]:
    """Definitions and nodes are shared by everybody on a server; these tests replace them."""
    with ControlPlane() as control_plane:
        yield control_plane


@pytest.fixture
async def own(own_control_plane: ControlPlane) -> AsyncIterator[Real]:
    async with corner(own_control_plane) as real:
        await real.client.delete(CRDS, f"clusternetworktopologies.{GROUP}")
        await until(lambda: is_served(real.client), False)
        for each in (await real.client.list("nodes")).ok()["items"]:
            (await real.client.delete("nodes", each["metadata"]["name"])).ok()
        yield real


async def is_served(api: Client) -> bool:
    return (await api.list(RESOURCE, namespace="")).status == 200


async def install(api: Client, kind: str = "ours") -> None:
    (await api.create(CRDS, KINDS[kind])).ok()
    await until(lambda: is_served(api), True)
    (await api.create(RESOURCE, topology(GOOD), namespace="")).ok()


async def add(api: Client, *nodes: Json) -> None:
    for each in nodes:
        (await api.create("nodes", each)).ok()


async def change_spec(api: Client, layers: list[Json]) -> None:
    (await api.patch(RESOURCE, "default", {"spec": {"networkTopologySpec": layers}}, namespace="")).ok()


async def status_of(api: Client) -> Json:
    return (await api.get(RESOURCE, "default", namespace="")).ok().get("status", {})


async def tree_of(api: Client) -> list[str]:
    return tree_lines(await status_of(api))


TWO_BLOCKS = ["cluster 2 spine: s1", "cluster/s1 2 block: b1 b2", "s1/b1 1 node", "s1/b2 1 node"]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_status_follows_the_nodes_whatever_definition_is_installed(own: Real, tmp_path, kind):
    api = own.client
    await install(api, kind)
    async with controllers(own, tmp_path):
        await add(api, node("n1", "s1", "b1"), node("n2", "s1", "b2"))
        await until(lambda: tree_of(api), TWO_BLOCKS)
        (await api.patch("nodes", "n2", {"metadata": {"labels": {BLOCK: "b1"}}})).ok()
        await until(lambda: tree_of(api), ["cluster 2 spine: s1", "cluster/s1 2 block: b1", "s1/b1 2 node"])
        (await api.delete("nodes", "n1")).ok()
        await until(lambda: tree_of(api), ["cluster 1 spine: s1", "cluster/s1 1 block: b1", "s1/b1 1 node"])
        await rests(api)


async def rests(api: Client) -> None:
    """Nothing is written to the topology for a while."""
    await asyncio.sleep(0.5)
    version = (await api.list(RESOURCE, namespace="")).ok()["metadata"]["resourceVersion"]
    async with api.watch(RESOURCE, namespace="", resourceVersion=version) as watch:
        assert await watch.quiet(1.5)


@pytest.mark.parametrize("problem", BROKEN)
async def test_a_broken_spec_is_reported_and_a_mended_one_is_used(own: Real, tmp_path, problem):
    layers, words = BROKEN[problem]
    api = own.client
    await install(api)
    async with controllers(own, tmp_path):
        await add(api, node("n1", "s1", "b1"))
        await until(lambda: is_ready(api), "True")
        await until(lambda: nodes_of(api), 1)
        good = await tree_of(api)
        await change_spec(api, layers)
        await until(lambda: is_ready(api), "False")
        found = await status_of(api)
        assert words in ready(found)["message"]
        assert tree_lines(found) == good
        await until(lambda: notes(api, ready(found)["message"]), 1)
        await change_spec(api, GOOD)
        await until(lambda: is_ready(api), "True")


async def is_ready(api: Client) -> str:
    conditions = (await status_of(api)).get("conditions", [])
    return next((condition["status"] for condition in conditions if condition["type"] == "Ready"), "")


async def nodes_of(api: Client) -> int:
    return (await status_of(api)).get("nodes", 0)


async def notes(api: Client, message: str) -> int:
    """Warnings about the topology as it is now, found as `kubectl describe` finds them: by UID, without a namespace."""
    uid = (await api.get(RESOURCE, "default", namespace="")).ok()["metadata"]["uid"]
    selector = f"involvedObject.uid={uid},involvedObject.namespace=,type=Warning"
    found = (await api.request("GET", "/api/v1/namespaces/default/events", params={"fieldSelector": selector})).ok()
    return sum(event["message"] == message for event in found["items"])
