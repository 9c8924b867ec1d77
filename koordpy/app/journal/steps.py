"""Tasks and timers of the scheduler, each step of which is an entry.

The loop of the process runs much besides the scheduler. What a recorded step creates is the scheduler's own, and gets a
number: the same one in every replay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from koordpy.app.journal.recorder import Recorder

_Coroutine = Coroutine[Any, Any, Any]
_MakeTimer = Callable[..., asyncio.TimerHandle]


class Steps:
    """A coroutine that tells the recorder whenever it goes on."""

    __slots__ = ("_coroutine", "_number", "_recorder", "is_calling")

    def __init__(self, recorder: Recorder, coroutine: _Coroutine) -> None:
        self._recorder, self._coroutine = recorder, coroutine
        self._number, self.is_calling = recorder.tasks, False
        recorder.tasks += 1

    def __await__(self) -> Generator[Any, Any, Any]:
        error: BaseException | None = None
        while True:
            self._begin()
            try:
                waits_for = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                self._recorder.leave()
                self._recorder.task = None
            error = None
            try:
                yield waits_for
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as raised:  # noqa: BLE001 - it is the coroutine's
                error = raised

    def _begin(self) -> None:
        self._recorder.task = self
        if not self.is_calling:
            self.enter()

    def enter(self) -> None:
        """The coroutine goes on from here."""
        self._recorder.enter("step", self._number)


def start(recorder: Recorder, coroutine: _Coroutine) -> asyncio.Task[Any]:
    """A task all steps of which are recorded, and so are those of the tasks that it makes."""
    return asyncio.get_running_loop().create_task(_run(Steps(recorder, coroutine)))


async def _run(steps: Steps) -> Any:
    return await steps


class Tap:
    """Stands between the scheduler and a loop, for as long as the loop runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._recorder: Recorder | None = None
        self._call_at, self._call_later = loop.call_at, loop.call_later
        self._is_making = False  # in asyncio one of them calls the other, in uvloop it is the other way round
        loop.set_task_factory(self._make_task)
        # Every timer is made by one of these two, and no loop has another place to notice that.
        vars(loop)["call_at"], vars(loop)["call_later"] = self._timer_at, self._timer_later

    def record(self, recorder: Recorder | None) -> None:
        """Into this one from now on; into none, with None."""
        self._recorder = recorder

    def _make_task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **given: Any) -> asyncio.Task[Any]:
        recorder = self._recorder
        if recorder is not None and recorder.numbers:
            coroutine = _run(Steps(recorder, coroutine))
        return asyncio.Task(coroutine, loop=loop, **given)

    def _timer_later(self, *given: Any, **more: Any) -> asyncio.TimerHandle:
        return self._timer(self._call_later, *given, **more)

    def _timer_at(self, *given: Any, **more: Any) -> asyncio.TimerHandle:
        return self._timer(self._call_at, *given, **more)

    def _timer(
        self, make: _MakeTimer, when: float, callback: Callable[..., Any], *args: Any, **given: Any
    ) -> asyncio.TimerHandle:
        recorder = self._recorder
        if recorder is None or not recorder.numbers or self._is_making:
            return make(when, callback, *args, **given)
        recorder.timers += 1
        self._is_making = True
        try:
            return make(when, _fire, recorder, recorder.timers - 1, callback, args, **given)
        finally:
            self._is_making = False


def _fire(recorder: Recorder, number: int, callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
    recorder.during(("timer", number), lambda: callback(*args))
