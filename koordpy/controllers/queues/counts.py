"""Sums over pods, by the names of their resources; exact, because they are of integers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Amounts = dict[str, int]


@dataclass(slots=True)
class Counts:
    """What pods have and want. GPUs are under their own names, as users know them."""

    allocated: Amounts = field(default_factory=dict)
    fixed: Amounts = field(default_factory=dict)  # allocated, and not preemptible
    requested: Amounts = field(default_factory=dict)
    pods: int = 0  # of ours
    foreign: int = 0  # of other schedulers

    def include(self, other: Counts) -> None:
        for mine, theirs in (
            (self.allocated, other.allocated),
            (self.fixed, other.fixed),
            (self.requested, other.requested),
        ):
            add(mine, theirs.items(), 1)
        self.pods += other.pods
        self.foreign += other.foreign


def add(amounts: Amounts, more: Iterable[tuple[str, int]], sign: int) -> None:
    """What becomes zero is left out."""
    for name, amount in more:
        total = amounts.get(name, 0) + sign * amount
        if total:
            amounts[name] = total
        else:
            amounts.pop(name, None)
