"""Faults on demand: rules that make a running API misbehave, for tests of whoever talks to it.

A rule matches by method and path and is used up after `count` requests. Rules wrap `handle`, so they work
with and without sockets; kubelets act beneath them and are never hit.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from koordpy.sim.embedded.errors import ApiError
from koordpy.sim.embedded.request import ConnectionCut, Request, Response

if TYPE_CHECKING:
    from koordpy.sim.embedded.handle import Handle
    from koordpy.sim.embedded.request import Stream


class Fault(Enum):
    STATUS = "answer with an error, and do nothing"
    DROP = "close the connection, and do nothing"
    DELAY = "do it, but later"
    ANSWER_LOST = "do it, but answer with an error (`status`), or close the connection if that is 0"
    WATCH_CUT = "close the watch's connection after `after_chunks` chunks"
    WATCH_STUCK = "say nothing more on the watch after `after_chunks` chunks, and keep it open"
    HALF_LINE = "break the watch off in the middle of a line, after `after_chunks` whole chunks"


_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(slots=True)
class Rule:
    """`path` is a regular expression that the whole path must match; `count` None means always."""

    fault: Fault
    method: str = ".*"
    path: str = ".*"
    count: int | None = 1
    status: int = 503
    retry_after: int = 0
    seconds: float = 0.0
    after_chunks: int = 0
    hits: int = 0

    def matches(self, request: Request) -> bool:
        if self.count is not None and self.hits >= self.count:
            return False
        if self.fault in _ON_WATCHES and not request.flag("watch"):
            return False
        return bool(re.fullmatch(self.method, request.method) and re.fullmatch(self.path, request.path))

    def error(self) -> Response:
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after else {}
        details = {"retryAfterSeconds": self.retry_after} if self.retry_after else None
        reason = _REASONS.get(self.status, "")
        return Response.of_error(ApiError(self.status, reason, "injected fault", details, headers))


_ON_WATCHES = (Fault.WATCH_CUT, Fault.WATCH_STUCK, Fault.HALF_LINE)


@dataclass(slots=True)
class Faults:
    """The rules of one server. Add to them while it runs; the first rule that matches applies."""

    handle: Handle
    rules: list[Rule] = field(default_factory=list)

    def add(self, rule: Rule) -> Rule:
        self.rules.append(rule)
        return rule

    def clear(self) -> None:
        self.rules.clear()

    async def __call__(self, request: Request) -> Response:
        rule = next((rule for rule in self.rules if rule.matches(request)), None)
        if rule is None:
            return await self.handle(request)
        rule.hits += 1
        return await self._misbehave(rule, request)

    async def _misbehave(self, rule: Rule, request: Request) -> Response:
        if rule.fault is Fault.STATUS:
            return rule.error()
        if rule.fault is Fault.DROP:
            raise ConnectionCut
        if rule.fault is Fault.DELAY:
            await asyncio.sleep(rule.seconds)
            return await self.handle(request)
        response = await self.handle(request)
        if rule.fault is Fault.ANSWER_LOST:
            if rule.status:
                return rule.error()
            raise ConnectionCut
        if isinstance(response.body, bytes):
            return response
        return Response(response.status, Broken(response.body, rule), response.headers)


class Broken:
    """A watch that fails as its rule says."""

    def __init__(self, stream: Stream, rule: Rule) -> None:
        self._stream = stream
        self._chunks = stream.__aiter__()
        self._rule = rule
        self._left = rule.after_chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._left > 0:
            self._left -= 1
            return await anext(self._chunks)
        if self._rule.fault is Fault.WATCH_STUCK:
            await asyncio.Event().wait()
        if self._rule.fault is Fault.HALF_LINE and self._left == 0:
            self._left = -1
            chunk = await anext(self._chunks)
            return chunk[: len(chunk) // 2]
        raise ConnectionCut

    async def aclose(self) -> None:
        await self._stream.aclose()
