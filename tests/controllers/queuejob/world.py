"""QueueJobs on an API server, and what stories do with them: users, kubelets, and the controllers that are killed.

Embedded, it is in virtual time and has no sockets.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from koordpy.app.controllers import Controllers
from koordpy.app.crds import definitions
from koordpy.app.settings import Settings
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.http.transport import HttpTransport, Transport
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.store import Store
from koordpy.sim.embedded.transport import DirectTransport
from tests.controllers.world import now
from tests.controlplane.fixtures import corner
from tests.controlplane.server import ControlPlane
from tests.scenarios.api import MERGE, Api, Refused

Json = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ARBITRATOR = "/apis/arbitrator.incubator.k8s.io/v1alpha1"
ALONE = replace(Settings(), leader_election=replace(Settings().leader_election, enabled=False))


def task(name: str = "", replicas: int = 1, *, image: str = "work", gpus: int = 0, **more: Any) -> Json:
    container: Json = {"name": "main", "image": image}
    if gpus:
        container["resources"] = {"limits": {"example.com/gpu": str(gpus)}}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}}
    return {**({"name": name} if name else {}), "replicas": replicas, "template": template, **more}


def job(name: str = "j", *tasks: Json, minimum: int | None = None, scheduling: Json | None = None, **spec: Any) -> Json:
    sched = {**({} if minimum is None else {"minAvailable": minimum}), **(scheduling or {})}
    return {
        "apiVersion": "arbitrator.incubator.k8s.io/v1alpha1",
        "kind": "QueueJob",
        "metadata": {"name": name},
        "spec": {"taskSpecs": list(tasks) or [task("w", 2)], **({"schedSpec": sched} if sched else {}), **spec},
    }


class World:
    """One API server; `wait_s` is how long something expected may take, `quiet_s` shows that nothing happens."""

    def __init__(
        self, transport: Transport, namespace: str, *, wait_s: float, quiet_s: float, clock: Callable[[], float]
    ):
        self.api, self.namespace = Api(transport), namespace
        self.transport = transport
        self.wait_s, self.quiet_s, self.clock = wait_s, quiet_s, clock
        self.store: Store | None = None  # of the embedded API, for who has to see every change
        self.counts_quota = False  # whether somebody writes the status of a ResourceQuota

    # --- the controllers ---

    @contextlib.asynccontextmanager
    async def controllers(self, transport: Transport | None = None) -> AsyncIterator[Controllers]:
        """Running meanwhile; what they die of fails the test."""
        client = Client(transport or self.transport)
        reflectors = SharedReflectors(client)
        controllers = Controllers(client, ALONE, reflectors, clock=self.clock)
        task = asyncio.ensure_future(_together(reflectors, controllers))
        try:
            yield controllers
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])

    # --- users ---

    async def create(self, body: Json) -> Json:
        return await self.api.ask("POST", self._jobs(), body)

    async def change(self, name: str = "j", **spec: Any) -> Json:
        return await self.api.ask("PATCH", self._jobs(name), {"spec": spec}, MERGE)

    async def delete(self, name: str = "j") -> None:
        await self.api.ask("DELETE", self._jobs(name), {"propagationPolicy": "Background"})

    async def job(self, name: str = "j") -> Json:
        return await self.api.ask("GET", self._jobs(name))

    async def status(self, name: str = "j") -> Json:
        return (await self.job(name)).get("status", {})

    async def spec_of(self, name: str = "j") -> Json | None:
        try:
            return await self.api.ask("GET", self.specs(name))
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    # --- kubelets, and whoever deletes pods ---

    async def pods(self, *, of: str = "") -> dict[str, Json]:
        listed = await self.api.ask("GET", self._pods())
        pods = {pod["metadata"]["name"]: pod for pod in listed["items"]}
        return {
            name: pod for name, pod in pods.items() if not of or pod["metadata"]["labels"]["koordpy.io/queuejob"] == of
        }

    async def phase(self, phase: str, *names: str, **status: Any) -> None:
        """Their kubelets report it; without names those of all pods that have not ended and are not going."""
        pods = await self.pods()
        for name in names or [name for name, pod in pods.items() if _is_active(pod)]:
            if phase == "Running" and not pods[name]["spec"].get("nodeName"):
                target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
                binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
                await self.api.ask("POST", f"{self._pods(name)}/binding", binding)
            await self.api.ask("PATCH", f"{self._pods(name)}/status", {"status": {"phase": phase, **status}}, MERGE)

    async def fail(self, name: str, code: int = 1) -> None:
        ended = {"exitCode": code, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z", "startedAt": None}
        state = {"name": "main", "state": {"terminated": ended}, "ready": False, "restartCount": 0}
        await self.phase("Failed", name, containerStatuses=[state | {"image": "work", "imageID": ""}])

    async def remove(self, name: str) -> None:
        await self.api.ask("DELETE", self._pods(name), {"gracePeriodSeconds": 0})

    async def start(self, *names: str) -> None:
        """All pods of these names are there, and run."""
        await self.until_pods(*names)
        await self.phase("Running")

    async def evict(self, name: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await self.api.ask("POST", f"{self._pods(name)}/eviction", body)

    async def quota(self, resource: str = "pods", *, most: int) -> None:
        """`quota(most=2)`: so many pods; again, it is changed."""
        path, name = f"/api/v1/namespaces/{self.namespace}/resourcequotas", "q"
        amounts = {resource: str(most)}
        try:
            await self.api.ask("POST", path, {"metadata": {"name": name}, "spec": {"hard": amounts}})
        except Refused as refused:
            if refused.status != 409:
                raise
            await self.api.ask("PATCH", f"{path}/{name}", {"spec": {"hard": amounts}}, MERGE)
        await self.until(lambda: self._is_counted(f"{path}/{name}", amounts), f"quota {name} is counted")

    async def _is_counted(self, path: str, amounts: Json) -> bool:
        """A real one refuses nothing before kube-controller-manager has counted; the embedded has no status."""
        found = await self.api.ask("GET", path)
        return not self.counts_quota or (found.get("status") or {}).get("hard") == amounts

    async def finish_deletions(self) -> None:
        """Kubelets whose pods are deleted let them go."""
        for name, pod in (await self.pods()).items():
            if "deletionTimestamp" in pod["metadata"]:
                with contextlib.suppress(Refused):
                    await self.remove(name)

    # --- expectations ---

    async def until(self, true: Callable[[], Any], what: str = "") -> Any:
        """Kubelets let deleted pods go meanwhile."""
        return await self.wait_for(true, what, kubelets=True)

    async def wait_for(self, true: Callable[[], Any], what: str, *, kubelets: bool = False) -> Any:
        ends = now() + self.wait_s
        while True:
            if kubelets:
                await self.finish_deletions()
            if found := await true():
                return found
            if now() > ends:
                raise AssertionError(f"never happened: {what}\n{await self.describe()}")
            await asyncio.sleep(0.1)

    async def until_pods(self, *names: str) -> None:
        async def there() -> bool:
            return set(await self.pods()) == set(names)

        await self.until(there, f"pods {names}")

    async def until_status(self, name: str = "j", **wanted: Any) -> Json:
        async def so() -> Json | None:
            found = await self.status(name)
            return found if all(found.get(key) == value for key, value in wanted.items()) else None

        return await self.until(so, f"status {wanted} of {name}")

    async def until_condition(
        self, kind: str, status: str, reason: str = "", name: str = "j", *, begins: str = ""
    ) -> str:
        """Its message, once there is one that begins so."""

        async def so() -> str | None:
            for each in (await self.status(name)).get("conditions", ()):
                if (each["type"], each["status"]) != (kind, status) or not each["message"].startswith(begins):
                    continue
                if reason in ("", each["reason"]):
                    return each["message"] or "-"
            return None

        return await self.until(so, f"condition {kind}={status} {reason} of {name}")

    async def quiet(self) -> None:
        """Long enough to see that nothing happens."""
        await asyncio.sleep(self.quiet_s)

    async def is_terminating(self, name: str) -> bool:
        return "deletionTimestamp" in (await self.pods()).get(name, {"metadata": {}})["metadata"]

    async def is_gone(self, name: str) -> bool:
        listed = await self.api.ask("GET", self._jobs())
        return name not in [each["metadata"]["name"] for each in listed["items"]]

    def specs(self, name: str = "") -> str:
        return f"{ARBITRATOR}/namespaces/{self.namespace}/schedulingspecs" + (f"/{name}" if name else "")

    async def describe(self) -> str:
        jobs = await self.api.ask("GET", self._jobs())
        lines = [
            f"{each['metadata']['name']}: {msgspec.json.encode(each.get('status')).decode()}" for each in jobs["items"]
        ]
        for name, pod in (await self.pods()).items():
            lines.append(f"  {name}: {pod['status'].get('phase')} {pod['metadata'].get('deletionTimestamp', '')}")
        return "\n".join(lines)

    def _jobs(self, name: str = "") -> str:
        return f"{ARBITRATOR}/namespaces/{self.namespace}/queuejobs" + (f"/{name}" if name else "")

    def _pods(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods" + (f"/{name}" if name else "")


def _is_active(pod: Json) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") not in ("Succeeded", "Failed")


async def _together(reflectors: SharedReflectors, controllers: Controllers) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reflectors.run())
        tasks.create_task(controllers.run())


@contextlib.asynccontextmanager
async def embedded_world(*, installed: bool = True) -> AsyncIterator[World]:
    async with EmbeddedCluster(kubelets=False, clock=_wall) as cluster:
        transport = DirectTransport(cluster.handle)
        world = World(transport, "default", wait_s=60.0, quiet_s=3.0, clock=_wall)
        world.store = cluster.store
        if installed:
            await install(world.api)
        yield world


@contextlib.asynccontextmanager
async def real_world(control_plane: ControlPlane, start_manager: Callable[[], None]) -> AsyncIterator[World]:
    async with corner(control_plane) as own:
        with tempfile.TemporaryDirectory() as folder:
            credentials = await load_credentials(str(control_plane.kubeconfig(Path(folder) / "kubeconfig")))
        async with HttpTransport(credentials, 16) as transport:
            await install(Api(transport))
            start_manager()
            world = World(transport, own.namespace, wait_s=30.0, quiet_s=1.0, clock=time.time)
            world.counts_quota = True
            yield world


async def install(api: Api) -> None:
    """The definitions, and return when they are served."""
    for each in definitions():
        if each["spec"]["group"] != "arbitrator.incubator.k8s.io":
            continue
        try:
            await api.ask("POST", DEFINITIONS, each)
        except Refused as refused:
            if refused.status != 409:  # an earlier test has installed it
                raise
        path = f"{ARBITRATOR}/{each['spec']['names']['plural']}"
        async with asyncio.timeout(20):
            while True:
                with contextlib.suppress(Refused):
                    await api.ask("GET", path)
                    break
                await asyncio.sleep(0.1)


def _wall() -> float:
    return 1.8e9 + now()
