"""Requests of the test itself, as JSON, over the same transports that koordpy uses; never retried, never faulted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from koordpy.kube.http.transport import Transport

Json = dict[str, Any]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_TIMEOUT_S = 20.0


class Refused(AssertionError):
    """The API server said no to the test."""

    def __init__(self, what: str, status: int, answer: bytes) -> None:
        super().__init__(f"{what}: {status} {answer.decode()}")
        self.status = status


class Api:
    """An API server, as a test asks it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def ask(self, method: str, path: str, body: Json | None = None, kind: str = "application/json") -> Json:
        encoded = b"" if body is None else msgspec.json.encode(body)
        answer = await self._transport.send(method, path, encoded, content_type=kind, timeout_s=_TIMEOUT_S)
        if answer.status >= 300:
            raise Refused(f"{method} {path}", answer.status, answer.body)
        return msgspec.json.decode(answer.body)

    async def watch(self, path: str, version: str) -> AsyncIterator[Json]:
        """The events since a version, until the server ends the watch."""
        query = f"{path}?watch=true&resourceVersion={version}&timeoutSeconds=300"
        async with self._transport.stream(query) as chunks:
            rest = b""
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line:
                        yield msgspec.json.decode(line)


def pods(namespace: str, name: str = "", sub: str = "") -> str:
    return _path(f"/api/v1/namespaces/{namespace}/pods", name, sub)


def nodes(name: str = "", sub: str = "") -> str:
    return _path("/api/v1/nodes", name, sub)


def pod_groups(group: str, namespace: str, name: str = "") -> str:
    return _path(f"/apis/{group}/v1alpha1/namespaces/{namespace}/podgroups", name)


def _path(*parts: str) -> str:
    return "/".join(part for part in parts if part)
