"""An event loop on virtual time: when everything waits, the next timer is due at once. It never waits for real."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any

from bench.figures import BenchError

_RESOLUTION_S = 1e-6  # timers closer than this are due together


class _NoWaiting(selectors.SelectSelector):
    """What would be waited for is added to the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise BenchError("the simulation has come to a halt: everything waits, and no timer is set")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`asyncio.Runner(loop_factory=VirtualLoop)`; its time begins at zero."""

    def __init__(self) -> None:
        self._no_waiting = _NoWaiting()
        super().__init__(self._no_waiting)
        self._clock_resolution = _RESOLUTION_S

    def time(self) -> float:
        return self._no_waiting.now


def run(main: Any) -> Any:
    """Run a coroutine to its end, on virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
