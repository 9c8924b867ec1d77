"""The network between one machine and the API: takes time, refuses, loses, delays and repeats calls, breaks watches.

What was sent goes on without its sender: a request of a machine that is stopped or killed meanwhile still takes effect.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from koordpy.kube.errors import Unavailable
from koordpy.kube.http.transport import JSON, MaySend, Response, always
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.transport import DirectTransport
from koordpy.sim.simulate.machine import Machine
from koordpy.sim.simulate.weather import Weather, Window

_LONG_S = (0.1, 3.0)  # a delayed call: less than its time limit, and more than a renewal takes
_LAG_S = (0.1, 8.0)
_REPLAYED = 30  # pieces of a watch that are kept to be sent again
_REASONS = {403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired", 422: "Invalid", 429: "TooManyRequests"}

_BOOKMARK_EVERY_S = 1.0
_GONE = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'

OnSend = Callable[[Machine, str, str, bytes], None]  # machine, method, path, body: at the moment of sending
OnAnswer = Callable[[Machine, str, str, bytes, str], None]  # the same, with what came of it


class Network:
    """A `Transport`."""

    def __init__(
        self, cluster: EmbeddedCluster, machine: Machine, weather: Weather, on_send: OnSend, on_answer: OnAnswer
    ) -> None:
        self._cluster, self._machine, self._weather = cluster, machine, weather
        self._inner = DirectTransport(cluster.handle)
        self._outside = contextvars.Context()  # of no machine
        self._on_send, self._on_answer = on_send, on_answer
        self._calls = 0
        self._pieces: dict[str, deque[bytes]] = {}  # the last ones of the watches of a path

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
        await self._perhaps_dead()
        if not may_send():
            raise Unavailable(f"{method} {path}: held back")
        self._calls += 1
        number, now = self._calls, self._now
        self._on_send(self._machine, method, path, body)
        await self._perhaps_dead()
        fault = self._weather.fault_of_call(now, self._machine.name, number, method, path)
        carried_out = self._carry_out(number, fault, method, path, body, content_type=content_type, accept=accept)
        task = asyncio.get_running_loop().create_task(carried_out, context=self._outside)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await asyncio.shield(task)
        except TimeoutError:
            raise Unavailable(f"{method} {path}: no answer in time") from None
        await self._perhaps_dead()
        if answer is None:
            raise Unavailable(f"{method} {path}: connection broke")
        return answer

    async def _carry_out(
        self, number: int, fault: Window | None, method: str, path: str, body: bytes, *, content_type: str, accept: str
    ) -> Response | None:
        """None: no answer comes."""
        kind = fault.fault if fault is not None else ""
        latency_s = self._weather.latency_s(self._machine.name, number)
        if kind == "delay":
            latency_s = _scaled(latency_s, _LONG_S)
        await asyncio.sleep(latency_s)
        if kind == "lose-request":
            self._on_answer(self._machine, method, path, body, "request lost")
            return None
        if kind == "refuse" and fault is not None:
            self._on_answer(self._machine, method, path, body, f"refused with {fault.status}")
            return _refusal(fault.status)
        answer = await self._inner.send(method, path, body, timeout_s=60.0, content_type=content_type, accept=accept)
        lost = " answer lost" if kind == "lose-answer" else ""
        self._on_answer(self._machine, method, path, body, f"{answer.status}{lost}")
        if kind == "lose-answer":
            return None
        if kind == "repeat":  # by a proxy that heard nothing in time; either answer may reach the sender
            await asyncio.sleep(latency_s)
            again = await self._inner.send(method, path, body, timeout_s=60.0, content_type=content_type, accept=accept)
            self._on_answer(self._machine, method, path, body, f"{again.status} repeated")
            answer = again if number % 2 else answer
        await asyncio.sleep(latency_s / 2)
        return answer

    @asynccontextmanager
    async def stream(self, path: str, *, accept: str = JSON) -> AsyncIterator[AsyncIterator[bytes]]:
        await self._perhaps_dead()
        number = self._next()
        await asyncio.sleep(self._weather.latency_s(self._machine.name, number))
        fault = self._weather.fault_of_watch(self._now, self._machine.name, number)
        if fault is not None and fault.fault == "expire":
            self._cluster.forget_history()
        elif fault is not None and fault.fault == "break":
            raise Unavailable(f"GET {path}: connection broke")
        async with self._inner.stream(path, accept=accept) as chunks:
            yield self._pieces_of(path.partition("?")[0], chunks, replays=fault is not None and fault.fault == "replay")

    async def _pieces_of(self, path: str, chunks: AsyncIterator[bytes], *, replays: bool) -> AsyncIterator[bytes]:
        """What the watch tells, late. One begun anew may tell again what was told before, in one piece with more."""
        kept = self._pieces.setdefault(path, deque(maxlen=_REPLAYED))
        async for chunk in chunks:
            piece = b"".join((*kept, chunk)) if replays else chunk
            replays = False
            number = self._next()
            fault = self._weather.fault_of_watch(self._now, self._machine.name, number)
            latency_s = self._weather.latency_s(self._machine.name, number)
            await asyncio.sleep(_scaled(latency_s, _LAG_S) if fault and fault.fault == "lag" else latency_s)
            while fault is not None and fault.fault == "bookmarks-only" and kept and self._now < fault.ends:
                await self._perhaps_dead()
                yield _bookmark(kept[-1])
                await asyncio.sleep(_BOOKMARK_EVERY_S)
            await self._perhaps_dead()
            if fault is not None and fault.fault == "break":
                raise Unavailable(f"GET {path}: connection broke")
            kept.append(chunk)
            yield piece
            if fault is not None and fault.fault == "gone":
                yield _GONE
            elif fault is not None and fault.fault == "cut":
                raise Unavailable(f"GET {path}: connection broke after a piece")

    def _next(self) -> int:
        self._calls += 1
        return self._calls

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _perhaps_dead(self) -> None:
        if self._machine.is_dead:
            await asyncio.Event().wait()


def _bookmark(told: bytes) -> bytes:
    """Nothing newer than the last that was told, which must not have been a page of an error."""
    last = msgspec.json.decode(told.splitlines()[-1])["object"]
    version = last.get("metadata", {}).get("resourceVersion", "")
    return msgspec.json.encode({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}}) + b"\n"


def _scaled(latency_s: float, bounds: tuple[float, float]) -> float:
    """A longer latency, by the chance that is in a short one."""
    part = (latency_s - 0.001) / 0.02
    return bounds[0] + part * (bounds[1] - bounds[0])


def _refusal(status: int) -> Response:
    reason = _REASONS.get(status, "InternalError")
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status}
    told = msgspec.json.encode(body | {"reason": reason, "message": "a fault of the simulation"})
    return Response(status, told, "1" if status == 429 else None)
