"""Jobs that evict each other: noticed, slowed down, and counted.

A victim always has a lower priority than whom it leaves for, so that two single pods cannot take turns. Gangs whose
members differ in priority can: a with members of 5 and 1 evicts b of 3, and b evicts the 1s of a.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import product

from koordpy import metrics

_REMEMBERED_S = 1800.0
_FIRST_PAUSE_S = 30.0
_LONGEST_PAUSE_S = 900.0


class EvictionCycles:
    """Who was evicted for whom, lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._evicted: dict[tuple[str, str], float] = {}  # (preemptor, victim) -> when
        self._pauses: dict[tuple[str, str], tuple[float, float]] = {}  # (preemptor, victim) -> length, until

    def pause_s(self, preemptors: Collection[str], victims: Collection[str]) -> float:
        """How long gangs or pods have to wait before they may evict these; 0 unless one of these has evicted them."""
        return max((self._pause_s(*pair) for pair in product(preemptors, victims)), default=0.0)

    def evicted(self, preemptors: Collection[str], victims: Collection[str]) -> None:
        now = self._clock()
        for pair in product(preemptors, victims):
            self._evicted[pair] = now
        self._evicted = {pair: at for pair, at in self._evicted.items() if now - at <= _REMEMBERED_S}
        self._pauses = {pair: pause for pair, pause in self._pauses.items() if now - pause[1] <= _REMEMBERED_S}

    def _pause_s(self, preemptor: str, victim: str) -> float:
        pair, now = (preemptor, victim), self._clock()
        back = self._evicted.get((victim, preemptor))
        if back is None or now - back > _REMEMBERED_S:
            return 0.0
        length, until = self._pauses.get(pair, (0.0, 0.0))
        if now >= until and self._evicted.get(pair, 0.0) >= until:  # a new round: each pause is twice the one before
            metrics.PREEMPTION_CYCLES.inc()
            length = min(max(2 * length, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
            until = now + length
            self._pauses[pair] = length, until
        return max(0.0, until - now)
