"""Whose pods are created next, over all QueueJobs.

First every job's minimum, in order of priority, then age. Only when all of them are there, the others in round robin:
whoever has the fewest beyond its minimum is next. That is counted from the pods that exist and never remembered, so a
controller that starts anew goes on where the last one was. This module only orders; it knows no API.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
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


class Place(NamedTuple):
    """One pod of one QueueJob."""

    key: str
    slot: Slot

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]


MayBeMade = Callable[[str, Slot], bool]


def next_minimum(wishes: Iterable[Wish], may_be_made: MayBeMade) -> list[Place]:
    """All that is left of one job's minimum.

    `may_be_made` says which pods are not held back, such as by a quota that has just refused one like them.
    """
    for wish in sorted((each for each in wishes if each.minimum), key=_order):
        if places := [Place(wish.key, slot) for slot in wish.minimum if may_be_made(wish.key, slot)]:
            return places
    return []


def round_robin(wishes: Iterable[Wish], may_be_made: MayBeMade) -> Iterator[Place]:
    """The pods beyond the minimums, in the order in which they are created, of the jobs that have theirs."""
    turns = []
    for wish in wishes:
        if wish.surplus and not wish.minimum:
            free = (slot for slot in wish.surplus if may_be_made(wish.key, slot))
            turns.append((wish.surplus_made, _order(wish), free))  # no two have the same order
    heapq.heapify(turns)
    while turns:
        made, order, free = turns[0]
        if (slot := next(free, None)) is None:
            heapq.heappop(turns)
            continue
        yield Place(order[-1], slot)
        heapq.heapreplace(turns, (made + 1, order, free))


def at_once(places: Iterable[Place], one_by_one: Collection[str]) -> list[Place]:
    """Of these pods, in their order, those that may be created at the same time.

    In a namespace where it matters who is first, only the first of it: whoever comes second may be refused.
    """
    begun: set[str] = set()
    found = []
    for place in places:
        if place.namespace not in begun:
            found.append(place)
        if place.namespace in one_by_one:
            begun.add(place.namespace)
    return found


def _order(wish: Wish) -> tuple[int, str, str]:
    return -wish.priority, wish.created, wish.key
