"""The HTTP API of answers, `koordpy.io/v1alpha1`: jobs, explanations, what-if, queues, and their schema.

The leader answers; every other process says who that is. Errors are a Kubernetes `Status`. What is answered is worked
out elsewhere: this module reads requests, limits them, and writes bytes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import structlog
from aiohttp import web

from koordpy import metrics
from koordpy.api.answers import PATH, CannotAnswer, Explanation, JobList, QueueList, Status, WhatIf
from koordpy.server.openapi import document

LARGEST = 4 * 2**20  # bytes of a request
_AT_ONCE = 1  # question; further ones wait
_PATIENCE_S = 30.0  # for a question's turn and its answer

log = structlog.get_logger()


class Answers(Protocol):
    """Who knows."""

    async def jobs(self) -> JobList: ...

    async def explain(self, namespace: str, name: str) -> Explanation: ...

    async def what_if(self, body: bytes, query: Sequence[tuple[str, str]]) -> WhatIf: ...

    async def queues(self) -> QueueList: ...


Answer = JobList | Explanation | WhatIf | QueueList
_Handler = Callable[[web.Request], Awaitable[Answer]]
_Handled = Callable[[web.Request], Awaitable[web.Response]]


def add_answer_routes(
    app: web.Application, answers: Callable[[], Answers], leads: Callable[[], bool], leader: Callable[[], str]
) -> None:
    """`answers` is who knows at the moment; `leader` names the process that leads, if that is known."""
    asked = _Asked(answers, leads, leader)
    for method, path, question, handler in (
        ("GET", "/jobs", "jobs", asked.jobs),
        ("GET", "/jobs/{namespace}/{name}", "explain", asked.explain),
        ("POST", "/whatif", "whatif", asked.what_if),
        ("GET", "/queues", "queues", asked.queues),
    ):
        app.router.add_route(method, PATH + path, _timed(question, asked.guarded(handler)))
    app.router.add_get("/openapi.json", _schema)


class _Asked:
    """The handlers, and what keeps questions from being too many."""

    def __init__(self, answers: Callable[[], Answers], leads: Callable[[], bool], leader: Callable[[], str]) -> None:
        self._answers, self._leads, self._leader = answers, leads, leader
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def guarded(self, handler: _Handler) -> _Handled:
        """A handler whose errors are answers too."""

        async def handle(request: web.Request) -> web.Response:
            if not self._leads():
                return _failed(_not_leader(self._leader()))
            try:
                async with asyncio.timeout(_PATIENCE_S), self._turns:
                    return _response(await handler(request), 200)
            except CannotAnswer as problem:
                return _failed(problem.status)
            except TimeoutError:
                return _failed(Status(code=504, reason="Timeout", message=f"no answer within {_PATIENCE_S:g} s"))
            except Exception:
                log.exception("answer_failed", path=request.path, hint="please report this; nothing was changed")
                text = "a mistake of koordpy; its log says more"
                return _failed(Status(code=500, reason="InternalError", message=text))

        return handle

    async def jobs(self, _: web.Request) -> Answer:
        return await self._answers().jobs()

    async def explain(self, request: web.Request) -> Answer:
        return await self._answers().explain(request.match_info["namespace"], request.match_info["name"])

    async def what_if(self, request: web.Request) -> Answer:
        return await self._answers().what_if(await _body(request), list(request.query.items()))

    async def queues(self, _: web.Request) -> Answer:
        return await self._answers().queues()


def _timed(question: str, handler: _Handled) -> _Handled:
    async def handle(request: web.Request) -> web.Response:
        started = time.perf_counter()
        answer = await handler(request)
        metrics.ANSWER_SECONDS.labels(question, str(answer.status)).observe(time.perf_counter() - started)
        return answer

    return handle


async def _schema(_: web.Request) -> web.Response:
    return _response(document(), 200)


async def _body(request: web.Request) -> bytes:
    """At most `LARGEST` bytes, whatever the headers say."""
    found = bytearray()
    if (request.content_length or 0) <= LARGEST:
        async for chunk in request.content.iter_chunked(2**16):
            found += chunk
            if len(found) > LARGEST:
                break
        else:
            return bytes(found)
    raise CannotAnswer(413, "RequestEntityTooLarge", f"the body is larger than {LARGEST} bytes")


def _not_leader(leader: str) -> Status:
    where = f"the leader is {leader}" if leader else "the leader is not known"
    return Status(code=503, reason="ServiceUnavailable", message=f"this instance does not lead; {where}")


def _failed(status: Status) -> web.Response:
    return _response(status, status.code)


def _response(answer: Answer | Status | Mapping[str, Any], code: int) -> web.Response:
    return web.Response(body=msgspec.json.encode(answer), status=code, content_type="application/json")
