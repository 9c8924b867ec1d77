"""Subgroups: the parts of a gang as a tree, and which of them have to be there for it to start.

A leaf has members and a minimum of them. A parent has children, and says how many of them have to start; the gang
itself says so of the subgroups without a parent. Usually that is all of them: of a JobSet whose jobs start in order it
is one, as the pods of the others are not made before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from koordpy.api.podgroup.gangobject import SubGroup

_TOP = ""


class SubGroups:
    """The subgroups of one gang."""

    def __init__(self, listed: tuple[SubGroup, ...], min_children: int | None = None) -> None:
        names = {each.name for each in listed}
        above = {each.name: each.parent if each.parent in names else _TOP for each in listed}
        self._children: defaultdict[str, list[str]] = defaultdict(list)
        for name, parent in above.items():
            self._children[_TOP if _is_its_own_ancestor(name, above) else parent].append(name)
        self.leaves = {each.name: each for each in listed if each.name not in self._children}
        self._min_children = {each.name: each.min_children for each in listed} | {_TOP: min_children}

    @property
    def least(self) -> int:
        """Members without which it cannot start, whichever of its subgroups do."""
        return self._least(_TOP)

    def chosen(self, is_there: Callable[[SubGroup], bool], may_come: Callable[[SubGroup], bool]) -> list[SubGroup]:
        """The leaves that it starts with: those that are there, then those that may come, then as they are listed."""
        return [self.leaves[name] for name in self._first(_TOP, is_there, may_come)]

    def _first(
        self, parent: str, is_there: Callable[[SubGroup], bool], may_come: Callable[[SubGroup], bool]
    ) -> Iterator[str]:
        """The leaves below a parent that have to start."""
        if parent in self.leaves:
            yield parent
            return
        below = [list(self._first(child, is_there, may_come)) for child in self._children[parent]]
        by_readiness = sorted(
            below, key=lambda names: tuple(not all(ask(self.leaves[n]) for n in names) for ask in (is_there, may_come))
        )
        for names in by_readiness[: self._needed(parent)]:
            yield from names

    def _least(self, parent: str) -> int:
        if parent in self.leaves:
            return self.leaves[parent].minimum
        below = sorted(self._least(child) for child in self._children[parent])
        return sum(below[: self._needed(parent)])

    def _needed(self, parent: str) -> int:
        """How many of its children have to start. More than there are: all of them."""
        said = self._min_children.get(parent)
        return len(self._children[parent]) if said is None else max(said, 0)


def _is_its_own_ancestor(name: str, above: dict[str, str]) -> bool:
    seen = set()
    while name and name not in seen:
        seen.add(name)
        name = above[name]
    return bool(name)
