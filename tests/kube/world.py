"""An embedded API, a client on it without sockets, and sinks and transports that record their calls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec

from koordpy.api.decode import Decoder
from koordpy.api.pod import Pod
from koordpy.kube.client import Client
from koordpy.kube.errors import Unavailable, error_of
from koordpy.kube.http.transport import Response
from koordpy.kube.watch.reflector import Reflector, Resource
from koordpy.sim.embedded.request import Request
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.transport import DirectTransport
from tests.builders import Json, pod_json

PODS = "/api/v1/namespaces/default/pods"
POD_RESOURCE = Resource("/api/v1/pods", Decoder("Pod", Pod))


@dataclass
class Sink:
    """Records every call, and the objects that exist after them."""

    calls: list[tuple[str, str, str]] = field(default_factory=list)  # upsert or remove, key, version or uid
    there: dict[str, Pod] = field(default_factory=dict)  # by UID

    def upsert(self, obj: Pod) -> None:
        self.calls.append(("upsert", obj.metadata.key, obj.metadata.resource_version))
        self.there[obj.metadata.uid] = obj

    def remove(self, key: str, uid: str) -> None:
        self.calls.append(("remove", key, uid))
        assert self.there.pop(uid).metadata.key == key, "removed what it was never told about"

    @property
    def names(self) -> list[str]:
        return sorted(pod.metadata.name for pod in self.there.values())


class World:
    """`async with World() as world:` an API server with pods in it, as a test changes and breaks it."""

    def __init__(self) -> None:
        self.cluster = EmbeddedCluster(kubelets=False, clock=lambda: 1.8e9 + now())
        self.faults = self.cluster.faults
        self.requests: list[tuple[float, str, str]] = []  # when, method, path with query
        self.transport = Counting(DirectTransport(self.cluster.handle), self.requests)
        self.client = Client(self.transport)

    async def __aenter__(self) -> Self:
        await self.cluster.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.cluster.__aexit__(*error)

    async def create(self, name: str, **arguments: Any) -> Json:
        return await self.cluster.create(PODS, pod_json(name, **arguments))

    async def label(self, name: str, value: str) -> Json:
        return await self.ask("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {"x": value}}})

    async def delete(self, name: str) -> Json:
        return await self.ask("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})

    async def get(self, name: str) -> Json:
        return await self.ask("GET", f"{PODS}/{name}")

    async def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """Beneath the faults, as somebody else's request."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        encoded = b"" if body is None else msgspec.json.encode(body)
        answer = await self.cluster.faults.handle(Request(method, path, headers={"content-type": kind}, body=encoded))
        assert isinstance(answer.body, bytes)
        assert answer.status < 300, answer.body
        return msgspec.json.decode(answer.body)

    def lists(self) -> list[float]:
        """When lists were begun."""
        return [at for at, method, path in self.requests if _is_list(method, path) and "continue=" not in path]

    def watches(self) -> list[float]:
        return [at for at, _, path in self.requests if "watch=true" in path]


@contextlib.asynccontextmanager
async def reflecting(client: Client, sink: Sink) -> AsyncIterator[Reflector[Pod]]:
    """A reflector that runs meanwhile; what it dies of fails the test."""
    reflector = Reflector(client, POD_RESOURCE, sink)
    async with running(reflector.run()):
        yield reflector


@contextlib.asynccontextmanager
async def running(coroutine: Any) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.ensure_future(coroutine)
    try:
        yield task
        if task.done() and not task.cancelled():
            task.result()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(true: Callable[[], bool], seconds: float = 600, step: float = 0.05) -> None:
    """Wait, in virtual time."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(step)


def now() -> float:
    return asyncio.get_running_loop().time()


class Counting:
    """A transport that remembers what was asked and when."""

    def __init__(self, inner: DirectTransport, requests: list[tuple[float, str, str]]) -> None:
        self._inner, self._requests = inner, requests

    async def send(
        self, method: str, path: str, body: bytes = b"", *, content_type: str, timeout_s: float, **more: Any
    ) -> Response:
        self._requests.append((now(), method, path))
        return await self._inner.send(method, path, body, content_type=content_type, timeout_s=timeout_s, **more)

    def stream(self, path: str, **more: Any) -> Any:
        self._requests.append((now(), "GET", path))
        return self._inner.stream(path, **more)


HANG = object()
CUT = object()


@dataclass
class Scripted:
    """A transport that answers lists and watches from a script, for what no sane server sends.

    A list is bytes, a status code, or the objects of it; a watch is a status code, or its chunks: bytes, HANG or CUT.
    The last entry of each is repeated for ever.
    """

    lists: list[Any]
    watches: list[Any]
    requests: list[str] = field(default_factory=list)
    listed: int = 0
    watched: int = 0

    async def send(
        self, method: str, path: str, body: bytes = b"", *, content_type: str, timeout_s: float, **more: Any
    ) -> Response:
        self.requests.append(path)
        answer = self.lists[min(self.listed, len(self.lists) - 1)]
        self.listed += 1
        if isinstance(answer, int):
            return Response(answer, b'{"message": "as scripted"}')
        return Response(200, answer if isinstance(answer, bytes) else page(answer, version=self.listed * 1000))

    @contextlib.asynccontextmanager
    async def stream(self, path: str, **more: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        self.requests.append(path)
        answer = self.watches[min(self.watched, len(self.watches) - 1)]
        self.watched += 1
        if isinstance(answer, int):
            raise error_of("GET", path, answer, b'{"message": "as scripted"}')
        yield _play(answer)


async def _play(chunks: Iterable[Any]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        if chunk is HANG:
            await asyncio.Event().wait()
        elif chunk is CUT:
            raise Unavailable("cut")
        else:
            yield chunk


def page(objects: list[Json], version: int) -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": str(version)}, "items": objects})


def line(kind: str, obj: Json) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


def plain_pod(name: str, *, uid: str = "", version: int = 1, **spec: Any) -> Json:
    meta = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": meta, "spec": {"containers": [], **spec}}


def _is_list(method: str, path: str) -> bool:
    return method == "GET" and path.startswith("/api/v1/pods?") and "watch=true" not in path
