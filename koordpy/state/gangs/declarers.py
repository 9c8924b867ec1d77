"""Members that declare the same about their gang, and which of them is the oldest: its word counts."""

from __future__ import annotations

import heapq

from koordpy.state.pods import PodRecord


class Declarers:
    """Members that declare the same, and which of them is the oldest."""

    __slots__ = ("_ages", "_members")

    def __init__(self) -> None:
        self._members: dict[str, PodRecord] = {}
        self._ages: list[tuple[float, str, str]] = []  # a heap; those that are gone fall out at the top

    def __bool__(self) -> bool:
        return bool(self._members)

    @property
    def oldest(self) -> PodRecord:
        while self._ages[0][-1] not in self._members:
            heapq.heappop(self._ages)
        return self._members[self._ages[0][-1]]

    def add(self, member: PodRecord) -> bool:
        """Says whether it is the oldest now."""
        if member.uid not in self._members:
            heapq.heappush(self._ages, (*by_age(member), member.uid))
        self._members[member.uid] = member
        if len(self._ages) > 2 * len(self._members) + 8:  # most of it is gone, behind an old one that stays
            self._ages = sorted((*by_age(each), each.uid) for each in self._members.values())
        return self.oldest is member

    def remove(self, member: PodRecord) -> bool:
        """Says whether it was the oldest."""
        was_oldest = self.oldest.uid == member.uid
        del self._members[member.uid]
        return was_oldest


def by_age(member: PodRecord) -> tuple[float, str]:
    return member.created, member.name
