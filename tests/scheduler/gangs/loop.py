"""A loop whose time is turned by hand, and which runs only when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class HandLoop(asyncio.SelectorEventLoop):
    """Between two calls of `turn` nothing happens, whatever time it is."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._hand_clock = clock
        super().__init__()
        self.tasks: set[asyncio.Task[None]] = set()

    def time(self) -> float:
        return self._hand_clock()

    def start(self, call: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.create_task(call)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def turn(self) -> None:
        """Until everything waits for an answer or for the time."""
        while True:
            self.call_soon(self.stop)
            self.run_forever()
            if not self._ready:  # type: ignore[attr-defined]
                return

    def seconds_to_next(self) -> float | None:
        """Until the next timer is due; None when there is none."""
        timers = [handle.when() for handle in self._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]
        return max(0.0, min(timers) - self.time()) if timers else None

    def cut(self) -> None:
        """Everything under way ends where it is, as when the process is killed."""
        for task in list(self.tasks):
            task.cancel()
        self.turn()
        for handle in self._scheduled:  # type: ignore[attr-defined]
            handle.cancel()
