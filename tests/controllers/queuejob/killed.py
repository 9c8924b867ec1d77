"""A controller that is killed at one of its calls and started again, and an observer of every pod that is made."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from koordpy.controllers.queuejob.names import read_name
from koordpy.kube.http.transport import Response, Transport
from koordpy.sim.embedded.store import Change, Store
from tests.controllers.queuejob.world import World

Json = dict[str, Any]
_TIMES = ("lastTransitionTime", "lastRestartTime", "completionTime", "creationTimestamp", "resourceVersion", "uid")


class Killing:
    """A transport that dies at its `nth` write, before it is sent or after: from then on nothing leaves it."""

    def __init__(self, inner: Transport, nth: int = 0, when: str = "before") -> None:
        self._inner, self._nth, self._when = inner, nth, when
        self.writes: list[str] = []
        self.died = asyncio.Event()

    async def send(self, method: str, path: str, body: bytes = b"", **more: Any) -> Response:
        await self._perhaps_dead()
        if method != "GET":
            self.writes.append(f"{method} {path}")
        is_last = method != "GET" and len(self.writes) == self._nth
        if is_last and self._when == "before":
            self.died.set()
        await self._perhaps_dead()
        answer = await self._inner.send(method, path, body, **more)
        if is_last:
            self.died.set()
        await self._perhaps_dead()
        return answer

    def stream(self, path: str, **more: Any) -> Any:
        return self._inner.stream(path, **more)

    async def _perhaps_dead(self) -> None:
        if self.died.is_set():
            await asyncio.Event().wait()  # whoever asked is cancelled soon


@contextlib.asynccontextmanager
async def restarted_controllers(world: World, transport: Killing) -> AsyncIterator[None]:
    """Those that are killed, and then others."""
    supervisor = asyncio.ensure_future(_supervise(world, transport))
    try:
        yield
        if supervisor.done():
            supervisor.result()
    finally:
        supervisor.cancel()
        await asyncio.wait([supervisor])


async def _supervise(world: World, transport: Killing) -> None:
    async with world.controllers(transport):
        await transport.died.wait()
    async with world.controllers():
        await asyncio.Event().wait()


class NoPodTwice:
    """Looks at every change in the store: no place of a job ever has two pods, in whatever incarnations."""

    def __init__(self, store: Store) -> None:
        self._there: dict[tuple[str, Any], str] = {}  # the job's UID and the place -> the pod
        self.seen: list[str] = []  # what never may happen
        store.subscribe("pods", self._hear)

    def _hear(self, change: Change) -> None:
        metadata = change.new.obj["metadata"]
        owner = next((each for each in metadata.get("ownerReferences") or () if each["kind"] == "QueueJob"), None)
        name = read_name(owner["name"], metadata["name"]) if owner else None
        if name is None:
            return
        place = owner["uid"], name.slot
        if change.kind == "DELETED":
            if self._there.get(place) == metadata["uid"]:
                del self._there[place]
        elif self._there.setdefault(place, metadata["uid"]) != metadata["uid"]:
            self.seen.append(f"{metadata['name']} was made while another pod had its place")


async def end_of(world: World) -> Json:
    """Everything that is left when all is quiet, without what differs from run to run."""
    for _ in range(3):
        await asyncio.sleep(world.quiet_s)
        await world.finish_deletions()
    listed = {
        "jobs": world._jobs(),
        "pods": world._pods(),
        "specs": world.specs(),
        "services": f"/api/v1/namespaces/{world.namespace}/services",
    }
    found = {kind: (await world.api.ask("GET", path))["items"] for kind, path in listed.items()}
    return {kind: {each["metadata"]["name"]: _alike(each) for each in items} for kind, items in found.items()}


def _alike(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _alike(each) for key, each in value.items() if key not in _TIMES}
    if isinstance(value, list):
        alike = [_alike(each) for each in value]
        return sorted(alike, key=lambda each: each["type"]) if _are_conditions(alike) else alike
    return value


def _are_conditions(values: list[Any]) -> bool:
    """Their order is that in which they were first true, and means nothing."""
    return all(isinstance(each, dict) and {"type", "status", "reason"} <= each.keys() for each in values)
