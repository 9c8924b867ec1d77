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
from tests.differential.fates import carry_out, told
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
GATE = {"name": "example.com/wait-for-the-promise"}


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
        promised = await self._settled(scene.promised, scene)
        await self._scheduler.wait_for(event for each in promised for event in _arrival(each, scene))
        return [*stored, *others, *promised]

    async def restore(self, scene: Scene, changed: list[Json]) -> list[Json]:
        """Pods as they were before somebody was evicted or lost a promise."""
        await self.remove(changed, *map(_departure, changed))
        keys = {key_of(each) for each in changed}
        self._scheduler.forget(keys)
        again = await self._settled([pod for pod in [*scene.pods, *scene.promised] if key_of(pod) in keys], scene)
        await self._scheduler.wait_for(event for each in again for event in _arrival(each, scene))
        return again

    async def clear(self, objects: list[Json]) -> None:
        await self.remove(objects, *(_departure(each) for each in objects if each["kind"] in ("Node", "Pod")))
        self._scheduler.forget()

    async def create(self, obj: Json) -> Json:
        if _promised(obj):
            return await self._create_promised(obj)
        namespace = obj["metadata"].get("namespace", "")
        return (await self._client.create(RESOURCES[obj["kind"]], obj, namespace=namespace)).ok()

    async def _create_promised(self, pod: Json) -> Json:
        """The API server takes a promise only afterwards: behind a gate nobody schedules the pod meanwhile."""
        meta = pod["metadata"]
        gated = pod | {"spec": pod["spec"] | {"schedulingGates": [GATE]}}
        (await self._client.create("pods", gated, namespace=meta["namespace"])).ok()
        for patch, subresource in (({"status": pod["status"]}, "status"), ({"spec": {"schedulingGates": None}}, "")):
            reply = await self._client.patch(
                "pods", meta["name"], patch, namespace=meta["namespace"], subresource=subresource
            )
        return reply.ok()

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
        for fate in scene.fates.get(meta["name"], ()):
            made = await carry_out(self._client, made, fate)
        if phase := scene.storage.phases.get(meta["name"]):
            at = self._client.path(RESOURCES[obj["kind"]], meta["name"], meta.get("namespace", ""), "status")
            merge = {"Content-Type": "application/merge-patch+json"}
            return (await self._client.request("PATCH", at, {"status": {"phase": phase}}, headers=merge)).ok()
        return made


def _arrival(obj: Json, scene: Scene) -> list[Event]:
    """What kube-scheduler says of it."""
    key, what = key_of(obj), _what(obj)
    events = [f"Add event for {what}", *told(scene.fates.get(obj["metadata"]["name"], []))]
    if _promised(obj):  # promised, let in, and refused
        events += [f"Update event for {what}"] * 3
    return [(event, key) for event in events]


def _departure(obj: Json) -> Event:
    return f"Delete event for {_what(obj)}", key_of(obj)


def _what(obj: Json) -> str:
    if obj["kind"] == "Node":
        return "node"
    return "scheduled pod" if obj["spec"].get("nodeName") else "unscheduled pod"


def _promised(obj: Json) -> bool:
    return bool(obj.get("status", {}).get("nominatedNodeName"))


def key_of(obj: Json) -> str:
    """As kube-scheduler writes it into its log, and the API server into etcd."""
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
