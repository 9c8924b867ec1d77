"""The bare client: binds pods to nodes round-robin as they are created, and gangs as soon as they are complete.

It neither filters, scores nor records events, and uses minimal HTTP. Its rate is the upper bound for a client in Python
on this control plane. If all pods exist at the start, it does not even watch.
`python -m bench.live.bare URL CA NAMESPACE`
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import sys
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import uvloop

from bench.live.manifests import GANG_MINIMUM, GANG_NAME
from bench.live.observer import Watched, session_to, watch
from bench.live.workload import PROBE
from tests.controlplane.certificates import trusting
from tests.controlplane.client import Client
from tests.controlplane.server import ADMIN_TOKEN

CONNECTIONS = 32
UNBOUND = "spec.nodeName="
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


async def main(url: str, ca_path: Path, namespace: str) -> None:
    async with Client(url, namespace=namespace, token=ADMIN_TOKEN, ca_path=ca_path) as client:
        pods = (await client.list("pods")).ok()
        nodes = (await client.list("nodes")).ok()["items"]
    names = itertools.cycle([node["metadata"]["name"] for node in nodes])
    trusted = trusting(ca_path)
    loop = asyncio.get_running_loop()
    binds = Binds(loop.create_future())
    requests = [_request(namespace, pod["metadata"]["name"], next(names)) for pod in pods["items"]]
    for _ in range(CONNECTIONS):
        port = urlsplit(url).port or 443
        await loop.create_connection(lambda: Connection(binds), "127.0.0.1", port, ssl=trusted)
    binds.put(requests)
    if {pod["metadata"]["name"] for pod in pods["items"]} <= set(PROBE.member_names()):  # the others are created later
        later = _later(url, str(ca_path), namespace, pods["metadata"]["resourceVersion"])
        following = asyncio.create_task(_follow(later, namespace, names, binds))
        binds.failed.add_done_callback(lambda _: following.cancel())
    await binds.failed


async def _later(url: str, ca: str, namespace: str, version: str) -> AsyncIterator[Watched]:
    """Pods created after this resource version."""
    async with session_to(url, ca) as session:
        async for events in watch(session, f"/api/v1/namespaces/{namespace}/pods", version, UNBOUND):
            for event in events:
                if event.type == "ADDED":
                    yield event.object


async def _follow(later: AsyncIterator[Watched], namespace: str, nodes: Iterator[str], binds: Binds) -> None:
    """Bind each gang when its last member is created."""
    members_of: defaultdict[str, list[str]] = defaultdict(list)
    async for pod in later:
        binds.put([_request(namespace, name, next(nodes)) for name in _when_complete(pod, members_of)])


def _when_complete(pod: Watched, members_of: defaultdict[str, list[str]]) -> list[str]:
    annotations = pod.metadata.annotations
    if GANG_NAME not in annotations:
        return [pod.metadata.name]
    members = members_of[annotations[GANG_NAME]]
    members.append(pod.metadata.name)
    return members if len(members) == int(annotations[GANG_MINIMUM]) else []


class Binds:
    """Binds that are not sent, and idle connections."""

    def __init__(self, failed: asyncio.Future[None]) -> None:
        self.failed = failed
        self._requests: deque[bytes] = deque()
        self._idle: list[Connection] = []

    def put(self, requests: list[bytes]) -> None:
        self._requests.extend(requests)
        while self._idle and self._requests:
            self._idle.pop().send(self._requests.popleft())

    def done(self, connection: Connection) -> None:
        if self._requests:
            connection.send(self._requests.popleft())
        else:
            self._idle.append(connection)

    def fail(self, why: str) -> None:
        if not self.failed.done():
            self.failed.set_exception(RuntimeError(why))


def _request(namespace: str, pod: str, node: str) -> bytes:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = json.dumps({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target})
    head = (
        f"POST /api/v1/namespaces/{namespace}/pods/{pod}/binding HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {ADMIN_TOKEN}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*head, "", body)).encode()


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, binds: Binds) -> None:
        self._binds = binds
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is no subclass
        self._binds.done(self)

    def send(self, request: bytes) -> None:
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, blank, body = self._answer.partition(b"\r\n\r\n")
        if not blank or len(body) < _length(head):
            return
        if not head.startswith(b"HTTP/1.1 201"):
            self._binds.fail(f"the API server did not take a binding: {self._answer.decode()}")
            return
        self._answer = b""
        self._binds.done(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._binds.fail(f"the API server hung up: {exc}")


def _length(head: bytes) -> int:
    found = _LENGTH.search(head + b"\r\n")
    if found is None:
        raise RuntimeError(f"the API server does not say how long its answer is: {head.decode()}")
    return int(found[1])


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
