"""A loop without time and network, in which a task goes on when the journal says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Loop: Any
else:
    _Loop = asyncio.AbstractEventLoop  # most of which is never asked for here


_PATIENCE = 5  # a task may do something before it ends, and be told again


class _Callback(asyncio.TimerHandle):
    """One that can be run from outside."""

    def __init__(self, callback: Callable[..., Any], args: tuple[Any, ...], loop: Any, context: Context | None) -> None:
        super().__init__(0.0, callback, args, loop, context)
        self._call, self._given, self._within = callback, args, context or copy_context()

    @property
    def task(self) -> asyncio.Task[Any] | None:
        """Whose step it is; None when it only says that a task may go on."""
        owner = getattr(self._call, "__self__", None)
        return owner if isinstance(owner, asyncio.Task) else None

    def run(self) -> None:
        if not self.cancelled():
            self._within.run(self._call, *self._given)


class ReplayLoop(_Loop):  # type: ignore[misc]
    """Runs nothing by itself. Tasks and timers have numbers, in the order in which they were made."""

    def __init__(self) -> None:
        self._ready: list[_Callback] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._timers: list[_Callback] = []

    # --- what the replay asks for ---

    def step(self, number: int) -> bool:
        """Let a task go on; returns whether it could."""
        self._run_callbacks()
        task = self.task(number)
        found = next((each for each in self._ready if each.task is task), None) if task is not None else None
        if found is None:
            return False
        self._ready.remove(found)
        found.run()
        self._run_callbacks()
        return True

    def fire(self, number: int) -> bool:
        """Let a timer end; returns whether there was one."""
        if number >= len(self._timers) or self._timers[number].cancelled():
            return False
        self._timers[number].run()
        self._run_callbacks()
        return True

    def task(self, number: int) -> asyncio.Task[Any] | None:
        return self._tasks[number] if number < len(self._tasks) else None

    def cut(self) -> None:
        """The replay is over: whatever still waits ends where it is."""
        for _ in range(_PATIENCE):
            for task in self._tasks:
                task.cancel()
            while self._ready:
                self._ready.pop(0).run()

    def _run_callbacks(self) -> None:
        """Those that are no steps of tasks: they only say that a task may go on."""
        while (found := next((each for each in self._ready if each.task is None), None)) is not None:
            self._ready.remove(found)
            found.run()

    # --- what asyncio asks for ---

    def create_task(self, coroutine: Coroutine[Any, Any, Any], **given: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=self, **given)
        self._tasks.append(task)
        return task

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._ready.append(_Callback(callback, args, self, context))
        return self._ready[-1]

    def call_at(
        self,
        when: float,  # noqa: ARG002 - the journal says when
        callback: Callable[..., Any],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self._timers.append(_Callback(callback, args, self, context))
        return self._timers[-1]

    call_later = call_at

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays in the list, and cannot be fired."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What is thrown away at the end complains that it was never finished."""

    def time(self) -> float:
        return 0.0

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False
