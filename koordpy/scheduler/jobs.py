"""Which jobs there are: pods and gangs, turned into tickets of the queue and back into jobs to plan.

A pod has a ticket of its own if it belongs to no gang, or to one that needs it no more. All other members share the
ticket of their group of gangs. Members come and go by the thousand, so a change costs what changed and not the gang.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gang_rules import demands_of, demands_of_gang, is_ready, not_ready
from koordpy.scheduler.equivalence import equivalence_of, equivalence_of_pod
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord


class Jobs:
    """Keeps the queue's tickets in step with the cluster state."""

    def __init__(self, cluster: Cluster, queue: JobQueue, schedulers: Collection[str]) -> None:
        self._cluster, self._queue, self._schedulers = cluster, queue, schedulers
        self._groups: dict[str, GangGroup] = {}  # by ticket
        self._freed: set[str] = set()  # gangs whose pending members have tickets of their own
        self._completing: set[str] = set()  # of those: gangs that lack members, and hold nodes meanwhile

    # --- into the queue ---

    def pod_changed(self, record: PodRecord) -> None:
        """A pod appeared or changed; what that means for its gang follows with the change log."""
        if record.scheduler in self._schedulers and record.schedulable and self._is_alone(record):
            self._add(record)
        else:
            self._queue.remove(record.uid)

    def _is_alone(self, record: PodRecord) -> bool:
        """It has a ticket of its own: a pod that is free, or one that its gang has no place for, to be told so."""
        return self._cluster.gangs.is_free(record) or self._cluster.gangs.is_stray(record)

    def regroup(self, uids: Iterable[str]) -> None:
        """Pods belong to another gang than before, or to none."""
        for uid in uids:
            record = self._cluster.pods.get(uid)
            if record is not None:
                self.pod_changed(record)

    def pod_gone(self, uid: str) -> None:
        self._queue.remove(uid)

    def reclassify(self, reshaped: Iterable[str]) -> None:
        """Pods were given other shapes because a selector asks for a label of theirs. No job fits because of that.

        But jobs that were equivalent may be so no more: they go on waiting, each in its own class.
        """
        groups: set[GangGroup] = set()
        for uid in reshaped:
            record = self._cluster.pods.get(uid)
            if record is None or record.scheduler not in self._schedulers or not record.schedulable:
                continue
            if self._cluster.gangs.is_free(record):
                self._queue.reclassify(uid, equivalence_of_pod(record))
            else:
                groups.add(self._cluster.gangs.group_of(record.gang))
        for group in groups:
            ticket = self._queue.get(key_of(group))
            job = self.job_of(ticket) if ticket is not None else None
            if ticket is not None and job is not None:
                anywhere = ticket.equivalence.anywhere
                self._queue.reclassify(ticket.key, equivalence_of(job, self._cluster)._replace(anywhere=anywhere))

    def recheck_nominations(self, nodes: Collection[str]) -> None:
        """Something happened on these nodes: pods that are nominated there may have no use for it any more."""
        for node in nodes if len(self._cluster.nominations) else ():
            for nomination in self._cluster.nominations.on(node):
                record = nomination.pod
                free = self._cluster.gangs.is_free(record)
                self._queue.activate(record.uid if free else key_of(self._cluster.gangs.group_of(record.gang)))

    def recheck_waiting(self, node: str) -> None:
        """Something happened to this node: members that wait there at Permit may have to give their place up."""
        for record in list(self._cluster.gangs.all_waiting()):
            if record.node == node:
                self.refresh_group(self._cluster.gangs.group_of(record.gang))

    def recheck_all_waiting(self) -> None:
        """Nodes left, shrank or are closed: a group that waits may never be whole any more, and gives way then."""
        for group in {self._cluster.gangs.group_of(record.gang) for record in self._cluster.gangs.all_waiting()}:
            self.refresh_group(group)

    def recheck_min_resources(self) -> None:
        """Room was taken: a group that waits at Permit and whose `minResources` are not covered any more gives way."""
        for group in {self._cluster.gangs.group_of(record.gang) for record in self._cluster.gangs.all_waiting()}:
            gangs = self._cluster.gangs.own(group)
            if any(gang.spec.min_resources for gang in gangs) and not_ready(group, self._cluster, "") is not None:
                self.refresh_group(group)

    def refresh(self, groups: Iterable[GangGroup]) -> None:
        """Something happened to groups of gangs: bring their tickets up to date."""
        for group in groups:
            self.refresh_group(group)

    def refresh_group(self, group: GangGroup) -> None:
        """One ticket for what is still tied together, one for each pod that is free."""
        gangs = self._cluster.gangs.own(group)
        gone = [each for each in group if self._cluster.gangs.get(each) is None]
        self._freed.difference_update(gone)
        self._completing.difference_update(gone)
        started = any(gang.started for gang in gangs)
        tied = [gang for gang in gangs if not (started and gang.spec.match_policy == "once-satisfied")]
        for gang in gangs:
            self._free(gang) if gang not in tied else self._tie(gang)
        pending = sum(len(gang.pending) for gang in tied)
        waiting = sum(len(gang.waiting) for gang in gangs)  # also of those that are free by now, and wait for nothing
        key = key_of(group)
        if not pending and not waiting:
            self._groups.pop(key, None)
            self._queue.remove(key)
            return
        self._groups[key] = group
        self._queue.update(
            key,
            priority=max(gang.order_priority for gang in tied or gangs),
            preempts_at=max(gang.priority for gang in tied or gangs),
            created=min(gang.created for gang in gangs),
            pods=pending + waiting,
            ready=bool(waiting) or is_ready(group, self._cluster),
            completing=any(gang.lacks_members for gang in tied),
            queue=_queue_of(tied or gangs),
        )

    def refresh_all(self) -> None:
        """Every pending pod and gang of ours gets its place, as at the beginning of leadership."""
        for ticket in self._queue:
            if ticket.key not in self._groups and ticket.key not in self._cluster.pods:
                self._queue.remove(ticket.key)
        self._freed.clear()
        self._completing.clear()
        for record in self._cluster.pods.values():
            self.pod_changed(record)
        now = {self._cluster.gangs.group_of(gang.id) for gang in self._cluster.gangs}
        self.refresh(sorted(now.union(self._groups.values())))  # those that are no more lose their tickets

    def finish_half_bound(self) -> None:
        """The leader before us died while binding a group: what it lacks goes before everything else."""
        gangs = self._cluster.gangs
        for gang in gangs:
            gang.found(started=gangs.has_started(gangs.group_of(gang.id)))
        for gang in [each for each in gangs if each.recovering]:
            self.refresh_group(gangs.group_of(gang.id))  # it may be ready only now that those count who are bound
            for key in self._tickets_lacking(gang):
                self._queue.move_to_front(key)

    def _tickets_lacking(self, gang: Gang) -> list[str]:
        """Of a half-bound gang: the tickets of the members that it lacks, or of its group while they are tied to it."""
        oldest = sorted(gang.pending.values(), key=lambda member: (member.created, member.name))
        if not oldest:
            return []  # what it lacks does not exist, and others of its group would go first in its name
        if not self._cluster.gangs.is_free(oldest[0]):
            group = self._cluster.gangs.group_of(gang.id)
            return [key_of(group)] if is_ready(group, self._cluster) else []
        if gang.spec.subgroups is not None:  # of 3 workers and no master it lacks the master, though 3 are enough
            return [member.uid for demand in demands_of_gang(gang) for member in demand.members[: demand.needed]]
        return [member.uid for member in oldest[: gang.minimum - len(gang.bound) - len(gang.succeeded)]]

    def give_back(self, record: PodRecord, ticket: Ticket) -> None:
        """A pod was not bound after all: it is tried again after a back-off, with its gang if that still waits."""
        if record.gang and not self._cluster.gangs.is_free(record):
            self._give_back_to(self._cluster.gangs.group_of(record.gang), ticket)
            return
        if ticket.key != record.uid:
            ticket = Ticket(
                record.uid, record.key, record.priority, equivalence_of_pod(record), record.created, ticket.first_seen
            )
        self._queue.retry(ticket, equivalence_of_pod(record))

    def _give_back_to(self, group: GangGroup, ticket: Ticket) -> None:
        """Meanwhile the group may be another one, or have a ticket again for those that were left over."""
        key = key_of(group)
        if ticket.key == key:
            self._queue.retry(ticket)  # goes on counting its failures, if it is still the one
        self.refresh_group(group)
        self._queue.back_off(key)

    def _add(self, record: PodRecord) -> None:
        self._queue.add(
            record.uid,
            equivalence_of_pod(record),
            name=record.key,
            priority=record.priority,
            created=record.created,
            completing=bool(record.gang) and record.gang in self._completing,
        )

    def _free(self, gang: Gang) -> None:
        if gang.id in self._freed and (gang.id in self._completing) == gang.lacks_members:
            return  # those that come later come one by one
        self._freed.add(gang.id)
        self._completing.add(gang.id) if gang.lacks_members else self._completing.discard(gang.id)
        for record in gang.pending.values():
            self._add(record)

    def _tie(self, gang: Gang) -> None:
        if gang.id in self._freed:
            self._freed.discard(gang.id)
            self._completing.discard(gang.id)
            for uid in gang.pending:
                self._queue.remove(uid)

    # --- and out of it ---

    def group_of(self, ticket: Ticket) -> GangGroup:
        """The gangs behind a ticket; none for a pod's own."""
        return self._groups.get(ticket.key, ())

    def job_of(self, ticket: Ticket) -> Job | None:
        """The job behind a ticket, if there is still something to schedule."""
        group = self._groups.get(ticket.key)
        if group is not None:
            demands = demands_of(group, self._cluster)
            members = tuple(member for demand in demands for member in demand.members)
            return Job(ticket.key, members, demands, queue=ticket.queue) if demands else None
        record = self._cluster.pods.get(ticket.key)
        if record is None or not record.schedulable or not self._is_alone(record):
            return None  # also one whose gang had started when it came, and has not any more: it waits with the others
        return Job(ticket.key, (record,), queue=record.queue)


def _queue_of(gangs: Iterable[Gang]) -> str:
    """The queue of gangs that start together; should they name several, they are refused for that."""
    members = (record for gang in gangs for record in (*gang.pending.values(), *gang.assumed.values()))
    return next((record.queue for record in members), "")


def key_of(group: GangGroup) -> str:
    """The name of a group, as Koordinator has it."""
    return ",".join(group)
