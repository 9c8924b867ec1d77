"""Jobs as users know them: a workload, a gang's object or a pod by name; pending, running or neither.

A job of the queue is a ticket, and exists only while something of it is pending. A user asks about a name. A subject is
what stands behind it: a group of gangs that start together, or a pod by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from koordpy.api.answers import JobType
from koordpy.scheduler.jobs import key_of
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord


@dataclass(frozen=True, slots=True)
class Subject:
    """A group of gangs, or one pod."""

    group: GangGroup = ()
    pod: PodRecord | None = None
    gangs: tuple[Gang, ...] = ()  # those of the group that are there, the oldest first

    @property
    def key(self) -> str:
        """Of its ticket, should it have one."""
        return self.pod.uid if self.pod is not None else key_of(self.group)

    @property
    def type(self) -> JobType:
        if self.pod is not None:
            return "Pod"
        return "Gang" if len(self.group) == 1 else "GangGroup"

    @property
    def name(self) -> str:
        """`namespace/name`, after the workload that was grouped, else the gang's object, else the pod."""
        if self.pod is not None:
            return self.pod.key
        first = self.gangs[0]
        if first.object is not None and first.object.workload:
            return f"{first.object.namespace}/{first.object.workload}"
        return first.name

    @property
    def gang_names(self) -> list[str]:
        if self.pod is not None:
            return [self.pod.gang.partition("@")[0]] if self.pod.gang else []
        return [gang.name for gang in self.gangs]

    @property
    def members(self) -> Iterator[PodRecord]:
        """Everybody who is not finished."""
        if self.pod is not None:
            yield self.pod
        for gang in self.gangs:
            yield from gang.all_live()

    @property
    def priority(self) -> int:
        """The one that orders it; of a job that runs, the highest of its members."""
        if self.pod is not None:
            return self.pod.priority
        pending = [gang.order_priority for gang in self.gangs if gang.pending or gang.assumed]
        bound = (member.priority for gang in self.gangs for member in gang.bound.values())
        return max(pending) if pending else max(bound, default=0)

    @property
    def queue(self) -> str | None:
        return next((member.queue for member in self.members if not member.terminating), "") or None


def of_gang(gang_id: str, cluster: Cluster) -> Subject | None:
    """The job of a gang."""
    group = cluster.gangs.group_of(gang_id)
    gangs = sorted(cluster.gangs.own(group), key=lambda gang: (gang.created, gang.id))
    return Subject(group, gangs=tuple(gangs)) if gangs else None


def of_pod(record: PodRecord, cluster: Cluster) -> Subject:
    """The job of a pod: that of its gang, unless it is pending and its gang needs it no more."""
    is_alone = not record.gang or (record.schedulable and cluster.gangs.is_free(record))
    found = None if is_alone else of_gang(record.gang, cluster)
    return found or Subject(pod=record)


def find(namespace: str, name: str, cluster: Cluster) -> Subject | None:
    """By the name of a workload, then of a gang's object, then of a pod."""
    key = f"{namespace}/{name}"
    gangs = sorted(cluster.gangs, key=lambda gang: (gang.created, gang.id))
    for gang in gangs:
        obj = gang.object
        if obj is not None and obj.workload == name and obj.namespace == namespace:
            return of_gang(gang.id, cluster)
    for gang in gangs:
        if gang.name == key and not (gang.is_gone or (not gang.objects and not any(gang.all_live()))):
            return of_gang(gang.id, cluster)
    record = next((each for each in cluster.pods.values() if each.key == key), None)
    return of_pod(record, cluster) if record is not None else None


def pending(cluster: Cluster, schedulers: frozenset[str]) -> dict[str, Subject]:
    """Every job of ours of which something is pending, by key."""
    found: dict[str, Subject] = {}
    seen: set[str] = set()
    for record in cluster.pods.values():
        if record.bound or record.terminating or record.scheduler not in schedulers or record.gang in seen:
            continue
        if record.node and not cluster.gangs.is_waiting(record):
            continue  # its bind is in flight
        subject = of_pod(record, cluster)
        found.setdefault(subject.key, subject)
        if subject.pod is None:
            seen.update(subject.group)
    return found
