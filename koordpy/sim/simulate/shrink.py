"""A shorter history that still fails: steps and faults are left out, half of them at a time, then less, then singly."""

from __future__ import annotations

import gc
import re
from typing import Any

from koordpy.sim.simulate.history import History, Step
from koordpy.sim.simulate.world import Outcome, play

MOST_WORLDS = 150  # that are played to shrink one


def shortest(outcome: Outcome, most: int = MOST_WORLDS) -> Outcome:
    """The outcome of the shortest history that was found, and that is wrong in the same way."""
    kinds = _kinds(outcome)
    played, size = 0, max(1, _length(outcome.history) // 2)
    while size and played < most:
        at = 0
        while at < _length(outcome.history) and played < most:
            played += 1
            tried = play(_without(outcome.history, at, size))
            gc.collect()
            if _kinds(tried) & kinds:
                outcome = tried
            else:
                at += size
        size //= 2
    return outcome


def _kinds(outcome: Outcome) -> set[str]:
    """What was wrong, without names and numbers."""
    return {" ".join(word for word in told.split() if re.fullmatch("[A-Za-z]+,?", word)) for told in outcome.wrong}


def _length(history: History) -> int:
    return len(history.windows) + len(history.steps)


def _without(history: History, at: int, size: int) -> History:
    items: list[Any] = [*history.windows, *history.steps]
    left = items[:at] + items[at + size :]
    steps = tuple(item for item in left if isinstance(item, Step))
    return History(history.seed, steps, tuple(item for item in left if not isinstance(item, Step)))
