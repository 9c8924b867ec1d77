"""All pods of a namespace, by a watch of its own, and everybody who wants to hear of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Self

import aiohttp

from tests.controlplane.client import Client
from tests.soak.judge import Json

WATCH_SECONDS = 300
PAUSE_SECONDS = 0.2  # before listing again after a failure

Hear = Callable[[Json], None]


class Mirror:
    """`async with Mirror(client) as mirror`: `changed` and `gone` are called with each event, in order."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.changed: list[Hear] = []
        self.gone: list[Hear] = []
        self.pods: dict[str, Json] = {}  # by UID
        self.lists = 0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow(), name="mirror")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    @property
    def trouble(self) -> str:
        """Why it follows no more."""
        return repr(self._task.exception()) if self._task.done() and not self._task.cancelled() else ""

    async def _follow(self) -> None:
        while True:
            try:
                await self._list_and_watch()
            except (aiohttp.ClientError, TimeoutError, AssertionError):
                await asyncio.sleep(PAUSE_SECONDS)

    async def _list_and_watch(self) -> None:
        listed = (await self._client.list("pods")).ok()
        self.lists += 1
        there = {pod["metadata"]["uid"]: pod for pod in listed["items"]}
        for uid in self.pods.keys() - there.keys():
            self._forget(self.pods[uid])
        for pod in there.values():
            self._hear(pod)
        version = listed["metadata"]["resourceVersion"]
        async with self._client.watch("pods", resourceVersion=version, timeoutSeconds=WATCH_SECONDS) as watch:
            while event := await watch.next(timeout=WATCH_SECONDS + 10):
                if event["type"] == "ERROR":
                    return
                (self._forget if event["type"] == "DELETED" else self._hear)(event["object"])

    def _hear(self, pod: Json) -> None:
        self.pods[pod["metadata"]["uid"]] = pod
        for hear in self.changed:
            hear(pod)

    def _forget(self, pod: Json) -> None:
        self.pods.pop(pod["metadata"]["uid"], None)
        for hear in self.gone:
            hear(pod)
