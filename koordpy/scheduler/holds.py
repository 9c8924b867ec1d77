"""Holds: jobs that would evict others and may not before a time, and are activated then."""

from __future__ import annotations

import asyncio

from koordpy.scheduler.cycles import EvictionCycles, Hold
from koordpy.scheduler.queue.queue import JobQueue


class Holds:
    """One timer for each hold, however often its job is attempted meanwhile."""

    def __init__(self, cycles: EvictionCycles, queue: JobQueue) -> None:
        self._cycles, self._queue = cycles, queue
        self._holds: dict[str, Hold] = {}  # by job

    def begin(self, key: str, hold: Hold) -> None:
        if self._holds.get(key) == hold:
            return
        self._holds[key] = hold
        asyncio.get_running_loop().call_later(self._cycles.seconds_left(hold), self._end, key, hold)

    def _end(self, key: str, hold: Hold) -> None:
        if self._holds.get(key) == hold:
            del self._holds[key]
        self._queue.activate(key)
