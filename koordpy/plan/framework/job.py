"""The job: what is planned at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from koordpy.api.gangs import Mode
from koordpy.state.eviction import Preemptor
from koordpy.state.pods import PodRecord


@dataclass(frozen=True, slots=True)
class Demand:
    """What one gang still needs, and the members it could have it from."""

    gang: str  # namespace/name
    minimum: int
    counted: int  # members that are there already
    mode: Mode
    members: tuple[PodRecord, ...]  # pending

    @property
    def needed(self) -> int:
        """Members to place before the gang is complete; what is placed beyond that is surplus."""
        return max(0, self.minimum - self.counted)


@dataclass(frozen=True, slots=True)
class Job:
    """Pods that start together or not at all; a single pod is a job of one."""

    key: str
    members: tuple[PodRecord, ...]
    demands: tuple[Demand, ...] = ()  # none for a single pod
    by_uid: Mapping[str, PodRecord] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_uid", {member.uid: member for member in self.members})

    @property
    def name(self) -> str:
        """As users know it: the ids of its gangs, or the pod's namespace and name."""
        return self.key if self.demands else self.members[0].key

    @property
    def priority(self) -> int:
        return max((member.priority for member in self.members), default=0)

    @property
    def preemptor(self) -> Preemptor:
        """As the eviction policy sees it: a victim must be less important than each member that it makes room for."""
        return Preemptor(min((member.priority for member in self.members), default=0))
