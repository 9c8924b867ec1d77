"""Objects coming into the cluster: as fast as it goes, or as a stream of gangs; and when each pod came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator

from bench.figures import BenchError
from bench.live.dress import Dressed
from bench.live.objects import Json
from tests.controlplane.client import Client

CREATORS = 16
PATIENCE_SECONDS = 20
PAUSE_SECONDS = 0.05


async def create(client: Client, objects: Iterable[tuple[str, Json]]) -> None:
    """Make them as fast as it goes, a few at a time."""
    todo = iter(objects)
    async with asyncio.TaskGroup() as group:
        for _ in range(CREATORS):
            group.create_task(_create_each(client, todo))


async def create_gangs(client: Client, gangs: Iterable[Dressed]) -> dict[str, float]:
    """All of them, one behind the other; says when each pod was asked for."""
    made = list(gangs)
    await create(client, (entry for gang in made for entry in gang.objects))
    asked: dict[str, float] = {}
    await create(client, _noting(asked, (pod for gang in made for pod in gang.pods)))
    return asked


async def stream(client: Client, gangs: Iterable[tuple[float, Dressed]]) -> dict[str, float]:
    """Each gang at its time, late ones at once, without waiting for the one before.

    A pod counts from the moment it is asked for: a server that is slow to take it is part of what its user waits for.
    """
    asked: dict[str, float] = {}
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for at, gang in gangs:
            await asyncio.sleep(max(0.0, began + at - time.monotonic()))
            group.create_task(_come(client, gang, asked))
    return asked


async def install(client: Client, definitions: Iterable[Json]) -> None:
    """CustomResourceDefinitions that are not there yet; waits until the API server serves them all."""
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


async def _come(client: Client, gang: Dressed, asked: dict[str, float]) -> None:
    await create(client, gang.objects)
    await create(client, _noting(asked, gang.pods))


def _noting(asked: dict[str, float], pods: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    for pod in pods:
        asked[pod["metadata"]["name"]] = time.monotonic()
        yield "pods", pod


async def _create_each(client: Client, todo: Iterator[tuple[str, Json]]) -> None:
    for resource, obj in todo:
        reply = await client.create(resource, obj)
        deadline = time.monotonic() + PATIENCE_SECONDS
        # Admission hears of a new PriorityClass a moment after it was made, and refuses its pods until then.
        while reply.status == 403 and time.monotonic() < deadline:
            await asyncio.sleep(PAUSE_SECONDS)
            reply = await client.create(resource, obj)
        reply.ok()
