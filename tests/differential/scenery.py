"""Puts the objects of a scene on the real control plane and takes them away again, in step with kube-scheduler.

kube-scheduler must know the whole scene before a pod comes in, and nothing of the scene before: both ways wait until
its log has told about every object.
"""

import asyncio
import base64
from collections import Counter
from typing import Any

import aiohttp

from tests.controlplane.client import Client
from tests.differential.cases import Scene
from tests.differential.fates import TOLD, carry_out
from tests.differential.kube_scheduler import Event, KubeScheduler
from tests.differential.storage import fence

Json = dict[str, Any]

ETCD = {
    "Node": "minions",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
}
RESOURCES = ETCD | {"Node": "nodes"}
TOLD_ON_ARRIVAL = {"Node": "Add event for node", "Pod": "Add event for scheduled pod"}
TOLD_ON_DEPARTURE = {"Node": "Delete event for node", "Pod": "Delete event for scheduled pod"}


class Scenery:
    """What stands on the stage."""

    def __init__(self, client: Client, etcd: aiohttp.ClientSession, scheduler: KubeScheduler) -> None:
        self._client, self._etcd, self._scheduler = client, etcd, scheduler
        self._stored: Counter[str] = Counter()  # claims and volumes made so far

    async def set_up(self, scene: Scene) -> list[Json]:
        """All objects of the scene, as the API server has them once everything has happened to them."""
        storage = scene.storage
        stored = await self._settled([*storage.volumes, *storage.claims], scene)
        if stored:
            stored += await self._settled(fence(f"s{scene.number}"), scene)
            self._stored.update(each["kind"] for each in stored)
        others = await self._settled([*scene.nodes, *scene.pods], scene)
        for kind, total in self._stored.items() if stored else ():
            await self._scheduler.wait_for_added(kind, total)
        await self._scheduler.wait_for(event for each in others for event in _arrival(each, scene))
        return [*stored, *others]

    async def clear(self, objects: list[Json]) -> None:
        gone = (
            (TOLD_ON_DEPARTURE[each["kind"]], key_of(each)) for each in objects if each["kind"] in TOLD_ON_DEPARTURE
        )
        await self.remove(objects, *gone)
        self._scheduler.forget()

    async def create(self, obj: Json) -> Json:
        namespace = obj["metadata"].get("namespace", "")
        return (await self._client.create(RESOURCES[obj["kind"]], obj, namespace=namespace)).ok()

    async def remove(self, objects: list[Json], *gone: Event) -> None:
        """Straight from etcd: to watches it is an ordinary deletion, and to the API server no work."""
        keys = [f"/registry/{ETCD[each['kind']]}/{key_of(each)}" for each in objects]
        deletions = [{"request_delete_range": {"key": base64.b64encode(key.encode()).decode()}} for key in keys]
        async with self._etcd.post("/v3/kv/txn", json={"success": deletions}) as reply:
            reply.raise_for_status()
        await self._scheduler.wait_for(gone)

    async def _settled(self, objects: list[Json], scene: Scene) -> list[Json]:
        """Made, and put into the state that the API server lets nobody make them in."""
        return await asyncio.gather(*(self._with_fate(each, scene) for each in objects))

    async def _with_fate(self, obj: Json, scene: Scene) -> Json:
        made = await self.create(obj)
        meta = made["metadata"]
        if fate := scene.fates.get(meta["name"]):
            return await carry_out(self._client, made, fate)
        if phase := scene.storage.phases.get(meta["name"]):
            at = self._client.path(RESOURCES[obj["kind"]], meta["name"], meta.get("namespace", ""), "status")
            merge = {"Content-Type": "application/merge-patch+json"}
            return (await self._client.request("PATCH", at, {"status": {"phase": phase}}, headers=merge)).ok()
        return made


def _arrival(obj: Json, scene: Scene) -> list[Event]:
    """What kube-scheduler says of it."""
    key, name = key_of(obj), obj["metadata"]["name"]
    events = [(TOLD_ON_ARRIVAL[obj["kind"]], key)]
    if name in scene.fates:
        events.append((TOLD[scene.fates[name]], key))
    return events


def key_of(obj: Json) -> str:
    """As kube-scheduler writes it into its log, and the API server into etcd."""
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
