"""Verbs: `koordpy controllers` beside the scheduler, and workloads whose operators are played by the story.

The grouper's lease is in the namespace of the story, where the scheduler looks for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from koordpy.app.controllers import Controllers
from koordpy.app.settings import LeaderElection, Settings
from koordpy.kube.client import Client
from koordpy.kube.leader import Timing
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.server.health import Health
from tests.controllers.grouping.world import BUILT_IN, CUSTOM, SPECS, permissive, reference_to
from tests.scenarios.api import MERGE, Refused
from tests.scenarios.crds import DEFINITIONS, served
from tests.scenarios.faults import FaultyTransport
from tests.scenarios.frontends import FrontEndVerbs
from tests.scenarios.ground import Json
from tests.scenarios.mirror import KAI_GROUPS
from tests.scenarios.scheduler import Instance

_LEADS_S = 20.0
_LEASE = Timing(lease_duration_s=3.0, renew_deadline_s=2.0, retry_period_s=0.4)


class ControllersProcess:
    """The controllers with the reflectors that they share, as the process runs them."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._reflectors = SharedReflectors(client)
        self._controllers = Controllers(client, settings, self._reflectors)

    @property
    def health(self) -> Health:
        return self._controllers.health

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reflectors.run())
            tasks.create_task(self._controllers.run())


def controllers_instance(transport: FaultyTransport, settings: Settings) -> Instance:
    return Instance(transport, ControllersProcess(Client(transport), settings))


class ControllingVerbs(FrontEndVerbs):
    """Several controllers may run side by side; one of them has the lease."""

    new_controllers: Callable[[LeaderElection], Instance]

    @contextlib.asynccontextmanager
    async def controllers(self) -> AsyncIterator[Instance]:
        """Running in this block, and killed after it unless the story has stopped or killed them before."""
        election = LeaderElection(enabled=False, namespace=self.namespace, timing=_LEASE)
        running = self.new_controllers(election)
        await running.start()
        try:
            await self._grouper_leads()
            yield running
        finally:
            await running.kill()

    async def _grouper_leads(self) -> None:
        """Somebody has the grouper's lease, and the scheduler has had time to hear of it."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/koordpy-podgrouper"
        async with asyncio.timeout(_LEADS_S):
            while True:
                with contextlib.suppress(Refused):
                    if (await self.api.ask("GET", path))["spec"].get("holderIdentity"):
                        break
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)

    async def workload(self, kind: str, name: str, spec: Json | None = None, **meta: Any) -> Json:
        """An object of a kind that operators know; `owner` controls it."""
        api_version, _ = (CUSTOM | BUILT_IN)[kind]
        if kind in CUSTOM:
            await self._define(kind)
        if owner := meta.pop("owner", None):
            meta["ownerReferences"] = [reference_to(owner)]
        body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name} | meta}
        return await self.api.ask("POST", self._workloads(kind), body | {"spec": spec or SPECS.get(kind, {})})

    async def change_workload(self, kind: str, name: str, body: Json) -> Json:
        return await self.api.ask("PATCH", f"{self._workloads(kind)}/{name}", body, MERGE)

    async def workload_pods(self, *names: str, of: Json, **given: Any) -> None:
        """Pods as its operator makes them, one by one."""
        await self.pods(*names, controller=reference_to(of), **({"cpu": 1} | given))

    async def grouped(self, *names: str) -> Json:
        """The pods are told one PodGroup, which is returned."""

        def told() -> set[str]:
            said = [self.pod(name)["metadata"].get("annotations") or {} for name in names]
            return {each.get("pod-group-name", "") for each in said}

        await self.until(lambda: "" not in told(), f"grouped: {names}")
        (group,) = told()
        return await self.until(lambda: self.mirror.find(KAI_GROUPS, self.namespace, group), f"PodGroup {group}")

    async def group_becomes(self, pod: str, **spec: Any) -> None:
        """The PodGroup of a pod says so."""
        name = (await self.grouped(pod))["metadata"]["name"]

        def so() -> bool:
            found = self.mirror.find(KAI_GROUPS, self.namespace, name)
            return found is not None and spec.items() <= found["spec"].items()

        await self.until(so, f"{spec} of PodGroup {name}")

    async def _define(self, kind: str) -> None:
        api_version, plural = CUSTOM[kind]
        with contextlib.suppress(Refused):  # it is there already
            await self.api.ask("POST", DEFINITIONS, permissive(api_version, kind, plural))
        await served(self.api, f"/apis/{api_version}/{plural}")

    def _workloads(self, kind: str) -> str:
        api_version, plural = (CUSTOM | BUILT_IN)[kind]
        return f"/apis/{api_version}/namespaces/{self.namespace}/{plural}"
