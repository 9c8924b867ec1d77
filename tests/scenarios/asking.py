"""Ways to ask the scheduler's own HTTP server: over the network, or without a socket where time is virtual."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import aiohttp
import msgspec
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import make_mocked_request


class Ask(Protocol):
    """Asks a path: what is there, or with a body what becomes of it."""

    async def __call__(self, path: str, body: bytes | None = None) -> tuple[int, Any]: ...


def over_the_network(port: int) -> Ask:
    async def ask(path: str, body: bytes | None = None) -> tuple[int, Any]:
        async with asyncio.timeout(20), aiohttp.ClientSession() as session:
            while True:
                try:
                    return await once(session, path, body)
                except aiohttp.ClientConnectorError:  # it has just been started, and opens its port when it gets to it
                    await asyncio.sleep(0.05)

    async def once(session: aiohttp.ClientSession, path: str, body: bytes | None) -> tuple[int, Any]:
        method = "GET" if body is None else "POST"
        async with session.request(method, f"http://127.0.0.1:{port}{path}", data=body) as answer:
            return answer.status, _decoded(await answer.read())

    return ask


class Captured:
    """Stands in for `serve`: keeps the application instead of opening a port, and asks it."""

    def __init__(self) -> None:
        self._app = web.Application()

    async def serve(self, app: web.Application, *_: object) -> None:
        app.freeze()
        self._app = app
        await asyncio.Event().wait()

    async def ask(self, path: str, body: bytes | None = None) -> tuple[int, Any]:
        request = make_mocked_request("GET", path) if body is None else _posting(path, body)
        try:
            answer = await self._app._handle(request)
        except web.HTTPException as error:
            return error.status, error.text
        assert isinstance(answer, web.Response)
        assert isinstance(answer.body, bytes)
        return answer.status, _decoded(answer.body)


def _posting(path: str, body: bytes) -> web.Request:
    loop = asyncio.get_running_loop()
    payload = StreamReader(BaseProtocol(loop), 2**24, loop=loop)
    payload.feed_data(body)
    payload.feed_eof()
    return make_mocked_request("POST", path, headers={"Content-Length": str(len(body))}, payload=payload)


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode()
