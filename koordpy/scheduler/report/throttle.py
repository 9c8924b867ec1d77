"""When members of a large gang are told again why they wait: at once if the reason is another one, else after a while.

A gang of 250 that waits for its victims is refused anew whenever one of them has left: `500 Insufficient cpu`, then
`499 Insufficient cpu`. Told each time, that is thousands of writes that nobody reads, while the API server is needed
for the evictions. Nothing is lost: what was held back last is said when its time has come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
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
        """The message that a pod was told last; None: nothing, and the API server's word counts; "": not certain."""
        return self._said.get(uid)

    def say(self, uid: str, message: str) -> None:
        """A pod is told this, and nothing that was held back before."""
        self._said[uid] = message
        self._late.pop(uid, None)

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
        """Nothing was said, as far as we know: the API server's word counts."""
        self._said.clear()
        self._told.clear()
        self._late.clear()

    def doubt(self, told_again: Container[str], others: Container[str]) -> None:
        """It is not certain what was said, and some of it may be on its way: all of it is said again, by UIDs.

        `others` are those whom nobody tells anything again: what is on its way to them must get there.
        """
        said = {uid: "" if uid in told_again else message for uid, message in self._said.items()}
        self._said = {uid: message for uid, message in said.items() if uid in told_again or uid in others}
        self._told.clear()
        self._late.clear()


@lru_cache(maxsize=256)  # all members of a gang are told the same
def _kind(message: str) -> str:
    return _FIGURES.sub("#", message)
