"""A client that only binds: lists pods and nodes once, deals the pods out, and sleeps until it is stopped.

It decides nothing, watches nothing, reports nothing, and speaks HTTP with as little ceremony as it can. What it reaches
is as much as this control plane gives to a client in Python, and no scheduler will do better.
`python -m bench.live.bare URL CA NAMESPACE`
"""

from __future__ import annotations

import asyncio
import itertools
import json
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from tests.controlplane.client import Client
from tests.controlplane.server import ADMIN_TOKEN

CONNECTIONS = 32
ANSWER_SECONDS = 30


async def main(url: str, ca_path: Path, namespace: str) -> None:
    async with Client(url, namespace=namespace, token=ADMIN_TOKEN, ca_path=ca_path) as client:
        pods = (await client.list("pods")).ok()["items"]
        nodes = (await client.list("nodes")).ok()["items"]
    names = itertools.cycle([node["metadata"]["name"] for node in nodes])
    requests = iter(
        [_request(namespace, pod["metadata"]["name"], node) for pod, node in zip(pods, names, strict=False)]
    )
    trusted = ssl.create_default_context(cafile=str(ca_path))
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(_send(requests, urlsplit(url).port or 443, trusted))
    await asyncio.Event().wait()


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


async def _send(requests: Iterator[bytes], port: int, trusted: ssl.SSLContext) -> None:
    """One connection, one request at a time, until there are no more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusted)
    try:
        for request in requests:
            async with asyncio.timeout(ANSWER_SECONDS):
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(_length(head))
            if not head.startswith(b"HTTP/1.1 201"):
                raise RuntimeError(f"the API server did not take a binding: {head.decode()}")
    finally:
        writer.close()


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    raise RuntimeError(f"the API server does not say how long its answer is: {head.decode()}")


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
