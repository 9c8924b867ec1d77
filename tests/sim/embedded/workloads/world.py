"""An embedded cluster in virtual time, a scheduler that binds whatever it sees, and builders of workloads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from koordpy.sim.embedded.kubelet import Timing
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedCluster
from tests.sim.embedded.inprocess import call

Json = dict[str, Any]
GROUPS = {"deployments": "apps", "replicasets": "apps", "statefulsets": "apps", "jobs": "batch"}


def template(*, image: str = "none:1", restart: str = "Always", **metadata: Any) -> Json:
    containers = [{"name": "main", "image": image}]
    return {
        "metadata": {"labels": {"app": "x"}, **metadata},
        "spec": {"restartPolicy": restart, "containers": containers},
    }


def replicated(name: str = "x", *, replicas: int = 3, **spec: Any) -> Json:
    """A Deployment, ReplicaSet or StatefulSet."""
    selector = {"matchLabels": {"app": "x"}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": selector, "template": template(), **spec},
    }


def job(name: str = "x", *, runs: str = "", exits: str = "0", **spec: Any) -> Json:
    """A Job whose pods end by themselves after `runs` seconds, or never."""
    annotations = {"embedded.koordpy.io/exit-code": exits}
    if runs:
        annotations["embedded.koordpy.io/run-seconds"] = runs
    pods = {**template(restart="Never", annotations=annotations)}
    return {"metadata": {"name": name}, "spec": {"template": pods, **spec}}


class World:
    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster

    def path(self, resource: str, name: str = "", namespace: str = "default") -> str:
        root = f"/apis/{GROUPS[resource]}/v1" if resource in GROUPS else "/api/v1"
        return f"{root}/namespaces/{namespace}/{resource}" + (f"/{name}" if name else "")

    async def create(self, resource: str, obj: Json) -> Json:
        return await self.cluster.create(self.path(resource), obj)

    async def get(self, resource: str, name: str = "x") -> Json:
        return await call(self.cluster, "GET", self.path(resource, name))

    async def status(self, resource: str, name: str = "x") -> Json:
        return (await self.get(resource, name))["status"]

    async def patch(self, resource: str, name: str, change: Json) -> Json:
        answer = await call(self.cluster, "PATCH", self.path(resource, name), change, "merge-patch+json")
        assert answer["httpStatus"] == 200, answer
        return answer

    async def delete(self, resource: str, name: str = "x", **options: Any) -> Json:
        return await call(self.cluster, "DELETE", self.path(resource, name), options or None)

    def all(self, storage: str = "pods") -> list[Json]:
        return [stored.obj for stored in self.cluster.store.items(storage)]

    def names(self, storage: str = "pods") -> list[str]:
        return [obj["metadata"]["name"] for obj in self.all(storage)]

    def living(self) -> list[Json]:
        ended = ("Succeeded", "Failed")
        return [p for p in self.all() if p["status"]["phase"] not in ended and "deletionTimestamp" not in p["metadata"]]

    def events(self) -> set[tuple[str, str]]:
        return {(event["reason"], event["message"]) for event in self.all("events")}


@asynccontextmanager
async def world(*, binds: bool = True, termination: float = 0.1, kubelets: bool = True) -> AsyncIterator[World]:
    """With `binds`, every pod is bound a tenth of a second after it was made, and runs a tenth later."""
    started = asyncio.get_running_loop().time()
    clock = lambda: 1.8e9 + asyncio.get_running_loop().time() - started  # noqa: E731
    options = {"clock": clock, "timing": Timing(0.1, termination), "kubelets": kubelets}
    async with EmbeddedCluster([simulated_node("n", pods=10_000)], **options) as cluster:
        task = asyncio.create_task(_bind_everything(cluster)) if binds else None
        yield World(cluster)
        if task:
            task.cancel()


async def _bind_everything(cluster: EmbeddedCluster) -> None:
    while True:
        await asyncio.sleep(0.1)
        for stored in tuple(cluster.store.items("pods")):
            if not stored.obj["spec"].get("nodeName") and "deletionTimestamp" not in stored.obj["metadata"]:
                path = f"/api/v1/namespaces/{stored.key[0]}/pods/{stored.key[1]}/binding"
                await call(cluster, "POST", path, {"target": {"name": "n"}})


def conditions(status: Json) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c.get("reason", "")) for c in status.get("conditions") or ()}
