"""A small world without a scheduler: all nodes are one pool, jobs start whole, in the order of turns, or reclaim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

from koordpy.quota.limits import would_exceed
from koordpy.quota.reclaim import Basis, Claim, Taken
from koordpy.quota.shares import divide
from koordpy.quota.tree import QueueTree
from koordpy.quota.turns import Turns
from koordpy.quota.usage import Usage
from koordpy.state.arrays import Ints


@dataclass(eq=False)
class Job:
    """A job of a queue, which wants to run for ever."""

    number: int
    row: int
    amounts: Ints  # [K]
    preemptible: bool = True
    running: bool = False
    since: Basis | None = None


class Reclaim(NamedTuple):
    """What happened once."""

    by: Job
    basis: Basis
    victims: tuple[Job, ...]
    before: Ints  # [Q, K] what was allocated


class Pool:
    """`remembers` is the rule that makes evictions stop by proof; without it they are to stop as well."""

    def __init__(self, tree: QueueTree, capacity: Ints, jobs: Sequence[Job], *, remembers: bool = True) -> None:
        self.tree, self.capacity, self.jobs = tree, capacity, list(jobs)
        self.usage = Usage(tree)
        self.remembers = remembers
        self.reclaims: list[Reclaim] = []
        for job in self.jobs:
            self.usage.request(job.row, job.amounts)
        self.shares = divide(capacity, tree, self.usage.asked())

    @property
    def free(self) -> Ints:
        taken = sum((job.amounts for job in self.jobs if job.running), np.zeros_like(self.capacity))
        return self.capacity - taken

    def start(self, job: Job, basis: Basis | None = None) -> None:
        assert not job.running
        job.running, job.since = True, basis if self.remembers else None
        self.usage.allocate(job.row, job.amounts, preemptible=job.preemptible)
        assert (self.free >= 0).all()

    def stop(self, job: Job) -> None:
        assert job.running
        job.running, job.since = False, None
        self.usage.release(job.row, job.amounts, preemptible=job.preemptible)

    def submit(self, jobs: Sequence[Job]) -> None:
        """New jobs begin a new epoch."""
        self.jobs += jobs
        for job in jobs:
            self.usage.request(job.row, job.amounts)
        self._begin_epoch()

    def finish(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if job.running:
                self.stop(job)
            self.jobs.remove(job)
            self.usage.withdraw(job.row, job.amounts)
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self.shares = divide(self.capacity, self.tree, self.usage.asked())
        for job in self.jobs:
            job.since = None

    def settle(self, dice: Random, most: int) -> bool:
        """Start jobs until none can start any more; False if that takes more than so many reclaims."""
        while self._start_one(dice):
            if len(self.reclaims) > most:
                return False
        return True

    def _start_one(self, dice: Random) -> bool:
        """The first job that can start, in the order of turns; inside a queue in random order."""
        waiting: dict[int, list[Job]] = {}
        for job in dice.sample(self.jobs, len(self.jobs)):
            if not job.running and self.tree.is_ready(job.row) and self.tree.is_leaf(job.row):
                waiting.setdefault(job.row, []).append(job)
        turns = Turns(self.usage, self.shares)
        for row, jobs in waiting.items():
            turns.offer(row, jobs[0].amounts)
        while (row := turns.first()) is not None:
            if self._try(waiting[row].pop(0), dice):
                return True
            turns.offer(row, waiting[row][0].amounts if waiting[row] else None)
        return False

    def _try(self, job: Job, dice: Random) -> bool:
        if would_exceed(self.usage, job.row, job.amounts, preemptible=job.preemptible) is not None:
            return False
        if (job.amounts <= self.free).all():
            self.start(job)
            return True
        for basis in Basis:
            victims = self._victims(job, basis, dice)
            if victims:
                before = self.usage.allocated.copy()
                for victim in victims:
                    self.stop(victim)
                self.start(job, basis)
                self.reclaims.append(Reclaim(job, basis, tuple(victims), before))
                return True
        return False

    def _victims(self, job: Job, basis: Basis, dice: Random) -> list[Job]:
        """Random lawful victims until there is room, then without those that are not needed; [] if there is no way."""
        claim = Claim(self.usage, self.shares, job.row, job.amounts, basis=basis)
        found: list[Job] = []
        candidates = [each for each in self.jobs if each.running and each.preemptible]
        dice.shuffle(candidates)
        if dice.random() < 0.5:  # as a scheduler would; else in any order, which must not matter
            order = {row: place for place, row in enumerate(claim.order([each.row for each in candidates]))}
            candidates.sort(key=lambda each: order.get(each.row, len(order)))
        for candidate in candidates:
            if self._fits(job, found):
                break
            taken = [*found, candidate]
            if candidate in found or claim.objection([self._taken(each) for each in taken]).startswith("a queue may"):
                continue
            found = taken
        if not self._fits(job, found):
            return []
        for candidate in list(found):
            fewer = [each for each in found if each is not candidate]
            if self._fits(job, fewer) and not claim.objection([self._taken(each) for each in fewer]):
                found = fewer
        return [] if claim.objection([self._taken(each) for each in found]) else found

    def _fits(self, job: Job, victims: list[Job]) -> bool:
        freed = sum((each.amounts for each in victims), np.zeros_like(self.capacity))
        return bool((job.amounts <= self.free + freed).all())

    def _taken(self, job: Job) -> Taken:
        return Taken(job.row, job.amounts, job.since)
