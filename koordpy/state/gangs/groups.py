"""Which gangs start together: each may list others, and a group is whom one reaches by these lists.

Knows ids only; a gang that is listed need not exist.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

GangGroup = tuple[str, ...]  # ids of gangs that start together, sorted


class GangGroups:
    """Who lists whom. Most gangs list nobody, and cost nothing here."""

    def __init__(self) -> None:
        self._lists: dict[str, GangGroup] = {}  # gang -> others that it starts with, if any
        self._listed_by: defaultdict[str, set[str]] = defaultdict(set)
        self._found: dict[str, GangGroup] = {}  # what `of` has found out

    def of(self, gang_id: str) -> GangGroup:
        """The gang, those that it lists, those that they list, and so on.

        Lists may be one-sided: if only b lists a, then b waits for a, and a for nobody.
        """
        if gang_id not in self._lists:
            return (gang_id,)
        known = self._found.get(gang_id)
        if known is None:
            known = self._found[gang_id] = tuple(sorted(_reachable(gang_id, self._lists)))
        return known

    def reached_by(self, gang_id: str) -> set[GangGroup]:
        """Every group that the gang is in: of its own, and of those that list it."""
        if gang_id not in self._listed_by:
            return {self.of(gang_id)}
        return {self.of(each) for each in _reachable(gang_id, self._listed_by)}

    def lists(self, gang_id: str) -> GangGroup:
        """The others that a gang names itself."""
        return self._lists.get(gang_id, ())

    def relist(self, gang_id: str, others: GangGroup) -> None:
        """A gang names others from now on, instead of those that it named before."""
        for each in self._lists.pop(gang_id, ()):
            self._listed_by[each].discard(gang_id)
            if not self._listed_by[each]:
                del self._listed_by[each]
        for each in others:
            self._listed_by[each].add(gang_id)
        if others:
            self._lists[gang_id] = others
        self._found.clear()


def _reachable(start: str, edges: Mapping[str, Collection[str]]) -> set[str]:
    seen, ahead = {start}, [start]
    while ahead:
        for each in edges.get(ahead.pop(), ()):
            if each not in seen:
                seen.add(each)
                ahead.append(each)
    return seen
