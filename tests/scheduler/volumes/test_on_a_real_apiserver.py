"""`koordpy run` on a real kube-apiserver, with the test in the part of the volume controller and the provisioner."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.app.cluster import condition
from tests.app.scheduler import SchedulerProcess, until
from tests.builders import Json, node_json
from tests.controlplane.client import PATCHES
from tests.controlplane.fixtures import Real
from tests.scheduler.volumes.controller import Controller
from tests.scheduler.volumes.objects import DRIVER, pod_with_json

pytestmark = pytest.mark.real


class Stage:
    """Two nodes, a running scheduler, and the order in which things were seen to happen."""

    def __init__(self, real: Real, scheduler: SchedulerProcess) -> None:
        self._real, self._scheduler = real, scheduler
        self.controller = Controller(self._ask, real.namespace)

    async def _ask(self, method: str, path: str, body: Json | None) -> Json:
        headers = {"Content-Type": PATCHES["merge"]} if method == "PATCH" else {}
        return (await self._real.client.request(method, path, body, headers=headers)).ok()

    async def add_nodes(self, *names: str) -> None:
        for name in names:
            (await self._real.client.create("nodes", node_json(name))).ok()

    async def add_pod(self, *claims: str) -> None:
        pod = pod_with_json(*claims, namespace=self._real.namespace, cpu="100m")
        (await self._real.client.create("pods", pod)).ok()

    async def pod(self) -> Json:
        return (await self._real.client.get("pods", "p1")).ok()

    async def node_of(self) -> str:
        return (await self.pod())["spec"].get("nodeName", "")

    async def message(self) -> str:
        return condition(await self.pod()).get("message", "")

    async def until(self, answer: Callable[[], Awaitable[str]], wanted: str) -> None:
        async def so() -> bool:
            return await answer() == wanted

        await until(so, 15, every=0.05, what=self._scheduler.text)


@contextlib.asynccontextmanager
async def stage(real: Real, directory: Path) -> AsyncIterator[Stage]:
    async with SchedulerProcess(directory, "--kubeconfig", real.kubeconfig(directory)) as scheduler:
        on_stage = Stage(real, scheduler)
        await on_stage.add_nodes("z-first", "a-second")
        await scheduler.ready()
        yield on_stage
        assert scheduler.lines("planning_failed") == []


async def test_a_pod_goes_to_its_local_volume_and_is_bound_after_it(real: Real, tmp_path: Path) -> None:
    async with stage(real, tmp_path) as on_stage:
        controller = on_stage.controller
        await controller.add_class()
        await controller.add_volume(nodes=["z-first"])
        await controller.add_claim()
        await on_stage.add_pod("data")
        await on_stage.until(controller.owner_of, "data")
        reference = (await controller.volume())["spec"]["claimRef"]
        assert reference["uid"] == (await controller.claim())["metadata"]["uid"]
        await asyncio.sleep(0.5)
        assert await on_stage.node_of() == "", "the claim is not bound yet"
        await controller.finish()
        await on_stage.until(on_stage.node_of, "z-first")


async def test_a_pod_is_bound_where_its_volume_was_made_and_not_before(real: Real, tmp_path: Path) -> None:
    async with stage(real, tmp_path) as on_stage:
        controller = on_stage.controller
        await controller.add_class("fast", provisioner=DRIVER)
        await controller.add_claim(storage_class="fast")
        await on_stage.add_pod("data")
        await on_stage.until(controller.selected_node, "a-second")
        await asyncio.sleep(0.5)
        assert await on_stage.node_of() == "", "the claim is not bound yet"
        await controller.provision()
        await on_stage.until(on_stage.node_of, "a-second")


NO_HELP = " preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."


async def test_the_pod_of_a_missing_claim_says_so_and_goes_on_when_it_appears(real: Real, tmp_path: Path) -> None:
    async with stage(real, tmp_path) as on_stage:
        controller = on_stage.controller
        await controller.add_class()
        await controller.add_volume(nodes=["z-first"])
        await on_stage.add_pod("data")
        missing = '0/2 nodes are available: persistentvolumeclaim "data" not found.'
        await on_stage.until(on_stage.message, missing + NO_HELP)
        await controller.add_claim()
        await on_stage.until(controller.owner_of, "data")
        await controller.finish()
        await on_stage.until(on_stage.node_of, "z-first")


async def test_a_claim_that_nobody_can_serve_is_refused_until_a_volume_appears(real: Real, tmp_path: Path) -> None:
    async with stage(real, tmp_path) as on_stage:
        controller = on_stage.controller
        await controller.add_class()
        await controller.add_claim()
        await on_stage.add_pod("data")
        nothing = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
        never = "; even on an empty cluster it would not fit"
        await on_stage.until(on_stage.message, (nothing + NO_HELP).removesuffix(".") + never)
        await controller.add_volume(nodes=["z-first"])
        await on_stage.until(controller.owner_of, "data")
        await controller.finish()
        await on_stage.until(on_stage.node_of, "z-first")
