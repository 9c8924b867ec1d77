"""A cluster in memory with koordpy on it as a process of its own, as in `koordpy demo`."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from koordpy.api.answers import PATH, QueueList
from koordpy.api.decode import Decoder
from koordpy.api.pod import Pod
from koordpy.app.crds import definitions
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.http.transport import HttpTransport
from koordpy.kube.watch.reflector import Reflector, Resource
from koordpy.sim.demo.child import address, scheduler
from koordpy.sim.demo.seen import PodSink, Seen
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedServer

Obj = dict[str, Any]

GPU = "nvidia.com/gpu"
PODS = "/api/v1/namespaces/default/pods"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SETTLING_S = 3.0  # the controllers find their definitions


class Cluster:
    """What a story needs: objects, the time since it began, and what was seen of pods."""

    def __init__(self, client: Client, session: aiohttp.ClientSession, server: str) -> None:
        self._client, self._session, self._server = client, session, server
        self.seen = Seen()  # its time begins when the story does

    async def create(self, path: str, body: Obj) -> None:
        await self._client.write("POST", path, body)

    async def delete(self, path: str) -> None:
        await self._client.write("DELETE", path, {"propagationPolicy": "Background"})

    async def get(self, path: str) -> Obj:
        found: Obj = msgspec.json.decode(await self._client.get(path))
        return found

    async def queues(self) -> QueueList:
        async with self._session.get(f"{self._server}{PATH}/queues") as answer:
            return msgspec.json.decode(await answer.read(), type=QueueList)

    async def watch(self) -> None:
        """Follow pods, until cancelled."""
        await Reflector(self._client, Resource(PODS, Decoder("Pod", Pod)), PodSink(self.seen)).run()


@asynccontextmanager
async def cluster(nodes: int, gpus: int) -> AsyncIterator[Cluster]:
    """So many nodes with so many GPUs each."""
    machines = [
        simulated_node(f"node-{number}", cpu="64", memory="256Gi", extended={GPU: str(gpus)})
        for number in range(1, nodes + 1)
    ]
    with tempfile.TemporaryDirectory() as name:
        kubeconfig, log = Path(name) / "kubeconfig", Path(name) / "log"
        async with EmbeddedServer(machines) as server:
            for definition in definitions():
                await server.create(_DEFINITIONS, definition)
            kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
            async with (
                HttpTransport(await load_credentials(str(kubeconfig)), connections=8) as transport,
                scheduler(kubeconfig, log),
                aiohttp.ClientSession() as session,
            ):
                where = await address(log)
                await asyncio.sleep(_SETTLING_S)
                made = Cluster(Client(transport), session, where)
                watching = asyncio.create_task(made.watch())
                try:
                    yield made
                finally:
                    watching.cancel()


def pod_spec(gpus: int) -> Obj:
    resources = {"requests": {"cpu": "1", GPU: str(gpus)}, "limits": {GPU: str(gpus)}}
    return {
        "schedulerName": "koord-scheduler",
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "example.com/any:1", "resources": resources}],
    }
