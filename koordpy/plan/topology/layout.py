"""The layout of members inside a domain: as few subdomains as possible, and neighbours in rank next to each other.

At each step down the tree the smallest child domain that holds all remaining members is taken. If none does, the
largest child is filled and the search goes on with the rest. So a job uses the fewest domains, and leaves whole domains
to later jobs. Children with attracting pods come before all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from koordpy.plan.topology.attraction import Attraction
from koordpy.state.arrays import Ints
from koordpy.state.natural import natural
from koordpy.state.pods import PodRecord
from koordpy.state.topology import Level


def by_rank(members: Sequence[PodRecord]) -> list[PodRecord]:
    """Members with a `network-topology-index` by that index, then the others by name."""
    return sorted(
        members,
        key=lambda m: (m.index is None, m.index or 0, m.namespace, natural(m.name)),
    )


class Tree:
    """The slots of one shape, summed up the tree, and rounded down to `podCountMultiple` where a layer has one."""

    def __init__(
        self, levels: tuple[Level, ...], slots: Ints, multiples: dict[int, int], attraction: Attraction | None = None
    ) -> None:
        """`slots`, `[N]`; `multiples` by level."""
        self._levels, self._multiples, self._attraction = levels, multiples, attraction
        self.sums: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(levels)  # per level [D]
        self.sums[-1] = self._rounded(len(levels) - 1, slots)
        for i in range(len(levels) - 2, -1, -1):
            below, parents = self.sums[i + 1], levels[i + 1].parents
            inside = parents >= 0
            size = len(levels[i].names)
            total = np.bincount(parents[inside], weights=below[inside], minlength=size).astype(np.int64)
            self.sums[i] = self._rounded(i, total)

    def rows(self, level: int, domain: int, wanted: int) -> list[int]:
        """`wanted` node rows inside a domain, the same row as often as it gets members; fewer if they do not fit."""
        wanted = min(wanted, int(self.sums[level][domain]))
        wanted -= wanted % self._multiples.get(level, 1)
        if level == len(self._levels) - 1:
            return [domain] * wanted
        found: list[int] = []
        for child in self._in_order(level + 1, domain, wanted):
            if len(found) >= wanted:
                break
            found += self.rows(level + 1, child, wanted - len(found))
        return found

    def order(self, level: int, domain: int) -> list[int]:
        """All node rows of a domain, subdomain by subdomain, those with the most slots first."""
        if level == len(self._levels) - 1:
            return [domain]
        children = np.flatnonzero(self._levels[level + 1].parents == domain).tolist()
        ranked = sorted(children, key=lambda child: self._rank(level + 1, child))
        return [row for child in ranked for row in self.order(level + 1, child)]

    def _in_order(self, level: int, parent: int, wanted: int) -> list[int]:
        """Child domains to fill one after another; the last is the smallest that holds the remaining members."""
        sums = self.sums[level]
        children = [c for c in np.flatnonzero(self._levels[level].parents == parent).tolist() if sums[c] > 0]
        children.sort(key=lambda child: self._rank(level, child))
        chosen: list[int] = []
        for i, child in enumerate(children):
            if sums[child] >= wanted:
                enough = [other for other in children[i:] if sums[other] >= wanted]
                return [*chosen, min(enough, key=lambda other: (-self._attracting(level, other), int(sums[other])))]
            chosen.append(child)
            wanted -= int(sums[child])
        return chosen

    def _rank(self, level: int, domain: int) -> tuple[Any, ...]:
        name = natural(self._levels[level].names[domain])
        return -self._attracting(level, domain), -int(self.sums[level][domain]), name

    def _attracting(self, level: int, domain: int) -> int:
        return self._attraction.at(level, domain) if self._attraction is not None else 0

    def _rounded(self, level: int, values: Ints) -> Ints:
        """`[D]`: `values`, `[D]`, rounded down to the multiple of the level."""
        multiple = self._multiples.get(level, 1)
        return values - values % multiple if multiple > 1 else values
