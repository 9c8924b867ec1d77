"""The controllers on an API server that holds whatever somebody has put into it, and a tenant who wants to be served.

Objects are put into the store past its validation: the definitions that people install differ, and some check nothing.
What the controllers write goes through it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import msgspec

from koordpy.app.controllers import Controllers
from koordpy.app.crds import definitions
from koordpy.app.settings import LeaderElection, Settings
from koordpy.kube.client import Client
from koordpy.kube.http.transport import Response
from koordpy.kube.leader import Timing
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.sim.embedded.request import Request
from koordpy.sim.embedded.resources import Resource
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.transport import DirectTransport
from koordpy.sim.simulate.loop import VirtualLoop
from koordpy.sim.simulate.machine import Machine, task_of_a_machine
from koordpy.sim.simulate.objects import path
from koordpy.sim.simulate.sizes import sizes
from koordpy.sim.simulate.surroundings import EPOCH, Surroundings
from tests.builders import Json
from tests.hostile.workloads import KINDS, definition_of, plural_of

GOOD = "good"  # the tenant's namespace
SERVED_WITHIN_S = 120.0
FORGOTTEN_WITHIN_S = 2000.0  # what is wrong is looked at again after half an hour
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_BUILT_IN = ("apps", "batch")
_DEFINED = [kind for kind, each in KINDS.items() if each.group not in _BUILT_IN]
# What is bounded by a number of its own.
_MAY_STAY = ("_told", "_gone._uids", "_asked", "_reflectors", "_recent", "usage_log._rows")


# Renewed seldom: nothing else happens for most of the time.
_SETTINGS = Settings(leader_election=LeaderElection(timing=Timing(400.0, 300.0, 100.0)))


@cache
def _definitions() -> list[Json]:
    return [*definitions(), *map(definition_of, _DEFINED)]


def storage_of(kind: str) -> str:
    group = KINDS[kind].group
    return f"{plural_of(kind)}.{group}"


def run(story: Callable[[World], Awaitable[None]]) -> None:
    """On virtual time. Whatever a controller logs as a mistake of its own is one."""
    loop = VirtualLoop()
    loop.set_task_factory(task_of_a_machine)  # type: ignore[arg-type]  # the protocol has changed between versions
    try:
        loop.run_until_complete(_run(story, loop))
    finally:
        loop.close()


async def _run(story: Callable[[World], Awaitable[None]], loop: VirtualLoop) -> None:
    machine = Machine("controllers", 0, loop)
    machine.said = deque()  # all of it
    with Surroundings(0, lambda _: None).in_place():
        async with World.there_is(loop, machine) as world:
            await story(world)


async def _controllers(cluster: EmbeddedCluster, machine: Machine) -> None:
    client = Client(_Forgiving(cluster.handle))
    reflectors = SharedReflectors(client)
    machine.process = Controllers(client, _SETTINGS, reflectors)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reflectors.run())
        tasks.create_task(machine.process.run())


class _Forgiving(DirectTransport):
    """The embedded API expects what it has let in, and fails at what was put into its store: a 500, as anywhere."""

    async def send(self, method: str, path: str, body: bytes = b"", **given: Any) -> Response:
        try:
            return await super().send(method, path, body, **given)
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            told = {"kind": "Status", "code": 500, "reason": "InternalError", "message": repr(error)}
            return Response(500, msgspec.json.encode(told), None)


class World:
    def __init__(self, cluster: EmbeddedCluster, machine: Machine) -> None:
        self._cluster, self._machine = cluster, machine
        self._put: dict[tuple[str, tuple[str, str]], str] = {}
        self._tenants = 0

    @classmethod
    @asynccontextmanager
    async def there_is(cls, loop: VirtualLoop, machine: Machine) -> AsyncIterator[World]:
        cluster = EmbeddedCluster(kubelets=False, controllers=False, clock=lambda: EPOCH + loop.time())
        async with cluster:
            for definition in _definitions():
                await cluster.create(_CRDS, definition)
            await cluster.create("/api/v1/namespaces", {"metadata": {"name": GOOD}})
            machine.start(lambda: _controllers(cluster, machine))
            try:
                await asyncio.sleep(5)
                yield cls(cluster, machine)
                assert not machine.ended_by
            finally:
                await machine.dispose()

    def mistakes(self) -> list[str]:
        """What a controller logs as one of its own."""
        levels = ("error", "exception", "critical")
        return [said for said in self._machine.said if said.split(" ")[1] in levels]

    # --- what is hostile ---

    async def put(self, storage: str, obj: Any) -> None:
        """Into the store, past everything that checks it; an object of the same name becomes this one."""
        if not isinstance(obj, dict):
            return
        try:
            msgspec.json.encode(obj)
        except (OverflowError, UnicodeEncodeError):  # no JSON of any API server
            return
        store, kind = self._cluster.store, self._kind_of(storage)
        obj = obj | {"apiVersion": kind.api_version, "kind": kind.kind}
        obj["metadata"] = meta = {"generation": 1} | obj["metadata"]
        if not kind.namespaced:
            meta.pop("namespace", None)
        key = (meta.get("namespace", ""), meta["name"])
        stored = store.get(storage, *key)
        if stored is not None and stored.obj["metadata"]["uid"] != meta["uid"]:
            store.remove(stored)
            stored = None
        store.replace(stored, obj) if stored is not None else store.create(storage, key, obj)
        self._put[storage, key] = meta["uid"]
        await asyncio.sleep(1)

    def _kind_of(self, storage: str) -> Resource:
        kinds = self._cluster.backend.registry.by_path.values()
        return next(each for each in kinds if storage in (each.storage, each.plural))

    async def remove_all(self) -> None:
        """Nothing hostile is left, nor what the controllers have made of it."""
        store = self._cluster.store
        for storage, key in self._put:
            if (stored := store.get(storage, *key)) is not None:
                store.remove(stored)
        for storage in _MADE:
            for stored in store.items(storage):
                store.remove(stored)
        await asyncio.sleep(FORGOTTEN_WITHIN_S)

    # --- what has to go on ---

    async def serve(self) -> None:
        """A tenant comes, and gets everything that controllers do for him within some time."""
        self._tenants += 1
        name = f"job{self._tenants}"
        await self._create("kubeflow.org/v1", "pytorchjobs", _pytorch_job(name))
        owner = self._found("pytorchjobs.kubeflow.org", name)["metadata"]["uid"]
        await self._create("v1", "pods", _pod(f"{name}-m", owner_name=name, owner=owner))
        await self._create("scheduling.sigs.k8s.io/v1alpha1", "podgroups", _named(name, {"minMember": 1}))
        await self._create("v1", "pods", _pod(f"{name}-p", labels={"pod-group.scheduling.sigs.k8s.io": name}))
        await self._create("arbitrator.incubator.k8s.io/v1alpha1", "queuejobs", _queue_job(name))
        queue = {"metadata": {"name": f"{GOOD}-{name}"}, "spec": {}}
        await self._cluster.create("/apis/scheduling.run.ai/v2/queues", queue)
        for _ in range(int(SERVED_WITHIN_S)):
            await asyncio.sleep(1)
            lacking = self._lacking(name)
            if not lacking:
                return
        raise AssertionError(f"after {SERVED_WITHIN_S:.0f} s {lacking}; {self.mistakes()}")

    def _lacking(self, name: str) -> list[str]:
        grouped = "pod-group-name" in (self._found("pods", f"{name}-m")["metadata"].get("annotations") or {})
        group = self._found("podgroups.scheduling.sigs.k8s.io", name).get("status")
        made = self._cluster.store.get("pods", GOOD, f"{name}-w-0-0")
        queue = self._cluster.store.get("queues.scheduling.run.ai", "", f"{GOOD}-{name}")
        has = {
            "the pod is grouped": grouped,
            "the PodGroup has a status": bool(group),
            "the QueueJob has its pod": made is not None,
            "the Queue has a status": bool(queue and queue.obj.get("status")),
        }
        return [f"not: {what}" for what, is_so in has.items() if not is_so]

    async def dismiss(self) -> None:
        """The tenants and all that is theirs are gone."""
        store = self._cluster.store
        for storage in ("queuejobs.arbitrator.incubator.k8s.io", "pytorchjobs.kubeflow.org", "pods", *_MADE):
            for stored in store.items(storage, GOOD):
                store.remove(stored)
        for stored in store.items("queues.scheduling.run.ai"):
            store.remove(stored)
        await asyncio.sleep(FORGOTTEN_WITHIN_S)

    def sizes(self) -> dict[str, int]:
        found = sizes(self._machine.process, "controllers")
        return {name: size for name, size in found.items() if size and not name.endswith(_MAY_STAY)}

    async def _create(self, api_version: str, plural: str, body: Json) -> None:
        await self._cluster.create(path(api_version, plural, GOOD), body)

    def _found(self, storage: str, name: str) -> Json:
        stored = self._cluster.store.get(storage, GOOD, name)
        assert stored is not None, (storage, name)
        return stored.obj

    async def ask(self, method: str, target: str) -> int:
        return (await self._cluster.handle(Request.of_target(method, target, {}, b""))).status


_MADE = (
    "podgroups.scheduling.run.ai",
    "podgroups.scheduling.sigs.k8s.io",
    "schedulingspecs.arbitrator.incubator.k8s.io",
    "services",
    "events",
    "pods",
)


def _named(name: str, spec: Json) -> Json:
    return {"metadata": {"name": name}, "spec": spec}


def _pod(name: str, *, owner_name: str = "", owner: str = "", labels: dict[str, str] | None = None) -> Json:
    reference = {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": owner_name, "uid": owner, "controller": True,
    }  # fmt: skip
    spec = {"schedulerName": "koord-scheduler", "containers": [{"name": "main", "image": "x"}]}
    metadata = {"name": name, "labels": labels or {}, "ownerReferences": [reference] if owner else []}
    return {"metadata": metadata, "spec": spec}


def _pytorch_job(name: str) -> Json:
    return _named(name, {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}})


def _queue_job(name: str) -> Json:
    template = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
    task = {"name": "w", "replicas": 1, "template": template}
    return _named(name, {"schedulerName": "koord-scheduler", "taskSpecs": [task]})
