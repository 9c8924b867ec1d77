"""When a warning is said again: every half hour while it stays true, so that it never expires.

The API server forgets events after an hour. A job that waits all night must still have one in the morning.
"""

from __future__ import annotations

from collections.abc import Callable

PERIOD_S = 1800.0
AT_ONCE = 50  # a restart puts all that waits on one line: 10,000 pods are said again within minutes, and not at once
# After a restart nobody knows when it was said last: at most half an hour ago, if an earlier leader kept to this rule.
SOONER_S = PERIOD_S / 2


class Repeats:
    """What was said about whom, and when that is due again. A key stands for a pod or a gang."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # For each delay, the keys with the times at which they are due. All of a line wait equally long, so that the
        # first is due first, whoever is said again goes to its end, and nothing has to be sorted.
        self._lines: dict[float, dict[str, float]] = {PERIOD_S: {}, SOONER_S: {}}

    def said(self, key: str) -> None:
        """A warning about it was just sent."""
        self._wait(key, PERIOD_S)

    def said_before(self, key: str) -> None:
        """The API server has it already, from whoever led before us."""
        if not any(key in line for line in self._lines.values()):
            self._wait(key, SOONER_S)

    def forget(self, key: str) -> None:
        """It is not true any more."""
        for line in self._lines.values():
            line.pop(key, None)

    def clear(self) -> None:
        for line in self._lines.values():
            line.clear()

    def take_due(self) -> list[str]:
        """Those that are to be said again now; if they are many, the first of them, and the others at the next call."""
        now = self._clock()
        due: list[str] = []
        for line in self._lines.values():
            for key, at in line.items():
                if at > now or len(due) >= AT_ONCE:
                    break
                due.append(key)
        for key in due:
            self.forget(key)
        return due

    def _wait(self, key: str, delay_s: float) -> None:
        self.forget(key)
        self._lines[delay_s][key] = self._clock() + delay_s
