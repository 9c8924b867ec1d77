"""When members of a large gang are told again why they wait: at once if the reason is another one, else after a while.

A gang of 250 that waits for its victims is refused anew whenever one of them has left: `500 Insufficient cpu`, then
`499 Insufficient cpu`. Told each time, that is thousands of writes that nobody reads, while the API server is needed
for the evictions. Nothing is lost: what was held back last is said when its time has come.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from koordpy.plan.framework.answers import Refusal

_AGAIN_S = 10.0
_FIGURES = re.compile(r"\d+")


class Throttle:
    """What each pod was told last, and when; and what is still to be said."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said: dict[str, str] = {}  # UID -> the message that was last put into the lane
        self._told: dict[str, tuple[str, float]] = {}  # UID -> the reason without its figures, when
        self._late: dict[str, Refusal] = {}

    def said(self, uid: str) -> str | None:
        """The message that a pod was told last; None: we do not know, and the API server's word counts."""
        return self._said.get(uid)

    def say(self, uid: str, message: str) -> None:
        """A pod is told this."""
        self._said[uid] = message

    def hold_back(self, uid: str, refusal: Refusal) -> bool:
        """Whether this is to be said later, or never if something else happens first."""
        kind, now = _kind(refusal.message), self._clock()
        told = self._told.get(uid)
        if told is not None and told[0] == kind and now - told[1] < _AGAIN_S:
            self._late[uid] = refusal
            return True
        self._told[uid] = kind, now
        self._late.pop(uid, None)
        return False

    def is_said(self, uid: str) -> None:
        """What was said last is true again."""
        self._late.pop(uid, None)

    def take_due(self) -> list[tuple[str, Refusal]]:
        """What has been held back for long enough."""
        now = self._clock()
        ready = [uid for uid in self._late if now - self._told[uid][1] >= _AGAIN_S]
        return [(uid, self._late.pop(uid)) for uid in ready]

    def forget(self, uid: str) -> None:
        self._said.pop(uid, None)
        self._told.pop(uid, None)
        self._late.pop(uid, None)

    def clear(self) -> None:
        """It is not certain what was said: everything is said again, unless the API server has it."""
        self._said.clear()
        self._told.clear()
        self._late.clear()


@lru_cache(maxsize=256)  # all members of a gang are told the same
def _kind(message: str) -> str:
    return _FIGURES.sub("#", message)
