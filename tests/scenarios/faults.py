"""Faults between koordpy and an API server, whichever it is: the embedded API's rules, applied to a transport.

Only koordpy's calls pass here. The transport can also die, as when the process behind it is killed: from then on
nothing it was asked to send leaves it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext

from koordpy.kube.errors import Unavailable
from koordpy.kube.http.transport import JSON, MaySend, Response, Transport, always
from koordpy.sim.embedded.faults import Fault, Rule
from koordpy.sim.embedded.request import Request
from koordpy.sim.embedded.request import Response as EmbeddedResponse

_BINDING = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/binding")


class FaultyTransport:
    """Does what `rules` say, and counts binds."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.rules: list[Rule] = []
        self.bind_faulted: Callable[[str], None] = lambda _pod: None  # told namespace/name
        self.writes: list[Request] = []
        self.binds = 0  # that were sent
        self._unanswered = 0
        self._all_answered = asyncio.Event()
        self._all_answered.set()
        self.die_after_binds: int | None = None
        self.binds_until_outage: int | None = None  # 0: no call gets through; 2: two more binds do, and nothing after
        self._open: dict[asyncio.Timeout, None] = {}  # a set would be cut in another order each time
        self.died = asyncio.Event()

    def die(self) -> None:
        self.died.set()

    def cut_watches(self) -> None:
        """Break off every watch that is open."""
        for watch in self._open:
            if not watch.expired():
                watch.reschedule(asyncio.get_running_loop().time())

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
        binding = _BINDING.fullmatch(path) if method == "POST" else None
        if binding and self.die_after_binds is not None and self.binds >= self.die_after_binds:
            await self._all_answered.wait()
            self.die()
        await self._perhaps_dead()
        self._perhaps_out(path, is_bind=bool(binding))
        request = Request.of_target(method, path, {}, body)
        if method != "GET":
            self.writes.append(request)
        rule = self._rule(request)
        if rule is not None and binding:
            self.bind_faulted(f"{binding[1]}/{binding[2]}")
        if rule is not None and rule.fault in (Fault.STATUS, Fault.DROP):
            return _error(rule, path)
        if rule is not None and rule.fault is Fault.DELAY:
            await asyncio.sleep(rule.seconds)
        self.binds += bool(binding)
        with self._bind_under_way() if binding else nullcontext():
            answer = await self._inner.send(
                method, path, body, content_type=content_type, accept=accept, timeout_s=timeout_s, may_send=may_send
            )
        await self._perhaps_dead()
        return _error(rule, path) if rule is not None and rule.fault is Fault.ANSWER_LOST else answer

    @asynccontextmanager
    async def stream(self, path: str, *, accept: str = JSON) -> AsyncIterator[AsyncIterator[bytes]]:
        await self._perhaps_dead()
        self._perhaps_out(path)
        rule = self._rule(Request.of_target("GET", path, {}, b""))
        cut_after = rule.after_chunks if rule is not None and rule.fault is Fault.WATCH_CUT else None
        watch = asyncio.timeout(None)
        try:
            async with watch, self._inner.stream(path, accept=accept) as chunks:
                self._open[watch] = None
                yield _chunks(chunks, cut_after)
        except TimeoutError:
            raise Unavailable(f"GET {path}: injected fault, the connection broke") from None
        finally:
            self._open.pop(watch, None)

    def _rule(self, request: Request) -> Rule | None:
        rule = next((rule for rule in self.rules if rule.matches(request)), None)
        if rule is not None:
            rule.hits += 1
        return rule

    @contextmanager
    def _bind_under_way(self) -> Iterator[None]:
        self._unanswered += 1
        self._all_answered.clear()
        try:
            yield
        finally:
            self._unanswered -= 1
            if not self._unanswered:
                self._all_answered.set()

    def _perhaps_out(self, path: str, *, is_bind: bool = False) -> None:
        if self.binds_until_outage is None:
            return
        if self.binds_until_outage and is_bind:
            self.binds_until_outage -= 1
        elif not self.binds_until_outage:
            self.cut_watches()
            raise Unavailable(f"{path}: injected fault, nobody answers")

    async def _perhaps_dead(self) -> None:
        if self.died.is_set():
            await asyncio.Event().wait()  # whoever asked is cancelled soon


def _error(rule: Rule, path: str) -> Response:
    if rule.fault is Fault.DROP or not rule.status:
        raise Unavailable(f"{path}: injected fault, the connection broke")
    error: EmbeddedResponse = rule.error()
    assert isinstance(error.body, bytes)
    return Response(error.status, error.body, error.headers.get("Retry-After"))


async def _chunks(chunks: AsyncIterator[bytes], cut_after: int | None) -> AsyncIterator[bytes]:
    number = 0
    async for chunk in chunks:
        if number == cut_after:
            raise Unavailable("injected fault: the watch was cut")
        number += 1
        yield chunk
