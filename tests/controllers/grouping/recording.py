"""A transport that remembers what was asked, and breaks what a test wants broken."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec

from koordpy.kube.errors import Unavailable
from koordpy.kube.http.transport import Response, Transport


class Recording:
    """`refuse(method, pattern, status)` answers such requests with an error, `times` times or for good."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.requests: list[tuple[str, str]] = []
        self._refusals: list[list[Any]] = []
        self._lost: list[list[Any]] = []
        self._held: tuple[str, re.Pattern[str], asyncio.Event] | None = None

    def refuse(self, method: str, pattern: str, status: int, reason: str = "", times: int = 10**9) -> None:
        self._refusals.append([method, re.compile(pattern), status, reason, times])

    def lose(self, method: str, pattern: str, times: int) -> None:
        """Such requests are carried out, and their answers lost."""
        self._lost.append([method, re.compile(pattern), times])

    def hold(self, method: str, pattern: str) -> asyncio.Event:
        """Such requests are carried out, and their answers come when this is set."""
        release = asyncio.Event()
        self._held = method, re.compile(pattern), release
        return release

    def heal(self) -> None:
        self._refusals.clear()

    def count(self, method: str, pattern: str) -> int:
        return sum(1 for asked, path in self.requests if asked == method and re.search(pattern, path))

    async def send(self, method: str, path: str, body: bytes = b"", **more: Any) -> Response:
        self.requests.append((method, path))
        for refusal in self._refusals:
            if refusal[0] == method and refusal[1].search(path) and refusal[4] > 0:
                refusal[4] -= 1
                status = {"kind": "Status", "status": "Failure", "code": refusal[2], "message": refusal[3] or "no"}
                return Response(refusal[2], msgspec.json.encode(status), None)
        answer = await self._inner.send(method, path, body, **more)
        if self._held is not None and self._held[0] == method and self._held[1].search(path):
            await self._held[2].wait()
        for lost in self._lost:
            if lost[0] == method and lost[1].search(path) and lost[2] > 0:
                lost[2] -= 1
                raise Unavailable("the connection broke")
        return answer

    def stream(self, path: str, **more: Any) -> Any:
        self.requests.append(("WATCH", path))
        return self._inner.stream(path, **more)
