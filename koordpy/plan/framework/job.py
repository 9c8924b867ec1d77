"""The job: the unit of planning, a single pod or a group of gangs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from koordpy.api.gangs import Mode
from koordpy.api.podgroup.frontends import name_of, names_of
from koordpy.state.eviction import Preemptor
from koordpy.state.pods import PodRecord

ANY = "*"  # no subgroup has this name


@dataclass(frozen=True, slots=True)
class Demand:
    """How many members one gang still needs, and its pending members."""

    gang: str  # its id
    minimum: int
    counted: int  # members that count towards the minimum already
    mode: Mode
    members: tuple[PodRecord, ...]  # pending
    subgroup: str = ""  # the part of the gang that is meant, if it has parts; ANY: what it needs beyond them
    optional: bool = False  # the gang starts without this part, which starts whole or not at all

    @property
    def needed(self) -> int:
        """Members to place before the gang is complete; members beyond that are surplus."""
        return 0 if self.optional else self.lacking

    @property
    def lacking(self) -> int:
        """Members to place before this part of the gang is complete."""
        return max(0, self.minimum - self.counted)

    @property
    def key(self) -> str:
        """Tells the demands of a job apart."""
        return f"{self.gang}#{self.subgroup}" if self.subgroup else self.gang

    @property
    def title(self) -> str:
        """The name in messages."""
        name = name_of(self.gang)
        return f"gang {name}, subgroup {self.subgroup}" if self.subgroup not in ("", ANY) else f"gang {name}"

    def may_have(self, member: PodRecord) -> bool:
        """Whether a member of the gang that is not pending would be one of this demand."""
        return member.gang == self.gang and self.subgroup in ("", member.subgroup)


@dataclass(frozen=True, slots=True)
class Job:
    """Pods that are planned as a whole; a single pod is a job of one."""

    key: str
    members: tuple[PodRecord, ...]
    demands: tuple[Demand, ...] = ()  # none for a single pod
    queue: str = ""  # that it is in; "": outside
    claim: str = ""  # on what it takes from others; "": on any that its queue has
    by_uid: Mapping[str, PodRecord] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_uid", {member.uid: member for member in self.members})

    @property
    def name(self) -> str:
        """The name in messages: the ids of its gangs, or the pod's namespace and name."""
        return names_of(self.key) if self.demands else self.members[0].key

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
        lowest = min((member.priority for member in self.members), default=0)
        return Preemptor(lowest, self.queue, self.claim)
