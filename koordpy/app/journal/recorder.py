"""The recorder of one file: entries in the order in which they happened, each with its effects.

An entry is whatever sets the scheduler in motion: an object delivered to a sink, a step of one of its tasks, a timer.
Its effects are what happened meanwhile: readings of clocks, calls that were begun or answered, decisions. An entry is
written when it ends. This module knows nothing of what the scheduler does.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec

from koordpy.app.journal.files import JournalFile

T = TypeVar("T")

_encode = msgspec.json.encode


class Suspended(Protocol):
    """A task of the scheduler, while one of its steps is under way."""

    is_calling: bool  # it waits for the API server; what happens within the client is not the scheduler's


class Recorder:
    """Writes entries to one file, until it is closed."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._entry: list[Any] = []
        self.effects: list[Any] | None = None  # of the entry under way
        self.task: Suspended | None = None  # whose step is under way
        self.tasks = self.timers = 0  # so many had a number
        self.is_closed = False

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def numbers(self) -> bool:
        """Tasks and timers that are made now are the scheduler's own."""
        return self.effects is not None and (self.task is None or not self.task.is_calling)

    def enter(self, *entry: Any) -> None:
        if not self.is_closed:
            self._entry, self.effects = list(entry), []

    def leave(self) -> None:
        if self.effects is not None:
            self._file.write(_encode([*self._entry, self.effects]))
            self.effects = None

    def during(self, entry: tuple[Any, ...], call: Callable[[], T]) -> T:
        """One entry, from the beginning of a call to its end; an error of the call's is an effect too."""
        self.enter(*entry)
        try:
            return call()
        except Exception as error:
            if self.effects is not None:
                self.effects.append(raised(error))
            raise
        finally:
            self.leave()

    def flush(self) -> None:
        if not self.is_closed:
            self._file.flush()

    def close(self) -> None:
        """Whatever the scheduler does from now on is not recorded."""
        if not self.is_closed:
            self.is_closed, self.effects = True, None
            self._file.close()

    # --- effects ---

    def clock(self, clock: Callable[[], float]) -> Callable[[], float]:
        """The same clock, each reading of which is an effect."""

        def read() -> float:
            now = clock()
            if self.effects is not None:
                self.effects.append(now)
            return now

        return read

    def decided(self, decision: tuple[object, ...]) -> None:
        if self.effects is not None:
            self.effects.append(["decided", *decision])

    def begun(self, method: str, path: str, body: Any) -> None:
        if self.effects is not None:
            self.effects.append(call_begun(method, path, body))

    def answered(self, *outcome: Any) -> None:
        if self.effects is not None:
            self.effects.append(["answered", *outcome])


def raised(error: Exception) -> list[Any]:
    """An error of the scheduler's own, as the journal has it."""
    return ["raised", type(error).__name__]


def call_begun(method: str, path: str, body: Any) -> list[Any]:
    """A call as the journal has it: a checksum stands for its body. Names of events are random, and left out."""
    before, is_event, _ = path.partition("/events")
    if is_event and path.startswith("/apis/events.k8s.io/"):
        return ["call", method, before + "/events", 0]
    return ["call", method, path, zlib.crc32(_encode(body)) if body is not None else 0]
