"""The embedded API as a `Transport`: the same client code, without a socket between.

Nothing here takes time of its own, so it runs in virtual time; a cut connection and a time limit look to the client as
they do over the network.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from koordpy.kube.errors import Unavailable, error_of
from koordpy.kube.http.transport import JSON, MaySend, Response, always
from koordpy.sim.embedded.request import ConnectionCut, Request

if TYPE_CHECKING:
    from koordpy.sim.embedded.handle import Handle
    from koordpy.sim.embedded.request import Stream


class DirectTransport:
    """Calls `handle`."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str,
        accept: str = JSON,
        timeout_s: float,
        may_send: MaySend = always,
    ) -> Response:
        request = Request.of_target(method, path, {"content-type": content_type, "accept": accept}, body)
        if not may_send():
            raise Unavailable(f"{method} {path}: held back")
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._handle(request)
        except ConnectionCut:
            raise Unavailable(f"{method} {path}: connection broke") from None
        except TimeoutError:
            raise Unavailable(f"{method} {path}: no answer in time") from None
        if not isinstance(answer.body, bytes):
            raise TypeError(f"{method} {path} was answered with a stream; watches go through `stream`")
        return Response(answer.status, answer.body, answer.headers.get("Retry-After"))

    @asynccontextmanager
    async def stream(self, path: str, *, accept: str = JSON) -> AsyncIterator[AsyncIterator[bytes]]:
        try:
            answer = await self._handle(Request.of_target("GET", path, {"accept": accept}, b""))
        except ConnectionCut:
            raise Unavailable(f"GET {path}: connection broke") from None
        if isinstance(answer.body, bytes):
            raise error_of("GET", path, answer.status, answer.body, answer.headers.get("Retry-After"))
        async with aclosing(answer.body) as stream:
            yield _chunks(stream, path)


async def _chunks(stream: Stream, path: str) -> AsyncIterator[bytes]:
    try:
        async for chunk in stream:
            yield chunk
    except ConnectionCut:
        raise Unavailable(f"GET {path}: connection broke") from None
