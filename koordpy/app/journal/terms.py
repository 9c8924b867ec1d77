"""The terms of leadership of a process with a journal: a file for each, and a new one when a file is full.

A new file begins with a scheduler that is built anew from what is known, as after a restart: its state could not be
written down otherwise. So a file that is full waits for a moment in which that costs little: no call under way, nobody
waiting at Permit, nobody being evicted. It may grow to twice its size meanwhile; then it is closed, and the time until
the next file is not in the journal.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import structlog

from koordpy.app.build import BuiltScheduler
from koordpy.app.journal.deliveries import Deliveries
from koordpy.app.journal.files import Directory, Head
from koordpy.app.journal.recorder import Recorder
from koordpy.app.journal.settings import JournalSettings
from koordpy.app.journal.steps import Tap, start

_LOOK_EVERY_S = 1.0
_QUIET_WITHIN_S = 5.0
_AGAIN_AFTER_S = 30.0
# What is known takes some of a file. At least as much is left for what happens.
_LEAST_TIMES_KNOWN = 2

log = structlog.get_logger()

T = TypeVar("T")


class Terms:
    """Records one term after another."""

    def __init__(
        self, settings: JournalSettings, head: Head, build: Callable[[Recorder | None], BuiltScheduler]
    ) -> None:
        """`build` makes a scheduler that knows nothing but run times."""
        self._settings, self._head, self._build = settings, head, build
        self._directory = Directory(settings.directory, settings.files)
        self._deliveries = Deliveries()
        self.sinks = self._deliveries.sinks()
        self.built = build(None)
        self._deliveries.begin(self.built.sinks, None)
        self._recorder: Recorder | None = None
        self._full = 0  # bytes
        self._tap: Tap | None = None

    def act(self, entry: tuple[Any, ...], call: Callable[[], T], /) -> T:
        return call() if self._recorder is None else self._recorder.during(entry, call)

    def start_over(self) -> None:
        """A new file, and a scheduler that knows all that is known; the file says how."""
        self._tap = self._tap or Tap(asyncio.get_running_loop())
        recorder = self._recorder = Recorder(self._directory.next_file(self._head))
        self._tap.record(recorder)
        gc.unfreeze()  # the scheduler until now is full of cycles, and goes
        self.built = self._build(recorder)
        recorder.during(("run_times", self.built.parts.learnt.encode()), lambda: None)
        self._deliveries.begin(self.built.sinks, recorder)
        recorder.during(("start_over",), self.built.scheduler.start_over)
        self._full = max(self._settings.file_bytes, _LEAST_TIMES_KNOWN * recorder.size)

    async def run(self) -> None:
        """Schedule until cancelled, a file after the other; `start_over` was called before."""
        while True:
            await self._one_file()
            self.start_over()
            gc.collect()
            gc.freeze()

    async def _one_file(self) -> None:
        tap, recorder = self._tap, self._recorder
        assert tap is not None
        assert recorder is not None
        running = start(recorder, self.built.scheduler.run())
        try:
            while not await self._is_time_to_end(running, recorder):
                pass
            if running.done():
                running.result()
        finally:
            recorder.close()
            self._recorder = None
            tap.record(None)
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def _is_time_to_end(self, running: asyncio.Task[None], recorder: Recorder) -> bool:
        await asyncio.wait((running,), timeout=_LOOK_EVERY_S)
        recorder.flush()
        fill = recorder.size / self._full
        if running.done() or fill < 1:
            return running.done()
        if fill >= 2 and not recorder.is_closed:
            log.warning("journal_closed", hint="too busy for a new file; the journal goes on when there is a moment")
            recorder.close()
        if fill < 1.5 and self._would_cost():
            return False
        if await self._is_quiet(running, recorder):
            return True
        await asyncio.wait((running,), timeout=_AGAIN_AFTER_S)
        return False

    def _would_cost(self) -> bool:
        parts = self.built.parts
        return bool(list(self.built.room)) or bool(parts.evictor.victims())

    async def _is_quiet(self, running: asyncio.Task[None], recorder: Recorder) -> bool:
        """Nothing new is attempted, and all calls are answered and seen; else it goes on as before."""
        scheduler, lanes, in_flight = self.built.scheduler, self.built.parts.lanes, self.built.parts.in_flight
        recorder.during(("pause", True), scheduler.pause)
        with suppress(TimeoutError):
            async with asyncio.timeout(_QUIET_WITHIN_S):
                while not running.done():
                    if lanes.are_idle and not in_flight:
                        return True
                    await asyncio.sleep(0.01)
        recorder.during(("pause", False), lambda: scheduler.pause(paused=False))
        return False
