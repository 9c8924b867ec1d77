"""When the reserved job is tried again: at its start, after overruns had their time, when somebody ended early.

Nobody ends to the second: a pod that is killed at its deadline has a grace period. So the nodes are kept for a while
after the end of a pod that is late, and after the reserved time. And whoever ends early, on whichever node, may let the
job start before it; working that out anew looks at every pod that runs, so it is done only now and then. This knows
times and activates nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from koordpy.plan.reservations.ends import NEVER, End
from koordpy.state.pods import PodRecord

OVERRUN_S = 60.0  # that nodes are kept for pods that should have ended
LOOKS_AGAIN_AFTER_S = 10.0  # at most so often because pods elsewhere ended early
_EARLY_S = 1.0  # what is less is no news


class Calls:
    """The times of one reservation."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._start = 0.0
        self._times: list[float] = []  # to come, the next one first
        self._ends: dict[str, float] = {}  # by UID, as they were declared when the start was worked out
        self._worked_out = 0.0

    def reserved(self, start: float) -> None:
        """It has another start."""
        self._start, self._times = start, [start, start + OVERRUN_S]

    def worked_out(self, ends: Iterable[End]) -> None:
        """Its start was looked for, on these ends."""
        self._worked_out, self._ends = self._wall(), {end.pod.uid: end.at for end in ends}

    def clear(self) -> None:
        self._times, self._ends = [], {}

    @property
    def has_come(self) -> bool:
        """Its start."""
        return self._start <= self._wall()

    def is_late(self, uid: str) -> bool:
        """The start counts on a pod to have ended by now, and it still has some time to do so."""
        return self._ends.get(uid, NEVER) <= self._wall() < self._kept_until(uid)

    def wait_for(self, late: Iterable[PodRecord]) -> None:
        """Nodes are kept for pods that are late: if they do not end, the start is worked out anew."""
        self._times = sorted({*self._times, *(self._kept_until(pod.uid) for pod in late)})

    def _kept_until(self, uid: str) -> float:
        return max(self._ends[uid], self._start if self.has_come else 0.0) + OVERRUN_S

    def pod_gone(self, uid: str) -> None:
        now = self._wall()
        again = max(now, self._worked_out + LOOKS_AGAIN_AFTER_S)
        if self._times and self._ends.pop(uid, now) > now + _EARLY_S and again < self._times[0]:
            self._times.insert(0, again)

    def seconds_to_next(self) -> float | None:
        return max(0.0, self._times[0] - self._wall()) if self._times else None

    def take(self) -> bool:
        """Whether one of the times has come; each counts once."""
        due = [at for at in self._times if at <= self._wall()]
        self._times = self._times[len(due) :]
        return bool(due)
