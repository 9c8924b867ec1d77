"""Creates objects: as fast as possible, or as a stream of gangs; and records when each pod was created."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator

from bench.figures import BenchError
from bench.live.manifests import Manifests
from bench.live.objects import Json
from tests.controlplane.client import Client

CREATORS = 16
PATIENCE_SECONDS = 20
PAUSE_SECONDS = 0.05


async def create(client: Client, objects: Iterable[tuple[str, Json]]) -> dict[str, str]:
    """Create objects as fast as possible, a few at a time; returns their UIDs by name."""
    todo, uids = iter(objects), dict[str, str]()
    async with asyncio.TaskGroup() as group:
        for _ in range(CREATORS):
            group.create_task(_create_each(client, todo, uids))
    return uids


async def create_gangs(client: Client, gangs: Iterable[Manifests]) -> dict[str, float]:
    """Create gangs one after another; returns when the request for each pod was sent."""
    made = list(gangs)
    uids = await create(client, (entry for gang in made for entry in gang.objects))
    asked: dict[str, float] = {}
    await create(client, _noting(asked, _owned(uids, (pod for gang in made for pod in gang.pods))))
    return asked


async def stream(client: Client, gangs: Iterable[tuple[float, Manifests]]) -> dict[str, float]:
    """Create each gang at its time, late ones at once, without waiting for the one before.

    The wait of a pod counts from the moment its request is sent: a slow server is part of what its user waits for.
    """
    asked: dict[str, float] = {}
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for at, gang in gangs:
            await asyncio.sleep(max(0.0, began + at - time.monotonic()))
            group.create_task(_create_gang(client, gang, asked))
    return asked


async def install(client: Client, definitions: Iterable[Json]) -> None:
    """Install missing CustomResourceDefinitions, and wait until the API server serves them all."""
    made = list(definitions)
    for definition in made:
        reply = await client.create("customresourcedefinitions", definition)
        if reply.status != 409:
            reply.ok()
    for definition in made:
        spec = definition["spec"]
        version = next(each["name"] for each in spec["versions"] if each["served"])
        at = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (await client.request("GET", at)).status != 200:
            if time.monotonic() > deadline:
                raise BenchError(f"the API server does not serve {at}, {PATIENCE_SECONDS} s after its definition")
            await asyncio.sleep(PAUSE_SECONDS)


async def _create_gang(client: Client, gang: Manifests, asked: dict[str, float]) -> None:
    uids = await create(client, gang.objects)
    await create(client, _noting(asked, _owned(uids, gang.pods)))


def _owned(uids: dict[str, str], pods: Iterable[Json]) -> Iterator[Json]:
    """The pods, their owners by UID, which only the API server gives."""
    for pod in pods:
        owners = [owner | {"uid": uids[owner["name"]]} for owner in pod["metadata"].get("ownerReferences", ())]
        yield pod | {"metadata": pod["metadata"] | {"ownerReferences": owners}} if owners else pod


def _noting(asked: dict[str, float], pods: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    for pod in pods:
        asked[pod["metadata"]["name"]] = time.monotonic()
        yield "pods", pod


async def _create_each(client: Client, todo: Iterator[tuple[str, Json]], uids: dict[str, str]) -> None:
    for resource, obj in todo:
        namespace = obj["metadata"].get("namespace")
        reply = await client.create(resource, obj, namespace=namespace)
        deadline = time.monotonic() + PATIENCE_SECONDS
        # Admission sees a new PriorityClass a moment after its creation, and denies its pods until then.
        while reply.status == 403 and time.monotonic() < deadline:
            await asyncio.sleep(PAUSE_SECONDS)
            reply = await client.create(resource, obj, namespace=namespace)
        uids[obj["metadata"]["name"]] = reply.ok()["metadata"]["uid"]
