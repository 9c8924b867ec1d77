"""Objects coming into the cluster: all at once, or as a stream; and when each of them came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence

from bench.live.workloads import Json
from tests.controlplane.client import Client

CREATORS = 16


async def create(client: Client, resource: str, objects: Sequence[Json]) -> dict[str, float]:
    """Make them as fast as it goes; says when each was there."""
    created: dict[str, float] = {}
    todo = iter(objects)
    async with asyncio.TaskGroup() as group:
        for _ in range(CREATORS):
            group.create_task(_create_each(client, resource, todo, created))
    return created


async def _create_each(client: Client, resource: str, todo: Iterator[Json], created: dict[str, float]) -> None:
    for obj in todo:
        (await client.create(resource, obj)).ok()
        created[obj["metadata"]["name"]] = time.monotonic()


async def stream(client: Client, pods: Sequence[Json], per_second: float) -> dict[str, float]:
    """Make them one by one at a rate, late ones at once, without waiting for the answer of the one before.

    A pod counts from the moment it is asked for: a server that is slow to take it is part of what its user waits for.
    """
    asked: dict[str, float] = {}
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number, pod in enumerate(pods):
            due = began + number / per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            asked[pod["metadata"]["name"]] = time.monotonic()
            group.create_task(_create_each(client, "pods", iter([pod]), {}))
    return asked
