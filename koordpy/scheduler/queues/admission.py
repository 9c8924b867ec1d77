"""Admission of a job to its queue, at PreFilter: the queue takes jobs, and limits and quotas leave room for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.quota.amounts import K
from koordpy.quota.limits import LIMIT, Obstacle, would_exceed
from koordpy.quota.membership import Names, Refused, queue_of
from koordpy.quota.usage import Change
from koordpy.scheduler.queues.book import QueueBook
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.pods import PodRecord

PLUGINS = frozenset(("Queues",))


class Admission:
    """Asks the book."""

    def __init__(self, book: QueueBook, cluster: Cluster) -> None:
        self._book, self._cluster = book, cluster

    def refusal(self, job: Job) -> Refusal | None:
        """Why the queue of a job takes no jobs, or there is none."""
        if not self._book.in_use or not job.members:
            return None
        found = queue_of(self._names(job), self._book.tree, self._book.default)
        if not isinstance(found, Refused):
            return None
        return Refusal(found.message, EventKind.QUEUES, job.members[0].uid, plugins=PLUGINS, kind=found.reason.value)

    def _names(self, job: Job) -> Iterator[tuple[str, Names]]:
        if not job.demands:
            yield job.members[0].key, Names(member_label=job.members[0].queue)
        for gang_id in dict.fromkeys(demand.gang for demand in job.demands):
            gang = self._cluster.gangs.get(gang_id)
            if gang is not None:
                yield gang.name, Names(spec=gang.spec.queue)

    def obstacle(self, job: Job, plan: Plan | None = None) -> Obstacle | None:
        """The limit or quota that the next step of a job would exceed; of a plan, what it really takes."""
        row = self._book.tree.rows.get(job.queue) if job.queue else None
        if row is None:
            return None
        members = needed_members(job) if plan is None else [job.by_uid[each.uid] for each in plan.placements]
        preemptible = all(member.preemptible for member in members)
        with self.with_nominated(job):
            return would_exceed(self._book.usage, row, self.amounts(members), preemptible=preemptible)

    def is_over_quota(self, job: Job) -> bool:
        """It is not preemptible, and some quota has no room for it, whatever becomes of limits."""
        row, members = self._book.tree.rows[job.queue], needed_members(job)
        if all(member.preemptible for member in members):
            return False
        path = self._book.tree.paths[row]
        request = self.amounts(members)
        over = self._book.usage.fixed[path] + request > self._book.tree.quota[path]
        return bool((over & (request > 0)).any())

    def amounts(self, members: Iterable[PodRecord]) -> Ints:
        """What members ask for together, `[K]`."""
        total: Ints = np.zeros(K, dtype=np.int64)
        for member in members:
            total += self._book.amounts(member.own_shape)
        return total

    @contextmanager
    def with_nominated(self, job: Job) -> Iterator[None]:
        """Other jobs of the queues wait for victims to leave: what they will have counts as theirs."""
        booked = []
        for nomination in self._cluster.nominations if len(self._cluster.nominations) else ():
            pod = nomination.pod
            row = self._book.tree.rows.get(pod.queue) if pod.queue else None
            if row is None or pod.node or pod.uid in job.by_uid or self._cluster.evictions.yields(pod, job.preemptor):
                continue
            booked.append(Change(row, self._book.amounts(pod.own_shape), pod.preemptible))
        with self._book.usage.supposing(booked):
            yield

    @contextmanager
    def with_changes(self, gone: Iterable[PodRecord], there: Iterable[PodRecord]) -> Iterator[None]:
        """As if some pods had left their queues, and others had been started."""
        rows = self._book.tree.rows
        changed = [(pod, -1) for pod in gone] + [(pod, 1) for pod in there] if self._book.in_use else []
        booked = [
            Change(rows[pod.queue], self._book.amounts(pod.own_shape) * sign, pod.preemptible)
            for pod, sign in changed
            if pod.queue in rows
        ]
        with self._book.usage.supposing(booked):
            yield


def at_limit(job: Job, obstacle: Obstacle) -> Refusal:
    """The refusal of a job that its queue has no room for: not now, or never."""
    text = obstacle.message + ("; it asks for more than that at once" if obstacle.never else "")
    kind = "QueueLimit" if obstacle.bound == LIMIT else "QueueQuota"
    return Refusal(f"{text}.", EventKind.QUEUES, job.members[0].uid, plugins=PLUGINS, kind=kind)


def needed_members(job: Job) -> list[PodRecord]:
    """The members of the next step: as many as the gangs need, or the first one of the surplus."""
    if not job.demands:
        return list(job.members)
    needed = [member for demand in job.demands for member in demand.members[: demand.needed]]
    return needed or list(job.members[:1])


def one_step(job: Job, plan: Plan) -> Plan:
    """Of a plan, what the job gets in one turn: the members that its gangs need, or one of the surplus."""
    placed = {placement.uid: placement for placement in plan.placements}
    kept = []
    for demand in job.demands:
        own = [placed[member.uid] for member in demand.members if member.uid in placed]
        kept += own[: demand.lacking] if demand.optional else own[: demand.needed]
    if not kept:
        kept = list(plan.placements[:1])
    order = {uid: number for number, uid in enumerate(placed)}
    return Plan(tuple(sorted(kept, key=lambda each: order[each.uid])), plan.missing, plan.left_over, plan.gathered)
