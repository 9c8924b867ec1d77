"""What nobody could foresee, and when: a node is gone, a bind was refused, another process leads, a gang was changed.

Whoever judges asks here whether something of that kind may be the cause. A surprise excuses what was decided before
anybody could know of it, and no more: a scheduler that was told does not decide on the old news. How long it takes to
be told depends on the network.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

_TOLD_WITHIN_S = 3.0  # through a network that works, from a scheduler that runs: the rest is planning and back-off
_TOLD_LATE_WITHIN_S = 60.0
_UNSETTLED_S = 30.0  # after a fault watches may still be behind

IsCalm = Callable[[float, float], bool]  # no fault of the network between these two moments


class Surprises:
    """Those of everybody, and those of one gang or pod, by name."""

    def __init__(self, is_calm: IsCalm = lambda _since, _until: True) -> None:
        self._is_calm = is_calm
        self._mishaps: list[float] = []  # of processes that schedule: killed, stopped, ended, resumed
        self._of_all: list[float] = []
        self._of: dict[str, list[float]] = defaultdict(list)

    def mishap(self) -> None:
        """A scheduler is killed or stopped, starts or goes on: it knows nothing, or what was true before."""
        self._mishaps.append(_now())
        self._of_all.append(_now())

    def for_all(self) -> None:
        """It may be in the way of any job: a smaller node, a pod of another scheduler."""
        self._of_all.append(_now())

    def of(self, name: str) -> None:
        """It concerns one gang, or one pod."""
        self._of[name].append(_now())

    def last(self, name: str) -> float:
        """The last one that concerns this gang."""
        return max([*self._of_all[-1:], *self._of[name][-1:]], default=float("-inf"))

    def excuse(self, name: str, since: float) -> bool:
        """Something that concerns this gang has happened since, or so shortly before that it was no news yet."""
        return self.last(name) > since - self.told_within_s(since)

    def told_within_s(self, at: float) -> float:
        """How old the news may be by which a scheduler decides at this moment."""
        return _TOLD_WITHIN_S if self.is_settled(at) else _TOLD_LATE_WITHIN_S

    def is_settled(self, at: float) -> bool:
        """Everybody runs and hears, and has for some time."""
        since = at - _UNSETTLED_S
        return self._is_calm(since, at) and not any(since < each <= at for each in self._mishaps)


def _now() -> float:
    return asyncio.get_running_loop().time()
