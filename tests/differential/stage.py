"""Scenes on the real control plane: set one up, let pods come in, write down what kube-scheduler says, clear it away.

Nothing here knows koordpy.
"""

import asyncio
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
from tests.differential.kube_scheduler import CHOSEN, KubeScheduler
from tests.differential.scenery import Scenery, key_of
from tests.differential.world import (
    LOWEST_PRIORITY,
    NAMESPACE_OF_PROMISED,
    NAMESPACES,
    NEVER,
    PRIORITIES,
    RUNTIME_CLASS,
    TOP_PRIORITY,
    WAITING,
    world,
)

Json = dict[str, Any]

ADMISSION_SECONDS = 10
DECISION_SECONDS = 20


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

    @property
    def pods(self) -> list[Json]:
        return [each for each in self.cluster if each["kind"] == "Pod"]


class Stage:
    """Where one scene after the other is played."""

    def __init__(self, client: Client, scenery: Scenery, scheduler: KubeScheduler) -> None:
        self._client, self._scenery, self._scheduler = client, scenery, scheduler
        self._world: list[Json] = []

    async def set_up_world(self) -> None:
        left = (await self._client.list("nodes")).ok()["items"]
        if left:
            names = [node["metadata"]["name"] for node in left]
            raise RuntimeError(f"there are nodes already, {names}: kube-scheduler would use them; delete them first")
        for resource, body in world():
            namespace = body["metadata"].get("namespace", "")
            made = (await self._client.create(resource, body, namespace=namespace)).ok()
            if "status" in body:
                made = (
                    await self._client.replace(resource, made | {"status": body["status"]}, subresource="status")
                ).ok()
            self._world.append(made)
        await self._wait_for_admission()

    async def take_down_world(self) -> None:
        """What is in no namespace, so that the sweep of a namespace does not take it along."""
        for resource, body in world():
            if "namespace" not in body["metadata"] and body["kind"] != "Namespace":
                await self._client.delete(resource, body["metadata"]["name"], namespace="")

    async def _wait_for_admission(self) -> None:
        """Admission reads classes from a cache of its own, which learns of new ones a moment later."""
        spec = {"containers": [{"name": "main", "image": "none"}], "runtimeClassName": RUNTIME_CLASS}
        deadline = time.monotonic() + ADMISSION_SECONDS
        for name in (*PRIORITIES, LOWEST_PRIORITY, TOP_PRIORITY, NEVER, WAITING):
            probe = {"metadata": {"name": "probe"}, "spec": spec | {"priorityClassName": name}}
            while (reply := await self._client.create("pods", probe, namespace="diff-a", dryRun="All")).status == 403:
                if time.monotonic() > deadline:
                    reply.ok()
                await asyncio.sleep(0.1)
            reply.ok()

    async def play(self, scene: Scene, cases: list[Case]) -> AsyncIterator[Asked]:
        """Set the scene, and answer each of these cases, which are of that scene."""
        objects = await self._scenery.set_up(scene)
        watching = self._client.watch("pods", namespace="", fieldSelector="spec.schedulerName=default-scheduler")
        async with watching as watch:
            for case in cases:
                incoming = await self._scenery.create(case.incoming)
                answer = await self._answer(incoming, watch)
                yield Asked(case, self._world, objects, incoming, answer)
                changed = [each for each in objects if _is_changed(each, incoming, answer)]
                again = await self._scenery.restore(scene, changed) if changed else []
                objects = [*(each for each in objects if each not in changed), *again]
        await self._scenery.clear(objects)

    async def _answer(self, incoming: Json, watch: Watch) -> Answer:
        key = key_of(incoming)
        pod = await self._decision(incoming, watch)
        totals, by_plugin = self._scheduler.scores(key)
        bound = pod["spec"].get("nodeName", "")
        node = bound or self._scheduler.chosen(key)
        feasible = frozenset(totals) or frozenset([node] if node else [])
        told = f"Delete event for {'scheduled' if bound else 'unscheduled'} pod"
        await self._scenery.remove([incoming], (told, key))
        victims = self._scheduler.victims(key)
        promised = pod["status"]["nominatedNodeName"] if victims else ""
        return Answer(node, feasible, "" if node else _refusal(pod), totals, by_plugin, promised, victims)

    async def _decision(self, incoming: Json, watch: Watch) -> Json:
        """The pod once it is bound or refused; or as it came, if it has a node and waits for its volumes there."""
        if not _has_waiting_claims(incoming):
            return await _bound_or_refused(watch, incoming["metadata"]["uid"])
        seen = asyncio.create_task(_bound_or_refused(watch, incoming["metadata"]["uid"]))
        chosen = asyncio.create_task(self._scheduler.wait_for([(CHOSEN, key_of(incoming))]))
        done, others = await asyncio.wait((seen, chosen), return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()
        return seen.result() if seen in done else incoming


async def _bound_or_refused(watch: Watch, uid: str) -> Json:
    while event := await watch.next(timeout=DECISION_SECONDS):
        pod = event["object"]
        if pod["metadata"]["uid"] == uid and (pod["spec"].get("nodeName") or _refusal(pod)):
            return pod
    raise RuntimeError("the watch has ended before the pod was bound or refused")


def _has_waiting_claims(pod: Json) -> bool:
    """No controller makes or binds volumes here: such a pod never gets further than to its node."""
    claims = [each.get("persistentVolumeClaim", {}).get("claimName", "") for each in pod["spec"].get("volumes", ())]
    return any("-waiting-" in name for name in claims)


def _refusal(pod: Json) -> str:
    """What kube-scheduler says; the API server has words of its own for a pod behind a gate."""
    conditions = pod["status"].get("conditions", ())
    said = (each for each in conditions if each["type"] == "PodScheduled" and each.get("reason") != "SchedulingGated")
    return next((each.get("message", "") for each in said), "")


def _is_changed(obj: Json, incoming: Json, answer: Answer) -> bool:
    """A victim; or a pod that was promised the same node, and had to give it up."""
    if obj["kind"] != "Pod" or not answer.victims or "deletionTimestamp" in obj["metadata"]:
        return False
    gives_up = obj["status"].get("nominatedNodeName") == answer.promised
    return key_of(obj) in answer.victims or (gives_up and obj["spec"]["priority"] < incoming["spec"]["priority"])


@contextlib.asynccontextmanager
async def stage(control_plane: ControlPlane, scheduler: KubeScheduler) -> AsyncIterator[Stage]:
    """A stage with its world; afterwards both are gone from the control plane."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with (
        Client(control_plane.url, token=ADMIN_TOKEN, ca_path=control_plane.ca_path) as client,
        aiohttp.ClientSession(control_plane.etcd_url, timeout=timeout) as etcd,
    ):
        before = await cluster_scoped(control_plane.etcd_url)
        built = Stage(client, Scenery(client, etcd, scheduler), scheduler)
        try:
            await built.set_up_world()
            yield built
        finally:
            await built.take_down_world()
            for namespace in (*NAMESPACES, NAMESPACE_OF_PROMISED):
                await sweep(control_plane.etcd_url, namespace, before)
