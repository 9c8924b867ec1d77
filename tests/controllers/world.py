"""The controllers on an embedded API without sockets, in virtual time; with every request that they made."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from typing import Any, Self

import msgspec

from koordpy.api.podgroup.coscheduling import SIGS_GROUP
from koordpy.app.controllers import Controllers
from koordpy.app.crds import definitions
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.kube.http.transport import Response
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.sim.embedded.request import Request
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.transport import DirectTransport
from tests.builders import Json, pod_json

PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MEMBER = "pod-group.scheduling.sigs.k8s.io"
MERGE = "application/merge-patch+json"
SETTLED_S = 3.0  # longer than a batch period, a pause, and the 2 s after which a missing definition is asked for
ALONE = replace(Settings(), leader_election=replace(Settings().leader_election, enabled=False))


def definition(group: str = SIGS_GROUP, *, status_subresource: bool = True, scheduled: bool = True) -> Json:
    """Ours, or what others have installed: Koordinator's has no subresource, coscheduling's no `scheduled`."""
    (found,) = [each for each in definitions() if each["spec"]["group"] == group]
    version = found["spec"]["versions"][0]
    if not status_subresource:
        del version["subresources"]
    if not scheduled:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["scheduled"]
    return found


def path_of(group: str = SIGS_GROUP, name: str = "") -> str:
    collection = f"/apis/{group}/v1alpha1/namespaces/default/podgroups"
    return f"{collection}/{name}" if name else collection


class World:
    """`async with World(definition()) as world:` an API server with these definitions."""

    def __init__(self, *installed: Json) -> None:
        self.cluster = EmbeddedCluster(kubelets=False, clock=lambda: 1.8e9 + now())
        self.faults = self.cluster.faults
        self.requests: list[tuple[float, str, str, bytes]] = []  # when, method, path, body
        self._installed = installed

    async def __aenter__(self) -> Self:
        await self.cluster.__aenter__()
        for each in self._installed:
            await self.cluster.create(DEFINITIONS, each)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.cluster.__aexit__(*error)

    @contextlib.asynccontextmanager
    async def controllers(self, settings: Settings = ALONE) -> AsyncIterator[Controllers]:
        """Running meanwhile; what they die of fails the test."""
        client = Client(_Counting(DirectTransport(self.cluster.handle), self.requests))
        reflectors = SharedReflectors(client)
        controllers = Controllers(client, settings, reflectors, clock=lambda: 1.8e9 + now())
        task = asyncio.ensure_future(_together(reflectors.run(), controllers.run()))
        try:
            yield controllers
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])

    # --- what users do ---

    async def pod_group(self, name: str = "g", minimum: int = 2, group: str = SIGS_GROUP, **more: Any) -> Json:
        body = {"apiVersion": f"{group}/v1alpha1", "kind": "PodGroup", "metadata": {"name": name}, **more}
        return await self.cluster.create(path_of(group), body | {"spec": {"minMember": minimum}})

    async def pod(self, name: str, gang: str = "g", key: str = MEMBER, **given: Any) -> Json:
        return await self.cluster.create(PODS, pod_json(name, labels={key: gang}, **given))

    async def bind(self, name: str, node: str = "n") -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        await self.ask("POST", f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": target})

    async def phase(self, name: str, phase: str) -> None:
        await self.ask("PATCH", f"{PODS}/{name}/status", {"status": {"phase": phase}})

    async def delete(self, name: str) -> None:
        await self.ask("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})

    # --- what became of it ---

    async def status(self, name: str = "g", group: str = SIGS_GROUP) -> Json:
        """The status, after the controllers have had time to see to it."""
        await asyncio.sleep(SETTLED_S)
        return (await self.ask("GET", path_of(group, name))).get("status", {})

    async def phase_of(self, name: str = "g", group: str = SIGS_GROUP) -> str:
        return (await self.status(name, group)).get("phase", "")

    def writes(self) -> list[str]:
        """Paths of all writes, leases aside."""
        return [path for _, method, path, _ in self.requests if method != "GET" and "/leases" not in path]

    async def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """Beneath the faults, as somebody else's request."""
        kind = MERGE if method == "PATCH" else "application/json"
        encoded = b"" if body is None else msgspec.json.encode(body)
        answer = await self.faults.handle(Request(method, path, headers={"content-type": kind}, body=encoded))
        assert isinstance(answer.body, bytes)
        assert answer.status < 300, answer.body
        return msgspec.json.decode(answer.body)


class _Counting:
    """A transport that remembers what was asked and when."""

    def __init__(self, inner: DirectTransport, requests: list[tuple[float, str, str, bytes]]) -> None:
        self._inner, self._requests = inner, requests

    async def send(self, method: str, path: str, body: bytes = b"", **more: Any) -> Response:
        self._requests.append((now(), method, path, body))
        return await self._inner.send(method, path, body, **more)

    def stream(self, path: str, **more: Any) -> Any:
        return self._inner.stream(path, **more)


def now() -> float:
    return asyncio.get_running_loop().time()


async def _together(*runs: Coroutine[Any, Any, None]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for each in runs:
            tasks.create_task(each)
