"""The agenda: which gang, or other object, is looked at, and when.

News come in bursts, as when a gang of a thousand is bound within a second. An object is looked at a moment after the
first of them, then left alone for as long as that look says, and never looked at by two at once. News in between are
not lost but lead to one more look, and so does a look that raised, after a back-off. Nothing is on the agenda while
nobody carries it out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from koordpy.kube.backoff import Backoff
from koordpy.kube.lane import Lane

_BURST_S = 0.1  # from the first news to the look
_FIRST_RETRY_S = 0.5  # after a look that raised; doubled after each further one of the same object
_LONGEST_RETRY_S = 60.0

Look = Callable[[str], Awaitable[float]]  # of an object, by key; how long to leave it alone


class Agenda:
    """`note` is told of news; `run` carries the looks out."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lane: Lane | None = None  # while somebody carries it out
        self._planned: set[str] = set()  # to be looked at
        self._closed: set[str] = set()  # being looked at, or left alone since
        self._again: set[str] = set()  # of those, the ones with news
        self._backoffs: dict[str, Backoff] = {}  # of objects whose last look raised
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def note(self, key: str) -> None:
        """There are news of this object."""
        if key in self._closed:
            self._again.add(key)
        elif self._lane is not None and key not in self._planned:
            self._plan(key, _BURST_S)

    async def run(self, look: Look, keys: Iterable[str]) -> None:
        """Look at these, then at those with news, until cancelled."""
        self._lane = lane = Lane(self._width)
        self._look = look
        try:
            for key in keys:
                self.note(key)
            await lane.run()
        finally:
            self._lane = None
            for timer in self._timers.values():
                timer.cancel()
            for leftover in (self._timers, self._planned, self._closed, self._again, self._backoffs):
                leftover.clear()

    def _plan(self, key: str, in_s: float) -> None:
        assert self._lane is not None
        self._planned.add(key)
        call = partial(self._carry_out, key)
        self._timers[key] = asyncio.get_running_loop().call_later(in_s, self._lane.put, call)

    async def _carry_out(self, key: str) -> None:
        self._planned.discard(key)
        self._closed.add(key)
        try:
            pause_s = await self._look(key)
        except Exception:
            self._again.add(key)  # nobody else knows that the object was not dealt with
            backoff = self._backoffs.setdefault(key, Backoff(_FIRST_RETRY_S, _LONGEST_RETRY_S))
            self._close_for(key, backoff.next_s())
            raise  # the lane says so in the log
        self._backoffs.pop(key, None)
        self._close_for(key, pause_s)

    def _close_for(self, key: str, seconds: float) -> None:
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._open, key)

    def _open(self, key: str) -> None:
        del self._timers[key]
        self._closed.discard(key)
        if key in self._again:
            self._again.discard(key)
            self._plan(key, 0.0)
