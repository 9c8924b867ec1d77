"""The rules of gathering, by brute force: every domain is asked in every way, on trees of a few nodes.

Written without koordpy's tree and without its filters: nodes are names with a place and free CPU, members sizes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

LAYERS = ("", "SpineLayer", "BlockLayer", "NodeTopologyLayer")  # level 0 is the cluster
Domain = tuple[int, tuple[str, ...]]  # level, and the names from the top down


class Spot(NamedTuple):
    """A node: `place` is `spine/block`, either of which may be missing."""

    name: str
    place: str
    free: int

    def path(self, level: int) -> tuple[str, ...]:
        spine, _, block = self.place.partition("/")
        return ((), (spine,), (spine, block or self.name), (spine, block or self.name, self.name))[level]

    def is_named(self, level: int) -> bool:
        """A node without the label of a spine lies in a domain that nobody gathers in."""
        return level != 1 or bool(self.path(1)[0])


@dataclass(frozen=True)
class Network:
    """Nodes, and what a job asks of the layers that they are in."""

    spots: tuple[Spot, ...]
    musts: frozenset[int] = frozenset()
    multiples: dict[int, int] = field(default_factory=dict)

    def domains(self) -> dict[Domain, tuple[Spot, ...]]:
        """Those that may be gathered in."""
        found: defaultdict[Domain, list[Spot]] = defaultdict(list)
        for level in range(max(self.musts, default=0), len(LAYERS)):
            for spot in self.spots:
                if spot.is_named(level) and all(spot.is_named(must) for must in self.musts):
                    found[level, spot.path(level)].append(spot)
        return {domain: tuple(spots) for domain, spots in found.items()}

    def holding(self, sizes: tuple[int, ...]) -> dict[Domain, tuple[Spot, ...]]:
        """The domains that hold members of these sizes, in whatever way."""
        return {domain: spots for domain, spots in self.domains().items() if self._fits(spots, sizes)}

    def best(self, sizes: tuple[int, ...]) -> set[Domain]:
        """The deepest of them, and of its level the tightest, compared level by level upwards; several if equal."""
        holding = self.holding(sizes)
        deepest = max((level for level, _ in holding), default=None)
        equals = {domain: self._tightness(domain, sizes) for domain in holding if domain[0] == deepest}
        return {domain for domain, tightness in equals.items() if tightness == min(equals.values())}

    def keeps_multiples(self, used: Counter[Spot]) -> bool:
        for level, multiple in self.multiples.items():
            per_domain: Counter[tuple[str, ...]] = Counter()
            for spot, count in used.items():
                per_domain[spot.path(level)] += count
            if any(count % multiple for count in per_domain.values()):
                return False
        return True

    def _tightness(self, domain: Domain, sizes: tuple[int, ...]) -> tuple[int, ...]:
        level, path = domain
        return tuple(self._offered(each, path[:each], sizes) for each in range(level, 0, -1))

    def _offered(self, level: int, path: tuple[str, ...], sizes: tuple[int, ...]) -> int:
        """Slots for each of the sizes, together; of one size, rounded down to the multiples on the way up."""
        inside = [spot for spot in self.spots if spot.path(level) == path]
        kinds = set(sizes)
        if len(kinds) > 1 or not self.multiples:
            return sum(spot.free // size for spot in inside for size in kinds)
        (size,) = kinds
        sums = {spot.path(3): spot.free // size for spot in inside}
        for each in range(3, level - 1, -1):
            above: Counter[tuple[str, ...]] = Counter()
            for below, slots in sums.items():
                above[below[:each]] += slots
            sums = {name: slots - slots % self.multiples.get(each, 1) for name, slots in above.items()}
        return sum(sums.values())

    def _fits(self, spots: tuple[Spot, ...], sizes: tuple[int, ...]) -> bool:
        return any(True for _ in self._ways(spots, sizes))

    def _ways(self, spots: tuple[Spot, ...], sizes: tuple[int, ...]) -> Iterator[Counter[Spot]]:
        """How many members each node may get so that all have a place, by trying."""
        for counts in _packings(tuple(spot.free for spot in spots), tuple(sorted(sizes, reverse=True))):
            used = Counter({spot: count for spot, count in zip(spots, counts, strict=True) if count})
            if self.keeps_multiples(used):
                yield used


@lru_cache(maxsize=200_000)
def _packings(free: tuple[int, ...], sizes: tuple[int, ...]) -> frozenset[tuple[int, ...]]:
    """Every way to put members of these sizes, the largest first, on nodes with so much free: how many on each."""
    if not sizes:
        return frozenset(((0,) * len(free),))
    found = set()
    for i, has in enumerate(free):
        if has >= sizes[0]:
            left = (*free[:i], has - sizes[0], *free[i + 1 :])
            for counts in _packings(left, sizes[1:]):
                found.add((*counts[:i], counts[i] + 1, *counts[i + 1 :]))
    return frozenset(found)
