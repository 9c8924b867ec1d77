"""The job: the unit of planning, a single pod or a group of gangs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from koordpy.api.gangs import Mode
from koordpy.state.eviction import Preemptor
from koordpy.state.pods import PodRecord


@dataclass(frozen=True, slots=True)
class Demand:
    """How many members one gang still needs, and its pending members."""

    gang: str  # namespace/name
    minimum: int
    counted: int  # members that count towards the minimum already
    mode: Mode
    members: tuple[PodRecord, ...]  # pending

    @property
    def needed(self) -> int:
        """Members to place before the gang is complete; members beyond that are surplus."""
        return max(0, self.minimum - self.counted)


@dataclass(frozen=True, slots=True)
class Job:
    """Pods that are planned as a whole; a single pod is a job of one."""

    key: str
    members: tuple[PodRecord, ...]
    demands: tuple[Demand, ...] = ()  # none for a single pod
    by_uid: Mapping[str, PodRecord] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_uid", {member.uid: member for member in self.members})

    @property
    def name(self) -> str:
        """The name in messages: the ids of its gangs, or the pod's namespace and name."""
        return self.key if self.demands else self.members[0].key

    @property
    def gangs(self) -> frozenset[str]:
        """Ids of the gangs that its members belong to."""
        return frozenset(member.gang for member in self.members if member.gang)

    @property
    def priority(self) -> int:
        return max((member.priority for member in self.members), default=0)

    @property
    def preemptor(self) -> Preemptor:
        """The job for the eviction policy, at its lowest priority: a victim is less important than every member."""
        return Preemptor(min((member.priority for member in self.members), default=0))
