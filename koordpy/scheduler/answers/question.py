"""The question "would it start now?", asked of a sandbox for one job, again and again with something changed.

Whoever is in front of the job is asked first: room that a change makes is theirs if they can use it. So a change is
called sufficient only if the job starts in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement import fit
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.answers.sandbox import Sandbox
from koordpy.scheduler.jobs import key_of
from koordpy.scheduler.queue.ticket import Equivalence
from koordpy.scheduler.queues.admission import one_step
from koordpy.state.arrays import Bools
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Traits
from koordpy.state.trial import Trial

_MOST_IN_FRONT = 200  # different jobs that are asked before the one in question


class InFront(NamedTuple):
    """A job that is tried before the one in question; those of one equivalence get one answer."""

    group: GangGroup
    key: str
    queue: str
    equivalence: Equivalence


@dataclass(frozen=True)
class Question:
    """One job in a sandbox."""

    sandbox: Sandbox
    group: GangGroup
    key: str
    queue: str
    in_front: Sequence[InFront]
    now: float  # by the wall clock

    @property
    def job(self) -> Job | None:
        """As it is now, with whatever has been changed."""
        return self.sandbox.job(self.group, self.key, self.queue)

    @property
    def own_keys(self) -> frozenset[str]:
        """Its own, and that of the gang whose surplus member it is: to end that would be no help."""
        record = self.sandbox.cluster.pods.get(self.key)
        if record is None or not record.gang:
            return frozenset((self.key,))
        return frozenset((self.key, key_of(self.sandbox.cluster.gangs.group_of(record.gang))))

    def starts(self, instead: Job | None = None) -> bool:
        """Whether the whole job starts now, in its turn, without anybody having to leave.

        `instead` is the same job with other pods, where nothing but these is changed.
        """
        job = instead or self.job
        if job is None or not job.members or self.sandbox.not_attempted(job, self.group) is not None:
            return False
        if not self.fits(job):
            return False
        if instead is not None and self._nobody_in_front_starts:
            return True
        with self._after_those_in_front():
            return self.fits(job)

    @cached_property
    def _nobody_in_front_starts(self) -> bool:
        """As long as nothing is changed but the job itself: asked once, as a search asks again and again."""
        with self._after_those_in_front() as booked:
            return not booked

    def fits(self, job: Job) -> bool:
        """Whether there is room for the whole job, on nodes and in its queue."""
        return self._plan(job) is not None

    def answer(self) -> Plan | Refusal | None:
        """What planning says now; None: there is nothing to plan."""
        job = self.job
        return self.sandbox.planning.plan(job) if job is not None and job.members else None

    def _plan(self, job: Job) -> Plan | None:
        admission = self.sandbox.admission
        if admission.obstacle(job) is not None:
            return None
        answer = self.sandbox.planning.plan(job)
        if not is_whole(answer) or not answer.placements:
            return None
        if job.queue:
            answer = one_step(job, answer)
            if admission.obstacle(job, answer) is not None:
                return None
        answer = self.sandbox.in_time(job, answer)
        return answer if isinstance(answer, Plan) else None

    @contextmanager
    def _after_those_in_front(self) -> Iterator[Sequence[PodRecord]]:
        """Those of them that start do; yields their pods."""
        refused: set[Equivalence] = set()
        booked: list[PodRecord] = []
        asked = 0
        with Trial(self.sandbox.cluster.occupancy) as trial, self.sandbox.supposing_starts():
            for each in self.in_front:
                if each.equivalence in refused or asked >= _MOST_IN_FRONT:
                    continue
                asked += 1
                job = self.sandbox.job(each.group, each.key, each.queue)
                plan = None
                if job is not None and job.members and self.sandbox.not_attempted(job, each.group) is None:
                    plan = self._plan(job)
                    if plan is None:
                        self.sandbox.suppose_waits(job)
                if plan is None or job is None:
                    refused.add(each.equivalence)
                    continue
                booked += self._book(job, plan.placements, trial)
                self.sandbox.suppose_started(job)
            try:
                yield booked
            finally:
                self.count(booked, -1)

    def _book(self, job: Job, placements: Iterable[Placement], trial: Trial) -> list[PodRecord]:
        nodes, placed = self.sandbox.cluster.nodes, []
        for each in placements:
            member, row = job.by_uid[each.uid], nodes.row_of(each.node)
            if row is not None and member.shape is not None:
                trial.place(row, member.shape)
                trial.reserve_volumes(each.volumes, each.node)
                placed.append(member)
        self.count(placed, 1)
        return placed

    def count(self, pods: Iterable[PodRecord], sign: int) -> None:
        """Pods count in their queues, or not any more."""
        book = self.sandbox.book
        for pod in pods if book.in_use else ():
            book.suppose(pod, sign)

    # --- the job with other pods ---

    def with_members(self, job: Job, changed: Callable[[PodRecord], PodRecord]) -> Job:
        """The same job with its pods changed."""
        new = {member.uid: changed(member) for member in job.members}
        demands = tuple(
            replace(demand, members=tuple(new[member.uid] for member in demand.members)) for demand in job.demands
        )
        return Job(job.key, tuple(new.values()), demands, job.queue, job.claim)

    def reshaped(self, job: Job, changed: Callable[[Traits], Traits]) -> Job:
        """The same job with what its pods ask for changed."""

        def reshape(member: PodRecord) -> PodRecord:
            if member.shape is None or member.own_shape is None:
                return member
            shapes = self.sandbox.cluster.shapes
            shape = shapes.shape(changed(member.shape.traits))
            own = shapes.shape(changed(member.own_shape.traits))
            return msgspec.structs.replace(member, shape=shape, own_shape=own)

        return self.with_members(job, reshape)

    def needed(self, job: Job) -> list[PodRecord]:
        """The members that have to be placed for the job to start."""
        if not job.demands:
            return list(job.members)
        return [member for demand in job.demands for member in demand.members[: demand.needed]]

    def allowed(self, job: Job) -> Bools:
        """`[N]`: the nodes that some member may be on, as far as the nodes themselves go."""
        cluster, profiles = self.sandbox.cluster, self.sandbox.planning.profiles
        found = np.zeros(cluster.nodes.capacity, dtype=np.bool_)
        for shape, scheduler in {(member.shape, member.scheduler): None for member in job.members}:
            if shape is not None:
                found |= fit.static_mask(shape, cluster, profiles[scheduler])
        return found


def largest(low: int, high: int, works: Callable[[int], bool]) -> Iterator[int | None]:
    """The largest number of a range that works, where all below one that works do too; None while it is searched."""
    if low > high or not works(low):
        return
    yield None
    while low < high:
        middle = (low + high + 1) // 2
        if works(middle):
            low = middle
        else:
            high = middle - 1
        yield None
    yield low


def smallest(low: int, high: int, works: Callable[[int], bool]) -> Iterator[int | None]:
    """The smallest number of a range that works, where all above one that works do too; None while it is searched."""
    for found in largest(-high, -low, lambda number: works(-number)):
        yield None if found is None else -found


def fewest(most: int, works: Callable[[int], bool]) -> Iterator[int | None]:
    """The same from 1 on, by doubling: with very many, whoever is in front may take more than was added."""
    count = 1
    while not works(count):
        yield None
        if count >= most:
            return
        count = min(2 * count, most)
    yield from smallest(count // 2 + 1, count, works)
