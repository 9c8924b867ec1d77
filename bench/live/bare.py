"""A client that only binds: lists pods and nodes once, deals the pods out, and sleeps until it is stopped.

It decides nothing, watches nothing, reports nothing, and speaks HTTP with as little ceremony as it can. What it reaches
is as much as this control plane gives to a client in Python, and no scheduler will do better.
`python -m bench.live.bare URL CA NAMESPACE`
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import uvloop

from tests.controlplane.client import Client
from tests.controlplane.server import ADMIN_TOKEN

CONNECTIONS = 32
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


async def main(url: str, ca_path: Path, namespace: str) -> None:
    async with Client(url, namespace=namespace, token=ADMIN_TOKEN, ca_path=ca_path) as client:
        pods = (await client.list("pods")).ok()["items"]
        nodes = (await client.list("nodes")).ok()["items"]
    names = itertools.cycle([node["metadata"]["name"] for node in nodes])
    requests = iter(
        [_request(namespace, pod["metadata"]["name"], node) for pod, node in zip(pods, names, strict=False)]
    )
    trusted = ssl.create_default_context(cafile=str(ca_path))
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()
    for _ in range(CONNECTIONS):
        port = urlsplit(url).port or 443
        await loop.create_connection(lambda: Connection(requests, failed), "127.0.0.1", port, ssl=trusted)
    await failed


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
    """One connection, one request at a time, until there are no more."""

    def __init__(self, requests: Iterator[bytes], failed: asyncio.Future[None]) -> None:
        self._requests = requests
        self._failed = failed
        self._answer = b""
        self._done = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self._send()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, blank, body = self._answer.partition(b"\r\n\r\n")
        if not blank or len(body) < _length(head):
            return
        if not head.startswith(b"HTTP/1.1 201"):
            self._fail(f"the API server did not take a binding: {self._answer.decode()}")
            return
        self._answer = b""
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done:
            self._fail(f"the API server hung up: {exc}")

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._transport.write(request)
            return
        self._done = True
        self._transport.close()

    def _fail(self, why: str) -> None:
        self._done = True
        self._transport.close()
        if not self._failed.done():
            self._failed.set_exception(RuntimeError(why))


def _length(head: bytes) -> int:
    found = _LENGTH.search(head + b"\r\n")
    if found is None:
        raise RuntimeError(f"the API server does not say how long its answer is: {head.decode()}")
    return int(found[1])


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
