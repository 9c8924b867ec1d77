"""What the API server says, kept by a list and a watch of the test's own; knows nothing about scheduling.

Stories wait on it instead of asking again and again, and the observer is told each change in the order in which it
event.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from koordpy.kube.errors import ApiError
from tests.scenarios.api import Api, Refused
from tests.scenarios.objects import POD_GROUP_APIS

Json = dict[str, Any]
Listener = Callable[[str, Json], None]  # ADDED, MODIFIED or DELETED, and the object

PODS, NODES, EVENTS = "/api/v1/pods", "/api/v1/nodes", "/apis/events.k8s.io/v1/events"
GROUPS = {api: f"/apis/{group}/v1alpha1/podgroups" for api, group in POD_GROUP_APIS.items()}
KAI_GROUPS = "/apis/scheduling.run.ai/v2alpha2/podgroups"
NATIVE_GROUPS = "/apis/scheduling.k8s.io/v1alpha2/podgroups"
SPECS = "/apis/arbitrator.incubator.k8s.io/v1alpha1/schedulingspecs"
GANG_OBJECTS = (*GROUPS.values(), KAI_GROUPS, NATIVE_GROUPS, SPECS)
TOPOLOGIES = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
QUEUES = "/apis/scheduling.run.ai/v2/queues"
_PAUSE_S = 0.05
_LIST_S = 20.0


class Mirror:
    """Copies of some collections; `changed` is set with every event."""

    def __init__(self, api: Api, namespaces: set[str]) -> None:
        self._api, self._namespaces = api, namespaces
        self._objects: dict[str, dict[tuple[str, str], Json]] = {}
        self._listed: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self.listeners: list[Listener] = []  # told about pods
        self.changed = asyncio.Event()

    @contextlib.asynccontextmanager
    async def running(self, *paths: str) -> AsyncIterator[None]:
        self._tasks = [asyncio.create_task(self._follow(path), name=f"mirror {path}") for path in paths]
        try:
            async with asyncio.timeout(_LIST_S):
                while self._listed != set(paths):
                    self.check()
                    await asyncio.sleep(0.01)
            yield
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def check(self) -> None:
        """Raises what it died of: a witness that has fallen asleep must not look like a cluster that has."""
        for task in self._tasks:
            if task.done():
                task.result()

    def all(self, path: str) -> list[Json]:
        return list(self._objects.get(path, {}).values())

    def find(self, path: str, namespace: str, name: str) -> Json | None:
        return self._objects.get(path, {}).get((namespace, name))

    def pod(self, namespace: str, name: str) -> Json | None:
        return self.find(PODS, namespace, name)

    async def _follow(self, path: str) -> None:
        while True:
            try:
                listed = await self._api.ask("GET", path)
                self._replace(path, listed["items"])
                self._listed.add(path)
                await self._watch(path, listed["metadata"]["resourceVersion"])
            except (ApiError, Refused):  # the server is away, or its history does not go back so far
                await asyncio.sleep(_PAUSE_S)

    async def _watch(self, path: str, version: str) -> None:
        while True:
            async for event in self._api.watch(path, version):
                if event["type"] == "ERROR":
                    return
                version = event["object"]["metadata"]["resourceVersion"]
                self._note(path, event["type"], event["object"])

    def _replace(self, path: str, items: list[Json]) -> None:
        there = {_key(obj) for obj in items}
        for key, obj in list(self._objects.get(path, {}).items()):
            if key not in there:
                self._note(path, "DELETED", obj)
        for obj in items:
            self._note(path, "MODIFIED", obj)

    def _note(self, path: str, kind: str, obj: Json) -> None:
        key = _key(obj)
        if key[0] and key[0] not in self._namespaces:
            return
        known = self._objects.setdefault(path, {})
        if kind == "DELETED":
            known.pop(key, None)
        else:
            known[key] = obj
        if path == PODS:
            for listener in self.listeners:
                listener(kind, obj)
        self.changed.set()


def _key(obj: Json) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
