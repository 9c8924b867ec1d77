"""Candidates for one lease, each with a transport of its own that injects faults."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from koordpy.kube.client import Client
from koordpy.kube.errors import Unavailable
from koordpy.kube.http.transport import Response
from koordpy.kube.leader import LeaderLease, LeaseName, Timing
from koordpy.sim.embedded.transport import DirectTransport
from tests.builders import Json
from tests.kube.world import World, now

NAME = LeaseName("kube-system", "koord-scheduler")
TIMING = Timing(lease_duration_s=3, renew_deadline_s=2, retry_period_s=0.5)

Kind = Literal["down", "late", "slow", "lost", "crashed"]


@dataclass(frozen=True)
class Fault:
    """A fault of a candidate's transport, from `start` for `length` seconds.

    down: no request arrives. late: requests take effect `length` later, even after their timeout. slow: answers take
    `length`. lost: requests take effect and the answer never arrives. crashed: the candidate is killed.
    """

    kind: Kind
    start: float
    length: float


@dataclass
class FaultyTransport:
    """A transport with faults."""

    inner: DirectTransport
    faults: list[Fault] = field(default_factory=list)
    in_flight: set[asyncio.Task[Response]] = field(default_factory=set)

    async def send(
        self, method: str, path: str, body: bytes = b"", *, content_type: str, timeout_s: float, **more: Any
    ) -> Response:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._send_with_fault(method, path, body, content_type)
        except TimeoutError:
            raise Unavailable(f"{method} {path}: no answer in time") from None

    async def _send_with_fault(self, method: str, path: str, body: bytes, content_type: str) -> Response:
        faults = next((fault for fault in self.faults if fault.start <= now() < fault.start + fault.length), None)
        kind = faults.kind if faults else "fine"
        pause = faults.length if faults else 0.0
        if kind == "down":
            raise Unavailable("down")
        sent = asyncio.ensure_future(self._arrive(pause if kind == "late" else 0, method, path, body, content_type))
        self.in_flight.add(sent)
        answer = await asyncio.shield(sent)  # a request in flight cannot be cancelled
        if kind == "lost":
            raise Unavailable("the answer was lost")
        await asyncio.sleep(pause if kind == "slow" else 0)
        return answer

    async def _arrive(self, late: float, method: str, path: str, body: bytes, content_type: str) -> Response:
        await asyncio.sleep(late)
        return await self.inner.send(method, path, body, content_type=content_type, timeout_s=60)

    def stream(self, path: str, **more: Any) -> Any:
        return self.inner.stream(path, **more)


class Candidate:
    """One process that takes part in leader election."""

    def __init__(self, world: World, name: str, timing: Timing = TIMING, faults: list[Fault] | None = None) -> None:
        self.name = name
        self.transport = FaultyTransport(DirectTransport(world.cluster.handle), faults or [])
        self.lease = LeaderLease(Client(self.transport), NAME, name, timing, clock=asyncio.get_running_loop().time)
        self.led: list[float] = []  # when it began to lead
        self.stopped: list[float] = []  # when it was told to stop
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.lease.run(self._lead))

    async def stop(self) -> None:
        """SIGTERM."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])

    async def crash(self) -> None:
        """kill -9: nothing more is sent, and its state is lost."""
        self.transport.faults.insert(0, Fault("down", 0, float("inf")))
        self.lease._certain_until = float("-inf")
        await self.stop()

    async def _lead(self) -> None:
        self.led.append(now())
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.append(now())


@contextlib.asynccontextmanager
async def running_candidates(*candidates: Candidate) -> AsyncIterator[None]:
    for candidate in candidates:
        candidate.start()
    try:
        yield
    finally:
        for candidate in candidates:
            await candidate.stop()
            for request in candidate.transport.in_flight:
                request.cancel()


async def stored(world: World) -> Json:
    return await world.ask("GET", NAME.path)
