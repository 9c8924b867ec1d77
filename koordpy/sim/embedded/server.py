"""Putting it together: a cluster in memory, with or without an HTTP front.

`EmbeddedCluster` has no sockets and takes its time from the running loop, so tests can run it in virtual
time. `EmbeddedServer` is the same behind HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import msgspec
import yaml

from koordpy.sim.embedded import customresources, pods
from koordpy.sim.embedded.backend import Backend
from koordpy.sim.embedded.faults import Faults
from koordpy.sim.embedded.handle import Api
from koordpy.sim.embedded.http import HttpFront
from koordpy.sim.embedded.kubelet import Kubelets, Timing
from koordpy.sim.embedded.namespaces import INITIAL
from koordpy.sim.embedded.nodes import lease_of, simulated_node
from koordpy.sim.embedded.request import Request, Response
from koordpy.sim.embedded.store import HISTORY, Store
from koordpy.sim.embedded.workloads.podgc import QUARANTINE_S
from koordpy.sim.embedded.workloads.runtime import Workloads

Obj = dict[str, Any]


class EmbeddedCluster:
    """An async context manager; `handle` answers requests while it is entered.

    `nodes` is a number of equal nodes, or the Node objects themselves. Without `kubelets` bound pods stay
    Pending and deleted ones terminating, as on a real server that has no nodes. Without `controllers` nobody makes
    pods for a Job, nor deletes what a deleted object owned. With both, pods fail and go `quarantine_s` after their node
    is gone; with None they stay for whoever deletes them.
    """

    def __init__(
        self,
        nodes: int | Sequence[Obj] = 0,
        *,
        kubelets: bool = True,
        controllers: bool = True,
        timing: Timing | None = None,
        clock: Callable[[], float] = time.time,
        history: int = HISTORY,
        quarantine_s: float | None = QUARANTINE_S,
    ) -> None:
        self.backend = Backend(store=Store(history), clock=clock)
        self.store = self.backend.store
        registry = self.backend.registry
        self.store.subscribe(customresources.STORAGE, lambda change: customresources.serve_defined(registry, change))
        self.faults = Faults(Api(self.backend).handle)
        self._nodes = nodes
        self._kubelets = Kubelets(self.backend, timing) if kubelets else None
        self._workloads = Workloads(self.backend, quarantine_s if kubelets else None) if controllers else None
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []

    async def handle(self, request: Request) -> Response:
        return await self.faults(request)

    async def __aenter__(self) -> Self:
        await self._populate()
        await self._group.__aenter__()
        if self._kubelets is not None:
            self._tasks.append(self._group.create_task(self._kubelets.run(), name="kubelets"))
        if self._workloads is not None:
            self._tasks.append(self._group.create_task(self._workloads.run(), name="controllers"))
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    async def _populate(self) -> None:
        """What a real cluster has from its first second, and the nodes."""
        for name in INITIAL:
            await self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        for name, value in pods.SYSTEM_CLASSES.items():
            priority_class = {"metadata": {"name": name}, "value": value}
            await self.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority_class)
        nodes = self._nodes
        if isinstance(nodes, int):
            now = self.backend.now()
            nodes = [simulated_node(f"node-{number:04}", now=now) for number in range(nodes)]
        for node in nodes:
            made = await self.create("/api/v1/nodes", node)
            if self._kubelets is not None:
                await self.create("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", lease_of(made))

    def forget_history(self) -> None:
        """Make every older resourceVersion answer 410, as after a compaction."""
        self.store.forget_history()

    async def create(self, path: str, obj: Obj) -> Obj:
        """Create one object through the API; raises if it is refused."""
        response = await self.faults.handle(Request("POST", path, body=msgspec.json.encode(obj)))
        if not isinstance(response.body, bytes):
            raise TypeError(f"POST {path} was answered with a stream")
        answer: Obj = msgspec.json.decode(response.body)
        if response.status != 201:
            raise ValueError(f"POST {path}: {answer.get('message')}")
        return answer


class EmbeddedServer(EmbeddedCluster):
    """The cluster behind HTTP on 127.0.0.1; port 0 takes a free one."""

    def __init__(
        self,
        nodes: int | Sequence[Obj] = 0,
        *,
        port: int = 0,
        kubelets: bool = True,
        controllers: bool = True,
        timing: Timing | None = None,
        history: int = HISTORY,
    ) -> None:
        super().__init__(nodes, kubelets=kubelets, controllers=controllers, timing=timing, history=history)
        self._front = HttpFront(self.handle, port)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self._front.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._front.__aexit__(*exc)
        await super().__aexit__(*exc)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._front.port}"

    def kubeconfig(self) -> str:
        """A kubeconfig for kubectl and any other client; the server asks for no credentials."""
        name = "koordpy-embedded"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {"server": self.url}}],
            "users": [{"name": name, "user": {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
        return str(yaml.safe_dump(config, sort_keys=False))
