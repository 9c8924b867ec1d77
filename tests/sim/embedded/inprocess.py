"""A client without a socket: calls `handle`, so that a test can run in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from koordpy.sim.embedded.request import Request
from koordpy.sim.embedded.server import EmbeddedCluster

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


def pod(name: str, *, node: str = "", annotations: dict[str, str] | None = None, **metadata: Any) -> Json:
    spec: Json = {"containers": [{"name": "main", "image": "none"}]}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name, "annotations": annotations or {}, **metadata}, "spec": spec}


async def call(cluster: EmbeddedCluster, method: str, target: str, body: Any = None, kind: str = "json") -> Json:
    """The decoded answer, with its HTTP status under `httpStatus`."""
    headers = {"content-type": f"application/{kind}", "accept": "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    response = await cluster.handle(Request.of_target(method, target, headers, data))
    assert isinstance(response.body, bytes)
    return {**json.loads(response.body), "httpStatus": response.status, "httpHeaders": response.headers}


class Lines:
    """The events of one watch, one by one."""

    def __init__(self, stream: Any) -> None:
        self._chunks = aiter(stream)
        self._rest: list[bytes] = []

    async def next(self, within: float = 5.0) -> Json | None:
        while not self._rest:
            try:
                async with asyncio.timeout(within):
                    self._rest = (await anext(self._chunks)).splitlines()
            except StopAsyncIteration:
                return None
        return json.loads(self._rest.pop(0))


@asynccontextmanager
async def watching(cluster: EmbeddedCluster, target: str, **headers: str) -> AsyncIterator[Lines]:
    response = await cluster.handle(Request.of_target("GET", target, headers, b""))
    assert not isinstance(response.body, bytes), response.body
    async with aclosing(response.body) as stream:
        yield Lines(stream)
