"""A scheduler on the embedded API in virtual time, without sockets, with the test in the part of the controllers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from koordpy.app.build import build_scheduler
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.plan.framework.profiles import default_profile
from koordpy.scheduler.ingest.watches import Watches
from tests.builders import Json, node_json
from tests.kube.world import PODS, World, now, running
from tests.scheduler.volumes.controller import Controller
from tests.scheduler.volumes.objects import pod_with_json

TIME_LIMIT_S = 600.0


class Instance:
    """Everything of `koordpy run` but lease and HTTP."""

    def __init__(self, client: Client) -> None:
        profile = replace(default_profile("koord-scheduler"), preempts=False)
        settings = Settings(profiles=(profile,), bind_width=4, volume_bind_timeout_s=TIME_LIMIT_S)
        built = build_scheduler(settings, client, instance="test", clock=now, wall=now)
        self.cluster, self.queue, self.scheduler = built.cluster, built.queue, built.scheduler
        self.binder, self.lanes = built.volumes, built.parts.lanes
        self._reflectors = SharedReflectors(client)
        self.watches = Watches(self._reflectors, built.sinks, "kube-system")

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """The picture is kept true, and nothing is scheduled."""
        async with running(self._reflectors.run()):
            await self.watches.synced()
            yield

    @asynccontextmanager
    async def scheduling(self) -> AsyncIterator[None]:
        async with self.watching(), running(self.scheduler.run()):
            yield


class StorageWorld(World):
    """`async with StorageWorld() as world, world.scheduler() as instance:`."""

    def __init__(self) -> None:
        super().__init__()
        self.controller = Controller(self.ask)

    @asynccontextmanager
    async def scheduler(self) -> AsyncIterator[Instance]:
        instance = Instance(self.client)
        async with instance.scheduling():
            yield instance

    async def add_nodes(self, *names: str) -> None:
        for name in names:
            await self.cluster.create("/api/v1/nodes", node_json(name))

    async def add_pod(self, *claims: str, name: str = "p1", **arguments: Any) -> Json:
        return await self.cluster.create(PODS, pod_with_json(*claims, name=name, **arguments))

    async def node_of(self, name: str = "p1") -> str:
        return (await self.get(name))["spec"].get("nodeName", "")

    async def message(self, name: str = "p1") -> str:
        """What the pod's PodScheduled condition says."""
        conditions = (await self.get(name)).get("status", {}).get("conditions", [])
        return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")

    def writes(self) -> list[str]:
        """What was written beside events and conditions, in order: method and the last parts of the path."""
        found = [(method, path.split("/")) for _, method, path in self.requests if method != "GET"]
        return [f"{method} {'/'.join(parts[-2:])}" for method, parts in found if parts[-1] not in ("events", "status")]


async def settled(seconds: float = 0.5) -> None:
    """Let everything that needs no time of its own happen."""
    await asyncio.sleep(seconds)
