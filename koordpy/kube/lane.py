"""A lane: a fixed number of workers that carry out calls in the order in which they were put in.

Binds have a wide lane. Conditions and warnings have a narrow one, *behind* evictions and binds, since jobs wait for
these. The `Scheduled` events of pods are behind the binds too: an event costs the API server as much as a
bind, and ten thousand of them would double the time until the last pod runs. No call is dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import structlog

_SHORTEST_S = 1e-3

log = structlog.get_logger()

Call = Callable[[], Awaitable[None]]


class Lane:
    """`put` adds calls, `run` carries them out until cancelled. Calls handle their own errors.

    `on_error` is called after a call that raised. A lane that is `behind` others waits until those are empty, but each
    of its calls no longer than `patience_s`.
    """

    def __init__(
        self,
        width: int,
        *,
        behind: tuple[Lane, ...] = (),
        patience_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        on_error: Callable[[], None] | None = None,
    ) -> None:
        self._width, self._behind, self._patience_s, self._clock = width, behind, patience_s, clock
        self._on_error = on_error
        self._calls: asyncio.Queue[Call] = asyncio.Queue()
        self._undone = 0  # calls that are not done, begun ones included

    @property
    def is_idle(self) -> bool:
        return not self._undone

    def put(self, call: Call) -> None:
        self._undone += 1
        if self._behind:
            call = partial(self._after_others, call, self._clock() + self._patience_s, self._behind)
        self._calls.put_nowait(call)

    def __len__(self) -> int:
        """Calls that no worker has taken yet."""
        return self._calls.qsize()

    def clear(self) -> None:
        """Drop calls that no worker has taken, as when leadership is lost."""
        while not self._calls.empty():
            self._calls.get_nowait()
            self._done()

    async def drained(self) -> None:
        """Return when all calls are done."""
        await self._calls.join()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._width):
                group.create_task(self._work())

    async def _after_others(self, call: Call, latest: float, first: tuple[Lane, ...]) -> None:
        with suppress(TimeoutError):
            while (busy := next((lane for lane in first if not lane.is_idle), None)) is not None:
                # Never zero, which would not be a timer to asyncio.
                async with asyncio.timeout(max(latest - self._clock(), _SHORTEST_S)):
                    await busy.drained()
        await call()

    async def _work(self) -> None:
        while True:
            call = await self._calls.get()
            try:
                await call()
            except Exception:
                log.exception("call_failed", hint="please report this; nothing else is affected")
                if self._on_error is not None:
                    self._on_error()
            finally:
                self._done()

    def _done(self) -> None:
        self._undone -= 1
        self._calls.task_done()
