"""The waiting room: members that are reserved and wait at Permit for the rest of their gangs.

Only gangs that may accumulate (`NonStrict`) ever wait here; all others are placed as a whole or not at all. What waits
holds room in the picture and is known to nobody else: after a restart it is simply pending again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from koordpy.state.cluster import Cluster
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord


@dataclass(slots=True)
class Stay:
    """One group of gangs in the room."""

    key: str
    group: GangGroup
    since: float
    until: float
    uids: set[str] = field(default_factory=set)


class WaitingRoom:
    """Who waits, since when, and until when."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster, self._clock = cluster, clock
        self._stays: dict[str, Stay] = {}

    def __len__(self) -> int:
        return len(self._stays)

    def __iter__(self) -> Iterator[Stay]:
        return iter(list(self._stays.values()))

    def get(self, key: str) -> Stay | None:
        return self._stays.get(key)

    def enter(self, key: str, group: GangGroup, uids: list[str], wait_s: float) -> None:
        """These members wait. The time of a group runs from its first member on."""
        self.members(key)  # if they are all gone, these are the first again
        now = self._clock()
        stay = self._stays.setdefault(key, Stay(key, group, now, now + wait_s))
        stay.uids.update(uids)
        for uid in uids:
            self._cluster.gangs.wait(self._cluster.pods[uid])

    def members(self, key: str) -> list[PodRecord]:
        """Those that still wait: they may have been deleted meanwhile, or lost their place. The last one ends the stay.

        Whoever is not found here once is forgotten: should it get a place again, that is another stay.
        """
        stay = self._stays.get(key)
        if stay is None:
            return []
        found = (self._cluster.pods.get(uid) for uid in sorted(stay.uids))
        still = [record for record in found if record is not None and record.node and not record.bound]
        stay.uids = {record.uid for record in still}
        if not still:
            del self._stays[key]
        return still

    def leave(self, key: str) -> list[PodRecord]:
        """All of a group leave, to be bound or to be forgotten."""
        members = self.members(key)
        self._stays.pop(key, None)
        for record in members:
            gang = self._cluster.gangs.get(record.gang)
            if gang is not None:
                gang.waiting.discard(record.uid)
        return members

    def overdue(self) -> list[Stay]:
        """Those whose time is up."""
        now = self._clock()
        return [stay for stay in self if stay.until <= now and self.members(stay.key)]

    def seconds_to_next(self) -> float | None:
        """Until somebody's time is up; None when nobody waits."""
        if not self._stays:
            return None
        return max(0.0, min(stay.until for stay in self._stays.values()) - self._clock())

    def clear(self) -> None:
        for key in list(self._stays):
            self.leave(key)
