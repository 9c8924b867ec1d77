"""A lane: a fixed number of workers that carry out calls in the order in which they were asked for.

Binds have a wide lane of their own; what nobody waits for (conditions, events) follows in a narrow one, so that a
thousand messages never stand between a pod and its bind. Nothing is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger()

Call = Callable[[], Awaitable[None]]


class Lane:
    """Put calls in, `run` carries them out until cancelled. Calls handle their own errors."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._calls: asyncio.Queue[Call] = asyncio.Queue()

    def put(self, call: Call) -> None:
        self._calls.put_nowait(call)

    def __len__(self) -> int:
        """Calls that no worker has taken yet."""
        return self._calls.qsize()

    def clear(self) -> None:
        """Forget what was not begun, as when leadership was lost."""
        while not self._calls.empty():
            self._calls.get_nowait()
            self._calls.task_done()

    async def drained(self) -> None:
        """Return when everything that was put in has been carried out."""
        await self._calls.join()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._width):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            call = await self._calls.get()
            try:
                await call()
            except Exception:
                log.exception("call_failed", hint="please report this; nothing else is affected")
            finally:
                self._calls.task_done()
