"""The job: what is planned at once."""

from __future__ import annotations

from dataclasses import dataclass

from koordpy.cluster.pods import PodRecord


@dataclass(frozen=True, slots=True)
class Job:
    """Pods that start together or not at all; a single pod is a job of one."""

    key: str
    members: tuple[PodRecord, ...]

    @property
    def priority(self) -> int:
        return max(member.priority for member in self.members)
