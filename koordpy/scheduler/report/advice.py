"""What is added to the message of a job that waits: what would start it, and when it is expected to start.

`0/8 nodes are available: 8 Insufficient cpu; would start if team/notebook-3 ended; expected start 18:40Z`. Owns which
job was given which advice and when it is to be looked at again. Never works out any: `answers/advisor.py` does.

Advice belongs to one message. Another message has none until somebody has thought about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from koordpy.plan.framework.answers import Refusal

_FIRST_S = 5.0  # a job that starts before that needs no advice
_TRIED_AGAIN_S = 60.0  # the cluster has changed, and advice may be out of date
_AT_LATEST_S = 1500.0  # before the warning is said again, so that it is still true then
_BEGINS = ("; would start if ", "; expected start ")


@dataclass(slots=True)
class _Given:
    message: str  # the refusal that it is about
    text: str  # with its semicolon; empty: none so far, or there is none
    due: float
    looked: float


class Advice:
    """By the keys of jobs. Where it is not `wanted` nobody thinks about jobs, so nothing is remembered of them."""

    def __init__(self, clock: Callable[[], float], *, wanted: bool = True) -> None:
        self._clock, self._wanted = clock, wanted
        self._given: dict[str, _Given] = {}

    def added_to(self, refusal: Refusal, key: str, seen: str) -> Refusal:
        """The refusal of a job with the advice that belongs to it; `seen` is what the API server says of it by now.

        A scheduler that has just begun to lead finds advice of another one there, and leaves it until it knows better.
        """
        if not self._wanted:
            return refusal
        now, given = self._clock(), self._given.get(key)
        if given is None or given.message != refusal.message:
            text = _advice_in(seen, refusal.message) if given is None else ""
            given = self._given[key] = _Given(refusal.message, text, now + _FIRST_S, now)
        else:
            given.due = min(given.due, max(now + _FIRST_S, given.looked + _TRIED_AGAIN_S))
        if not given.text:
            return refusal
        return replace(refusal, message=refusal.message.removesuffix(".") + given.text)

    def next_due(self) -> str | None:
        """The job that waits longest to be looked at."""
        key = min(self._given, key=lambda each: self._given[each].due, default=None)
        return key if key is not None and self._given[key].due <= self._clock() else None

    def give(self, key: str, message: str, text: str, true_for_s: float = _AT_LATEST_S) -> None:
        """Somebody has thought about a job while its message was this one; another message wants another thought."""
        given = self._given.get(key)
        if given is not None and given.message == message:
            now = self._clock()
            given.text, given.looked = text, now
            given.due = now + max(_TRIED_AGAIN_S, min(true_for_s, _AT_LATEST_S))

    def forget(self, key: str) -> None:
        """The job has started, or is gone."""
        self._given.pop(key, None)

    def clear(self) -> None:
        self._given.clear()


def _advice_in(seen: str, message: str) -> str:
    rest = seen.removeprefix(message.removesuffix("."))
    return rest if rest != seen and rest.startswith(_BEGINS) else ""
