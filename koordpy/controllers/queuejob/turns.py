"""Whose pod is created next, over all QueueJobs.

First every job's minimum, in order of priority, then age. Only when all of them are there, the others in round robin:
whoever has the fewest beyond its minimum is next. That is counted from the pods that exist and never remembered, so a
controller that starts anew goes on where the last one was. This module only orders; it knows no API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from koordpy.controllers.queuejob.names import Slot


class Wish(NamedTuple):
    """The pods that one QueueJob still needs."""

    key: str
    priority: int
    created: str  # RFC 3339: the order of the text is the order of time
    minimum: tuple[Slot, ...]  # of its minimum
    surplus: tuple[Slot, ...]  # beyond it
    surplus_made: int = 0


class Turn(NamedTuple):
    key: str
    slots: tuple[Slot, ...]  # all of one minimum at once, or one pod beyond it


def next_turn(wishes: Iterable[Wish], may_be_made: Callable[[str, Slot], bool]) -> Turn | None:
    """`may_be_made` says which pods are not held back, such as by a quota that has just refused one like them."""
    wishes = list(wishes)
    for wish in sorted((each for each in wishes if each.minimum), key=_order):
        if slots := tuple(slot for slot in wish.minimum if may_be_made(wish.key, slot)):
            return Turn(wish.key, slots)
    others = (each for each in wishes if each.surplus and not each.minimum)
    for wish in sorted(others, key=lambda wish: (wish.surplus_made, *_order(wish))):
        if (free := next((slot for slot in wish.surplus if may_be_made(wish.key, slot)), None)) is not None:
            return Turn(wish.key, (free,))
    return None


def _order(wish: Wish) -> tuple[int, str, str]:
    return -wish.priority, wish.created, wish.key
