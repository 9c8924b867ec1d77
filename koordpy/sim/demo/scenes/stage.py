"""What a scene has: the API to write to and to read, the scheduler to ask, and the view to tell what it found."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import aiohttp
import msgspec

from koordpy.api.answers import PATH
from koordpy.api.decode import Decoder
from koordpy.api.meta import ObjectMeta, Struct
from koordpy.kube.client import Client
from koordpy.kube.errors import NotFound
from koordpy.sim.demo.seen import Seen, SeenPod, State
from koordpy.sim.demo.view import Place, View

Obj = dict[str, Any]
T = TypeVar("T")

PODS = "/api/v1/namespaces/default/pods"
_LOOK_S = 0.1


class Named(Struct, frozen=True):
    """Any object, as far as it has a name and annotations."""

    metadata: ObjectMeta


class _Items(Struct, frozen=True):
    items: list[msgspec.Raw] = []


class Stage:
    """One for all scenes of a demo."""

    def __init__(self, client: Client, view: View, seen: Seen, place: Place) -> None:
        self._client, self._view, self._place = client, view, place
        self.seen = seen
        self.waits_for = ""  # what the scene that is on cannot go on without

    # --- telling ---

    def open(self, title: str, *workloads: str) -> None:
        """A scene begins, and what it is about."""
        self._view.open(self.seen, title, workloads)

    def say(self, text: str) -> None:
        """What the demo does."""
        self._view.say(self.seen, text)

    def tell(self, what: str, text: str) -> None:
        """What was read."""
        self._view.refresh(self.seen)  # what happened before is told before
        self._view.tell(self.seen, what, text)

    async def linger(self, pages: int = 1) -> None:
        """Time to read, where somebody watches."""
        await asyncio.sleep(pages * self._view.linger_s)

    # --- the API ---

    async def create(self, path: str, body: Obj) -> None:
        await self._client.write("POST", path, body)

    async def delete(self, path: str) -> None:
        await self._client.write("DELETE", path, {})

    async def read(self, path: str, decode: Decoder[T]) -> T | None:
        """One object; None where there is none."""
        try:
            return decode(await self._client.get(path))
        except NotFound:
            return None

    async def read_all(self, path: str, decode: Decoder[T]) -> list[T]:
        found = msgspec.json.decode(await self._client.get(path), type=_Items)
        return [decode(bytes(item)) for item in found.items]

    def pods(self, workload: str) -> list[SeenPod]:
        """Those that are there, of one workload."""
        return [p for p in self.seen.pods.values() if p.workload == workload and p.state is not State.DELETED]

    async def until_pods(self, workload: str, number: int, *states: State) -> list[SeenPod]:
        """So many pods of a workload are in one of these states."""

        async def there() -> list[SeenPod]:
            found = [pod for pod in self.pods(workload) if pod.state in states]
            return found if len(found) >= number else []

        return await self.until(f"{number} pods of {workload}", there)

    async def until(self, what: str, look: Callable[[], Awaitable[T | None]]) -> T:
        """What `look` finds, as soon as it finds something."""
        self.waits_for = what
        while not (found := await look()):  # noqa: ASYNC110 - others do it
            await asyncio.sleep(_LOOK_S)
        self.waits_for = ""
        return found

    # --- the scheduler's answers ---

    async def ask(self, path: str, answer: type[T]) -> T:
        """What the scheduler answers over HTTP."""
        async with aiohttp.ClientSession() as session, session.get(self._place.server + PATH + path) as response:
            response.raise_for_status()
            return msgspec.json.decode(await response.read(), type=answer)

    async def command(self, *arguments: str) -> None:
        """A command of koordpy, and what it prints."""
        where = ("--server", self._place.server)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "koordpy",
            *arguments,
            *where,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            printed, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        self._view.refresh(self.seen)
        self._view.transcript(self.seen, " ".join(("koordpy", *arguments)), printed.decode().splitlines())


class Scene(Protocol):
    """Played once, from beginning to end; returns a name and a paragraph for the summary."""

    async def __call__(self, stage: Stage) -> tuple[str, str]: ...
