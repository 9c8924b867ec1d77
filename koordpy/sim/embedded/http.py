"""The API over plain HTTP on the loopback interface: aiohttp in front of `handle`.

A bare `web.Server` and no application: there is nothing to route, and each layer would cost every bind.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Self

from aiohttp import web

from koordpy.sim.embedded import errors
from koordpy.sim.embedded.request import ConnectionCut, Request, Response

if TYPE_CHECKING:
    from koordpy.sim.embedded.handle import Handle
    from koordpy.sim.embedded.request import Stream

_LONGEST_BODY = 3 * 2**20  # as the real server
_SHUTDOWN_SECONDS = 0.1  # watches never end by themselves, so there is nothing worth waiting for


class HttpFront:
    """Serves one `handle`; an async context manager."""

    def __init__(self, handle: Handle, port: int = 0) -> None:
        self._handle = handle
        self._wanted_port = port
        self._runner: web.ServerRunner | None = None
        self.port = 0

    async def __aenter__(self) -> Self:
        # Cancelling the handler of a client that went away is what ends its watch.
        server = web.Server(self._serve, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_SHUTDOWN_SECONDS)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._wanted_port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, http_request: web.BaseRequest) -> web.StreamResponse:
        body = await _body(http_request) if http_request.can_read_body else b""
        if len(body) > _LONGEST_BODY:
            too_long = Response.of_error(errors.too_long_a_request(_LONGEST_BODY))
            return web.Response(status=too_long.status, body=too_long.body, headers=too_long.headers)
        request = Request.of_target(http_request.method, http_request.path_qs, http_request.headers, body)
        try:
            response = await self._handle(request)
            if isinstance(response.body, bytes):
                return web.Response(status=response.status, body=response.body, headers=response.headers)
            return await _stream(http_request, response, response.body)
        except ConnectionCut:
            _cut(http_request)
            return web.Response(status=500)


async def _body(http_request: web.BaseRequest) -> bytes:
    """All of it, or one byte more than a request may have."""
    body = bytearray()
    async for chunk in http_request.content.iter_any():
        body += chunk
        if len(body) > _LONGEST_BODY:
            break
    return bytes(body)


async def _stream(http_request: web.BaseRequest, response: Response, stream: Stream) -> web.StreamResponse:
    async with aclosing(stream):
        answer = web.StreamResponse(status=response.status, headers=response.headers)
        answer.enable_chunked_encoding()
        try:
            await answer.prepare(http_request)
            async for chunk in stream:
                await answer.write(chunk)
            await answer.write_eof()
        except ConnectionResetError:
            pass  # the client left, before the head or between two chunks; there is nobody to tell
    return answer


def _cut(http_request: web.BaseRequest) -> None:
    """Close the connection as a crashed server would: no end of the body, no further answer."""
    if http_request.transport is not None:
        http_request.transport.abort()
