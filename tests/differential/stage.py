"""Scenes on the real control plane: set one up, let pods come in, write down what kube-scheduler says, clear it away.

kube-scheduler must know the whole scene before a pod comes in, and nothing of the scene before: each step waits until
its log has told about every object. Nothing here knows koordpy.
"""

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.controlplane.client import TIMEOUT_SECONDS, Client, Watch
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane
from tests.controlplane.sweep import cluster_scoped, sweep
from tests.differential.answer import Answer
from tests.differential.cases import Case, Scene
from tests.differential.fates import TOLD, carry_out
from tests.differential.kube_scheduler import Event, KubeScheduler
from tests.differential.world import LOWEST_PRIORITY, NAMESPACES, PRIORITIES, RUNTIME_CLASS, world

Json = dict[str, Any]

ADMISSION_SECONDS = 10


@dataclass(frozen=True)
class Asked:
    """A case as the API server has it, defaults and all, and kube-scheduler's answer."""

    case: Case
    world: list[Json] = field(repr=False)
    cluster: list[Json] = field(repr=False)
    incoming: Json = field(repr=False)
    answer: Answer

    @property
    def surroundings(self) -> list[Json]:
        """Everything that is there before the pod comes in."""
        return [*self.world, *self.cluster]


class Stage:
    """Where one scene after the other is played."""

    def __init__(self, client: Client, etcd: aiohttp.ClientSession, scheduler: KubeScheduler) -> None:
        self._client, self._etcd, self._scheduler = client, etcd, scheduler
        self._world: list[Json] = []

    async def set_up_world(self) -> None:
        left = (await self._client.list("nodes")).ok()["items"]
        if left:
            names = [node["metadata"]["name"] for node in left]
            raise RuntimeError(
                f"there are nodes on the stage already, {names}: kube-scheduler would use them; delete them"
            )
        for resource, body in world():
            namespace = body["metadata"].get("namespace", "")
            self._world.append((await self._client.create(resource, body, namespace=namespace)).ok())
        await self._wait_for_admission()

    async def _wait_for_admission(self) -> None:
        """Admission reads classes from a cache of its own, which learns of new ones a moment later."""
        spec = {"containers": [{"name": "main", "image": "none"}], "runtimeClassName": RUNTIME_CLASS}
        deadline = time.monotonic() + ADMISSION_SECONDS
        for name in (*PRIORITIES, LOWEST_PRIORITY):
            probe = {"metadata": {"name": "probe"}, "spec": spec | {"priorityClassName": name}}
            while (reply := await self._client.create("pods", probe, namespace="diff-a", dryRun="All")).status == 403:
                if time.monotonic() > deadline:
                    reply.ok()
                await asyncio.sleep(0.1)
            reply.ok()

    async def play(self, scene: Scene, cases: list[Case]) -> AsyncIterator[Asked]:
        """Set the scene, and answer each of these cases, which are of that scene."""
        nodes = await self._create("nodes", scene.nodes)
        pods = await self._create("pods", scene.pods)
        pods = await asyncio.gather(*(self._with_fate(pod, scene.fates) for pod in pods))
        seen = {("Add event for node", _key(node)) for node in nodes}
        seen |= {("Add event for scheduled pod", _key(pod)) for pod in pods}
        seen |= {
            (TOLD[scene.fates[name]], _key(pod)) for pod in pods if (name := pod["metadata"]["name"]) in scene.fates
        }
        await self._scheduler.wait_for(seen)
        watching = self._client.watch("pods", namespace="", fieldSelector="spec.schedulerName=default-scheduler")
        async with watching as watch:
            for case in cases:
                incoming, answer = await self._ask(case, watch)
                yield Asked(case, self._world, [*nodes, *pods], incoming, answer)
        gone = {("Delete event for node", _key(node)) for node in nodes}
        gone |= {("Delete event for scheduled pod", _key(pod)) for pod in pods}
        await self._remove([*nodes, *pods], gone)
        self._scheduler.forget()

    async def _create(self, resource: str, objects: list[Json]) -> list[Json]:
        replies = await asyncio.gather(
            *(self._client.create(resource, each, namespace=each["metadata"].get("namespace", "")) for each in objects)
        )
        return [reply.ok() for reply in replies]

    async def _with_fate(self, pod: Json, fates: dict[str, str]) -> Json:
        fate = fates.get(pod["metadata"]["name"])
        return await carry_out(self._client, pod, fate) if fate else pod

    async def _ask(self, case: Case, watch: Watch) -> tuple[Json, Answer]:
        (incoming,) = await self._create("pods", [case.incoming])
        decided = await _decision(watch, incoming["metadata"]["uid"])
        key = _key(incoming)
        totals, by_plugin = self._scheduler.scores(key)
        node = decided["spec"].get("nodeName", "")
        feasible = frozenset(totals) or frozenset([node] if node else [])
        message = "" if node else _refusal(decided)
        kind = "scheduled" if node else "unscheduled"
        await self._remove([incoming], {(f"Delete event for {kind} pod", key)})
        return incoming, Answer(node, feasible, message, totals, by_plugin)

    async def _remove(self, objects: list[Json], gone: set[Event]) -> None:
        """Straight from etcd: to watches it is an ordinary deletion, and to the API server no work."""
        keys = [f"/registry/{'pods' if '/' in _key(each) else 'minions'}/{_key(each)}" for each in objects]
        deletions = [{"request_delete_range": {"key": base64.b64encode(key.encode()).decode()}} for key in keys]
        async with self._etcd.post("/v3/kv/txn", json={"success": deletions}) as reply:
            reply.raise_for_status()
        await self._scheduler.wait_for(gone)


async def _decision(watch: Watch, uid: str) -> Json:
    """The pod as soon as it is bound or refused."""
    while event := await watch.next(timeout=20):
        pod = event["object"]
        if pod["metadata"]["uid"] == uid and (pod["spec"].get("nodeName") or _refusal(pod)):
            return pod
    raise RuntimeError("the watch has ended before the pod was bound or refused")


def _refusal(pod: Json) -> str:
    conditions = pod["status"].get("conditions", ())
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


def _key(obj: Json) -> str:
    """As kube-scheduler writes it into its log."""
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]


@contextlib.asynccontextmanager
async def stage(control_plane: ControlPlane, scheduler: KubeScheduler) -> AsyncIterator[Stage]:
    """A stage with its world; afterwards both are gone from the control plane."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with (
        Client(control_plane.url, token=ADMIN_TOKEN, ca_path=control_plane.ca_path) as client,
        aiohttp.ClientSession(control_plane.etcd_url, timeout=timeout) as etcd,
    ):
        before = await cluster_scoped(control_plane.etcd_url)
        built = Stage(client, etcd, scheduler)
        try:
            await built.set_up_world()
            yield built
        finally:
            for namespace in NAMESPACES:
                await sweep(control_plane.etcd_url, namespace, before)
