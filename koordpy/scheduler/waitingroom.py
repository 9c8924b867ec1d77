"""The waiting room: members that are reserved and wait at Permit for the rest of their gangs.

Only gangs that may accumulate (`NonStrict`) ever wait here; all others are placed as a whole or not at all. What waits
holds room in the cluster state and is known to nobody else: after a restart it is simply pending again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from koordpy.scheduler.execute.inflight import InFlight
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
    until_wall: float  # the same, as users are told
    uids: set[str] = field(default_factory=set)


class WaitingRoom:
    """Who waits, since when, and until when. A stay is over when none of its members waits any more."""

    def __init__(
        self, cluster: Cluster, in_flight: InFlight, clock: Callable[[], float], wall: Callable[[], float]
    ) -> None:
        self._cluster, self._in_flight, self._clock, self._wall = cluster, in_flight, clock, wall
        self._stays: dict[str, Stay] = {}

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Stay]:
        return iter([stay for stay in self._stays.values() if self._still_waiting(stay)])

    def get(self, key: str) -> Stay | None:
        stay = self._stays.get(key)
        return stay if stay is not None and self._still_waiting(stay) else None

    def members(self, key: str) -> list[PodRecord]:
        """Those that still wait: others were deleted meanwhile, or lost their place."""
        stay = self._stays.get(key)
        return self._still_waiting(stay) if stay is not None else []

    def enter(self, key: str, group: GangGroup, uids: list[str], wait_s: float) -> None:
        """These members wait. The time of a group runs from its first member on."""
        now = self._clock()
        stay = self.get(key)
        if stay is None:
            stay = self._stays[key] = Stay(key, group, now, now + wait_s, self._wall() + wait_s)
        stay.uids.update(uids)
        for uid in uids:
            self._cluster.gangs.wait(self._cluster.pods[uid])

    def leave(self, key: str) -> list[PodRecord]:
        """All of a group leave, to be bound or to be unreserved."""
        members = self.members(key)
        self._stays.pop(key, None)
        for record in members:
            self._cluster.gangs.wait_no_more(record)
        return members

    def prune(self) -> bool:
        """Forget stays that are over, and members that wait no more; says whether a stay was over."""
        for stay in self._stays.values():
            stay.uids = {record.uid for record in self._still_waiting(stay)}
        over = [key for key, stay in self._stays.items() if not stay.uids]
        for key in over:
            del self._stays[key]
        return bool(over)

    def overdue(self) -> list[Stay]:
        """Those whose time is up."""
        now = self._clock()
        return [stay for stay in self if stay.until <= now]

    def seconds_to_next(self) -> float | None:
        """Until some group's time is up; None when nobody waits."""
        first = min((stay.until for stay in self), default=None)
        return max(0.0, first - self._clock()) if first is not None else None

    def clear(self) -> None:
        for key in list(self._stays):
            self.leave(key)

    def _still_waiting(self, stay: Stay) -> list[PodRecord]:
        """Those that still hold their places; also one that has left its gang since, until somebody unreserves it."""
        found = (self._cluster.pods.get(uid) for uid in sorted(stay.uids) if uid not in self._in_flight)
        return [record for record in found if record is not None and record.node and not record.bound]
