"""Eviction cycles: jobs that evict each other in turns are held back, each time twice as long.

A victim is always less important than the pod that it leaves for, so two single pods cannot take turns. Gangs whose
members differ in priority can: a with members of 5 and 1 evicts b of 3, and b evicts the 1s of a.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import product
from typing import NamedTuple

_REMEMBERED_S = 1800.0
_FIRST_HOLD_S = 30.0
_LONGEST_HOLD_S = 900.0

_Pair = tuple[str, str]  # preemptor, victim


class Hold(NamedTuple):
    """Until when a job may not evict others that have evicted it: by our clock, and as users read it."""

    until: float
    until_wall: float


class _Round(NamedTuple):
    """The last time that one evicted the other, and how long the other was held back then."""

    at: float
    length_s: float
    hold: Hold


class EvictionCycles:
    """Who was evicted for whom, lately. Gangs are known by name: a pod that is made again is a job of its own."""

    def __init__(self, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._clock, self._wall = clock, wall
        self._rounds: dict[_Pair, _Round] = {}

    def hold(self, preemptors: Collection[str], victims: Collection[str]) -> Hold | None:
        """Until when these may not evict those, because one of those has evicted one of these; None: they may."""
        now = self._clock()
        back = (self._rounds.get((victim, preemptor)) for preemptor, victim in product(preemptors, victims))
        holds = [each.hold for each in back if each is not None and each.hold.until > now]
        return max(holds, default=None)

    def until(self, wall: float) -> Hold:
        """A hold until a moment of the wall clock."""
        return Hold(self._clock() + max(0.0, wall - self._wall()), wall)

    def seconds_left(self, hold: Hold) -> float:
        return max(0.0, hold.until - self._clock())

    def evicted(self, preemptors: Collection[str], victims: Collection[str]) -> None:
        """These evict those now: should those want to evict them back, they wait, twice as long as the last time."""
        now = self._clock()
        self._rounds = {pair: each for pair, each in self._rounds.items() if now - each.at <= _REMEMBERED_S}
        for preemptor, victim in product(preemptors, victims):
            before = self._rounds.get((preemptor, victim))
            length_s = _FIRST_HOLD_S if before is None else min(2 * before.length_s, _LONGEST_HOLD_S)
            hold = Hold(now + length_s, self._wall() + length_s)
            self._rounds[preemptor, victim] = _Round(now, length_s, hold)
