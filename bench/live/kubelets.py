"""A stand-in for the kubelets: terminating pods are deleted at once. Without it evicted pods would never go.

It counts its deletions, so that they are not taken for writes of the scheduler.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Self

from bench.figures import BenchError
from tests.controlplane.client import Client, Json

WATCH_SECONDS = 3600


class Kubelets:
    """`async with Kubelets(client) as kubelets`: watches the bound pods of the client's namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.deletions = 0

    async def __aenter__(self) -> Self:
        listed = (await self._client.list("pods", limit=1)).ok()
        self._following = asyncio.create_task(self._follow(listed["metadata"]["resourceVersion"]))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._following

    async def _follow(self, version: str) -> None:
        async with asyncio.TaskGroup() as group:
            async for event in self._events(version):
                meta = event["object"]["metadata"]
                leaving = event["type"] == "MODIFIED" and meta.get("deletionGracePeriodSeconds", 0) > 0
                if leaving and "deletionTimestamp" in meta:
                    self.deletions += 1
                    group.create_task(self._client.delete("pods", meta["name"], grace=0, uid=meta["uid"]))

    async def _events(self, version: str) -> AsyncIterator[Json]:
        while True:  # the API server ends the watch of a client that is too slow for it, as ours may be
            watching = self._client.watch(
                "pods", fieldSelector="spec.nodeName!=", resourceVersion=version, timeoutSeconds=WATCH_SECONDS
            )
            async with watching as watch:
                while event := await watch.next(timeout=WATCH_SECONDS):
                    if event["type"] == "ERROR":
                        raise BenchError(f"the kubelets' watch failed: {event['object'].get('message')}")
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield event
