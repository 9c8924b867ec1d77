"""Ways to ask the scheduler's own HTTP server: over the network, or without a socket where time is virtual."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import msgspec
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

Ask = Callable[[str], Awaitable[tuple[int, Any]]]


def over_the_network(port: int) -> Ask:
    async def ask(path: str) -> tuple[int, Any]:
        timeout = aiohttp.ClientTimeout(total=5)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://127.0.0.1:{port}{path}") as answer,
        ):
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

    async def ask(self, path: str) -> tuple[int, Any]:
        try:
            answer = await self._app._handle(make_mocked_request("GET", path))
        except web.HTTPException as error:
            return error.status, error.text
        assert isinstance(answer, web.Response)
        assert isinstance(answer.body, bytes)
        return answer.status, _decoded(answer.body)


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode()
