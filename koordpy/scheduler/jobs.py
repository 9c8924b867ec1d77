"""Which jobs there are: pods and gangs, turned into tickets of the queue and back into jobs to plan.

A pod has a ticket of its own if it belongs to no gang, or to one that needs it no more. All other members share the
ticket of their group of gangs. Members come and go by the thousand, so a change costs what changed and not the gang.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.placement.gang_rules import demands_of, is_ready
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Equivalence, Ticket
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape


class Jobs:
    """Keeps the queue's tickets in step with the picture."""

    def __init__(self, cluster: Cluster, queue: JobQueue, schedulers: Collection[str]) -> None:
        self._cluster, self._queue, self._schedulers = cluster, queue, schedulers
        cluster.gangs.schedulers = schedulers
        self._groups: dict[str, GangGroup] = {}  # by ticket
        self._freed: set[str] = set()  # gangs whose pending members have tickets of their own

    # --- into the queue ---

    def pod_changed(self, record: PodRecord) -> None:
        """A pod appeared or changed; what that means for its gang follows with the news."""
        if record.scheduler in self._schedulers and record.schedulable and self._cluster.gangs.is_free(record):
            self._add(record)
        else:
            self._queue.remove(record.uid)

    def pod_gone(self, uid: str) -> None:
        self._queue.remove(uid)

    def recheck_nominations(self, nodes: Collection[str]) -> None:
        """Something happened on these nodes: whoever was promised room there may have no use for it any more."""
        for record in list(self._cluster.nominated.values()):
            if record.nominated_node in nodes:
                free = self._cluster.gangs.is_free(record)
                self._queue.activate(record.uid if free else key_of(self._cluster.gangs.group_of(record.gang)))

    def recheck_waiting(self, node: str) -> None:
        """Something happened to this node: members that wait there for the rest may have to give their place up."""
        for record in list(self._cluster.gangs.all_waiting()):
            if record.node == node:
                self.refresh(self._cluster.gangs.group_of(record.gang))

    def sync(self) -> None:
        """Something happened to gangs: bring their tickets up to date."""
        news = self._cluster.gangs.news
        while news:
            self.refresh(news.pop())

    def refresh(self, group: GangGroup) -> None:
        """One ticket for what is still tied together, one for each pod that is free."""
        gangs = self._cluster.gangs.own(group)
        self._freed.difference_update(each for each in group if self._cluster.gangs.get(each) is None)
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
            priority=max(gang.priority for gang in tied or gangs),
            created=min(gang.created for gang in gangs),
            pods=pending + waiting,
            ready=bool(waiting) or is_ready(group, self._cluster),
        )

    def refresh_all(self) -> None:
        """Every pending pod and gang of ours gets its place, as at the beginning of leadership."""
        for record in self._cluster.pods.values():
            self.pod_changed(record)
        for gang in self._cluster.gangs:
            self.refresh(self._cluster.gangs.group_of(gang.id))
        self._cluster.gangs.news.clear()

    def finish_half_bound(self) -> None:
        """Whoever led before us died while binding a group: what it lacks goes before everything else."""
        gangs = self._cluster.gangs
        for gang in gangs:
            gang.recovering = gangs.has_started(gangs.group_of(gang.id)) and not gang.is_bound
        for gang in [each for each in gangs if each.recovering]:
            group = gangs.group_of(gang.id)
            self.refresh(group)  # it may be ready only now that those count who are bound
            self._queue.move_to_front(key_of(group))
            lacking = gang.minimum - len(gang.bound) - len(gang.succeeded)
            oldest = sorted(gang.pending.values(), key=lambda member: (member.created, member.name))
            for member in oldest[:lacking]:
                self._queue.move_to_front(member.uid)

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
        self.refresh(group)
        self._queue.back_off(key)

    def _add(self, record: PodRecord) -> None:
        alike = equivalence_of_pod(record)
        self._queue.add(record.uid, alike, name=record.key, priority=record.priority, created=record.created)

    def _free(self, gang: Gang) -> None:
        if gang.id not in self._freed:  # those that come later come one by one
            self._freed.add(gang.id)
            for record in gang.pending.values():
                self._add(record)

    def _tie(self, gang: Gang) -> None:
        if gang.id in self._freed:
            self._freed.discard(gang.id)
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
            return Job(ticket.key, members, demands) if demands else None
        record = self._cluster.pods.get(ticket.key)
        if record is None or not record.schedulable:
            return None
        return Job(ticket.key, (record,))


def key_of(group: GangGroup) -> str:
    """The name of a group, as Koordinator has it."""
    return ",".join(group)


def equivalence_of_pod(record: PodRecord) -> Equivalence:
    """What a pod has in common with those that get the same answer."""
    wants = ((record.shape, 1),) if record.shape is not None else ()
    return Equivalence(wants, record.scheduler, record.uid if record.nominated_node else record.preempts)


def equivalence_of(job: Job, cluster: Cluster) -> Equivalence:
    """What gangs have in common with those that get the same answer: the same demands, and nothing held so far.

    One that is not even ready gets an answer of its own. Were it the newest of its kind to be refused, the others would
    be thought beyond cure as well.
    """
    wants: Counter[Shape] = Counter()
    group = cluster.gangs.group_of(job.demands[0].gang)
    apart: list[object] = [] if is_ready(group, cluster) else [job.key]
    for demand in job.demands:
        gang = cluster.gangs.get(demand.gang)
        shapes = Counter(member.shape for member in demand.members)
        for shape, count in shapes.items():
            others = len(demand.members) - count
            if shape is not None and demand.mode == "NonStrict":
                wants[shape] += 1  # it keeps whatever it can place, also of those it could do without
            elif shape is not None and demand.needed > others:
                wants[shape] += demand.needed - others
        spec = gang.spec if gang is not None else None
        apart.append(
            (
                demand.needed,
                demand.mode,
                frozenset(shapes.items()),
                all(m.preempts for m in demand.members),
                spec and (spec.min_resources, spec.topology),
            )
        )
        if gang is not None and (_has_room_of_its_own(gang) or any(each.nominated_node for each in demand.members)):
            apart.append(job.key)
    if not wants:  # any one of them would do
        wants = Counter({member.shape: 1 for member in job.members if member.shape is not None})
    return Equivalence(tuple(wants.items()), _scheduler(job.demands), tuple(apart))


def _has_room_of_its_own(gang: Gang) -> bool:
    """What it holds counts for it alone: at Permit, and against its `minResources`."""
    return bool(gang.waiting) or (bool(gang.spec.min_resources) and bool(gang.assumed or gang.bound))


def _scheduler(demands: tuple[Demand, ...]) -> str:
    return ",".join(sorted({member.scheduler for demand in demands for member in demand.members}))
