"""How fast answers are worked out: in slices, and in the long run in a twentieth of a busy scheduler's time.

One question is answered at once. A flood of them must not slow binds down: while jobs are active or pods are being
bound, answers use up an allowance, and then rest until it has grown again. An idle scheduler gives everything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_SLICE_S = 0.005  # how long an answer may keep the event loop to itself
_SHARE = 0.05  # of the time, that all answers together may take while the scheduler is busy
_SAVED_S = 0.5  # at most: two or three answers about a large cluster


class Allowance:
    """The time that all answers of a process may still take."""

    def __init__(self, is_busy: Callable[[], bool], clock: Callable[[], float] = time.perf_counter) -> None:
        self._is_busy, self._clock = is_busy, clock
        self._left, self._at = _SAVED_S, clock()

    def take(self, seconds: float) -> float:
        """So much was used: how long to rest now."""
        now = self._clock()
        self._left = min(_SAVED_S, self._left + (now - self._at) * _SHARE) - seconds
        self._at = now
        if not self._is_busy():
            self._left = max(self._left, 0.0)
        return max(0.0, -self._left) / _SHARE


class Pace:
    """One answer, and the time that was spent on it alone."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._rested = 0.0
        self._slice_began = time.perf_counter()

    def spent(self) -> float:
        """A clock that stands still while others work, on this machine or in this process."""
        return time.thread_time() - self._rested

    async def rest(self) -> None:
        """Let others work, for as long as they are owed."""
        cpu = time.thread_time()
        await asyncio.sleep(self._allowance.take(time.perf_counter() - self._slice_began))
        self._slice_began = time.perf_counter()
        self._rested += time.thread_time() - cpu

    async def last(self, steps: Iterator[T], found: T) -> T:
        """The last of some steps, with a rest after each slice of them."""
        for step in steps:
            found = step
            if time.perf_counter() - self._slice_began >= _SLICE_S:
                await self.rest()
        return found
