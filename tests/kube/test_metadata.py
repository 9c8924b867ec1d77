"""Objects of which only the metadata is wanted: the API server sends no more, and one that cannot is no trouble."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec
import pytest

from koordpy.api.decode import Decoder
from koordpy.api.meta import PartialObjectMetadata
from koordpy.kube.client import Client
from koordpy.kube.watch.listing import listed
from koordpy.kube.watch.reflector import Reflector, Resource
from tests.kube.test_transport import over_http
from tests.kube.world import HANG, PODS, Scripted, World, line, plain_pod, running, until

METADATA = Resource("/api/v1/pods", Decoder("Pod", PartialObjectMetadata), metadata_only=True)
OWNED = {
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "1", "controller": True}]
}


@dataclass
class Seen:
    objects: list[PartialObjectMetadata] = field(default_factory=list)

    def upsert(self, obj: PartialObjectMetadata) -> None:
        self.objects.append(obj)

    def remove(self, key: str, uid: str) -> None:
        raise AssertionError(f"{key} was not removed")


@pytest.mark.looptime
async def test_a_reflector_gets_metadata_in_its_list_and_in_its_watch() -> None:
    async with World() as world:
        await world.create("a")
        seen = Seen()
        async with running(Reflector(world.client, METADATA, seen).run()):
            await until(lambda: len(seen.objects) == 1)
            await world.create("b", labels={"x": "y"})
            await until(lambda: len(seen.objects) == 2)
    assert [obj.kind for obj in seen.objects] == ["PartialObjectMetadata"] * 2
    assert [obj.api_version for obj in seen.objects] == ["meta.k8s.io/v1"] * 2
    assert seen.objects[1].metadata.labels == {"x": "y"}


@pytest.mark.looptime
async def test_a_server_that_sends_whole_objects_instead_of_metadata_is_understood() -> None:
    seen = Seen()
    script = Scripted([[plain_pod("a")]], [[line("ADDED", plain_pod("b", version=1001)), HANG]])
    async with running(Reflector(Client(script), METADATA, seen).run()):
        await asyncio.sleep(10)
    assert [obj.metadata.name for obj in seen.objects] == ["a", "b"]


@pytest.mark.looptime
async def test_a_list_of_metadata_is_read_to_its_end() -> None:
    async with World() as world:
        for name in ("a", "b"):
            await world.create(name)
        found = [obj async for obj in listed(world.client, METADATA, [])]
    assert [(obj.metadata.name, obj.kind) for obj in found] == [
        ("a", "PartialObjectMetadata"),
        ("b", "PartialObjectMetadata"),
    ]


@pytest.mark.looptime
async def test_an_empty_list_of_metadata_is_no_trouble() -> None:
    async with World() as world:
        page = await world.client.page("/api/v1/pods", metadata_only=True)
        assert page.items == ()
        reflector = Reflector(world.client, METADATA, Seen())
        async with running(reflector.run()):
            await until(reflector.synced.is_set)


async def test_metadata_is_asked_for_over_the_network(tmp_path) -> None:
    async with over_http(tmp_path) as (server, client):
        await server.create(
            PODS, {"metadata": {"name": "a", **OWNED}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        )
        one = METADATA.decode(await client.get(f"{PODS}/a", metadata_only=True))
        page = await client.page(PODS, metadata_only=True)
        async with client.watch(PODS, metadata_only=True) as chunks:
            event = msgspec.json.decode(await anext(aiter(chunks)))
    assert one.kind == METADATA.decode(page.items[0]).kind == event["object"]["kind"] == "PartialObjectMetadata"
    (owner,) = one.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("ReplicaSet", "set", True)
