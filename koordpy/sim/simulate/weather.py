"""Which faults the network has, and when: windows of time, drawn from the seed, each of which can be left out.

Whether one call in a window is hit is a function of the seed, of the machine and of how many calls it has made. So a
history with one window less is otherwise much the same, which is what makes it possible to shrink one.
"""

from __future__ import annotations

import random
from typing import NamedTuple

REFUSED = (403, 404, 409, 410, 422, 429, 500, 503, 504)
CALLS = ("refuse", "lose-request", "lose-answer", "delay", "repeat")
WATCHES = ("lag", "break", "cut", "replay", "expire", "gone", "bookmarks-only")
_UNDER_WAY_S = 15.0  # longer than any call may take


class Window(NamedTuple):
    """From `begins` to `ends` a part of the calls, or of the pieces of watches, is hit."""

    begins: float
    ends: float
    fault: str  # one of CALLS or WATCHES
    share: float
    machine: str  # the beginning of the names of those that it hits; empty: all
    verb: str = ""  # of the calls that it hits: a method, or "binding"; empty: all
    status: int = 0  # of "refuse"

    def __str__(self) -> str:
        whom = f" of {self.machine}" if self.machine else ""
        what = f"{self.fault} {self.status or ''} {self.verb}".rstrip()
        return f"{self.begins:8.3f} weather until {self.ends:.3f}: {what}, {self.share:.0%} of the calls{whom}"


class Weather:
    """Asked for each call and each piece of a watch."""

    def __init__(self, seed: int, windows: list[Window]) -> None:
        self._seed, self._windows = seed, windows

    @property
    def ends(self) -> float:
        return max((window.ends for window in self._windows), default=0.0)

    def is_calm(self, since: float, until: float) -> bool:
        """No window was open between these two moments, nor shortly before: a call may still be under way."""
        return not any(window.begins <= until and window.ends > since - _UNDER_WAY_S for window in self._windows)

    def fault_of_call(self, now: float, machine: str, number: int, method: str, path: str) -> Window | None:
        verbs = ("", method, path.partition("?")[0].rpartition("/")[2])
        return self._hit([w for w in self._at(now, machine, CALLS) if w.verb in verbs], machine, number)

    def fault_of_watch(self, now: float, machine: str, number: int) -> Window | None:
        return self._hit(self._at(now, machine, WATCHES), machine, number)

    def latency_s(self, machine: str, number: int) -> float:
        """Of a call, or a piece of a watch, that nothing happens to."""
        return 0.001 + self._dice(machine, number).random() * 0.02

    def _at(self, now: float, machine: str, faults: tuple[str, ...]) -> list[Window]:
        return [
            window
            for window in self._windows
            if window.begins <= now < window.ends and window.fault in faults and machine.startswith(window.machine)
        ]

    def _hit(self, windows: list[Window], machine: str, number: int) -> Window | None:
        if not windows:
            return None
        dice = self._dice(machine, number)
        return next((window for window in windows if dice.random() < window.share), None)

    def _dice(self, machine: str, number: int) -> random.Random:
        return random.Random(f"{self._seed} {machine} {number}")  # noqa: S311 - see Machine
