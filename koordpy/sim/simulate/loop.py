"""An event loop whose time jumps to the next timer, and which machines can be stopped on.

A callback belongs to the machine in whose context it was scheduled. While that machine is stopped its callbacks are
kept, in order, and run when it goes on; nothing else of the loop waits for it.
"""

from __future__ import annotations

import asyncio
import contextvars
import selectors
from collections.abc import Callable
from typing import Any, Protocol


class Stoppable(Protocol):
    """What a callback may belong to."""

    @property
    def stopped(self) -> bool: ...
    @property
    def backlog(self) -> list[asyncio.Handle]: ...


RUNNING_ON: contextvars.ContextVar[Stoppable | None] = contextvars.ContextVar("running_on", default=None)


class Stuck(Exception):
    """Nothing is due and nothing will ever be, or so much is due that time does not pass."""


_MOST_ROUNDS = 100_000  # of callbacks at one moment; a busy world has some hundred


class VirtualLoop(asyncio.SelectorEventLoop):
    """Deterministic: callbacks run in the order in which they became ready, and waiting takes no time."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jump(self))
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._now

    def jump(self) -> None:
        """To the next timer, exactly: a sum with a delay could be early by rounding, and the timer be set again."""
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if not scheduled:
            raise Stuck("every task waits, and no timer is set")
        self._now = max(self._now, scheduled[0].when())

    def go_on(self, machine: Stoppable) -> None:
        """What the machine's callbacks were kept for has come."""
        self._ready.extend(machine.backlog)  # type: ignore[attr-defined]
        machine.backlog.clear()

    def _call_soon(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: contextvars.Context | None
    ) -> asyncio.Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        asyncio.base_events.heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001 - as the loop that this one extends does
        return timer


class _Jump(selectors.SelectSelector):
    """No file is ever ready; a wait for some time is over at once, and it is that much later."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self._rounds = 0  # since time has passed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._rounds += 1
        if timeout is None or timeout > 0:
            self._rounds = 0
            self._loop.jump()
        elif self._rounds > _MOST_ROUNDS:
            raise Stuck(f"somebody is busy without end at {self._loop.time():.3f}")
        return []


def _is_kept(handle: Any) -> bool:
    machine = handle._context.get(RUNNING_ON)  # noqa: SLF001 - the only way to know whose callback it is
    if machine is None or not machine.stopped:
        return False
    machine.backlog.append(handle)
    return True


class _Handle(asyncio.Handle):
    __slots__ = ()

    def _run(self) -> None:
        if not _is_kept(self):
            super()._run()


class _Timer(asyncio.TimerHandle):
    __slots__ = ()

    def _run(self) -> None:
        if not _is_kept(self):
            super()._run()
