"""Whom a job of a queue evicts: reclaim on its quota, then on its fair share, then preemption by priority.

The search for victims is the same as without queues (`plan/preemption`): whole job or nobody, surplus first, fewest
jobs broken. The eviction policy says which classes it may take from. What a claim allows is asked of
`koordpy.quota.reclaim` once more about the victims that were found. If they are too many of one queue, the search is
made again with only as many jobs of each queue in reach as it may lose.

Claims are judged by what will be when everything that was decided has happened: victims on their way out are gone, and
jobs that are nominated have their room. Else a queue of which two jobs are leaving would still look as rich as before,
and lose two more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.preemption.eligibility import WAITS, Preemption
from koordpy.quota.amounts import RESOURCES, K, quantity
from koordpy.quota.reclaim import Basis, Claim, Taken
from koordpy.quota.usage import Change
from koordpy.scheduler.queue.ticket import Wants
from koordpy.scheduler.queues.admission import Admission, needed_members
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.queues.policy import PRIORITY, QueuePolicy
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Preemptor
from koordpy.state.pods import PodRecord

Search = Callable[[Job], Preemption | str]
Planner = Callable[[Job], Plan | Refusal]


class Unit(NamedTuple):
    """Pods that leave together: surplus members one by one, a gang that would fall below its minimum as a whole."""

    key: str  # of the gang, or the UID of the pod
    row: int
    amounts: Ints  # [K]
    pods: tuple[PodRecord, ...]
    surplus: bool = False  # its gang has its minimum without it


class Reclaim:
    """Finds victims for the jobs of queues."""

    def __init__(
        self,
        book: QueueBook,
        policy: QueuePolicy,
        cluster: Cluster,
        admission: Admission,
        *,
        wall: Callable[[], float],
        victims: Callable[[], Collection[str]],
    ) -> None:
        self._book, self._policy, self._cluster = book, policy, cluster
        self._admission, self._wall = admission, wall
        self._victims = victims  # UIDs of those that are being evicted; the watch may not show them terminating yet
        self._epoch_seen = 0
        self._started_on: dict[str, tuple[Basis, int]] = {}  # job -> the claim that started it, and in which epoch
        self.protected_until: float | None = None  # when the first minimum run time ends that kept victims back

    def look_anew(self) -> None:
        """Victims of another job are looked for: what kept them back before is of no interest."""
        self.protected_until = None

    def find(self, job: Job, search: Search) -> Preemption | str:
        """A preemption that lets the whole job in, or why there is none."""
        self.look_anew()
        row = self._book.tree.rows.get(job.queue) if job.queue else None
        if not self._book.in_use or row is None:
            return search(job)
        self._book.divide(self._cluster.nodes, self._cluster.resources)
        request = self._admission.amounts(needed_members(job))
        nothing = ""
        for basis in Basis:
            with self.as_decided(job):
                claim = Claim(self._book.usage, self._book.shares, row, request, basis=basis)
                found = self._on(claim, job, search) if not claim.is_empty else ""
                nothing = claim.why_nothing()
            if isinstance(found, Preemption) or found == WAITS:
                return found
        with self._cluster.shielded(self.within_minimum_run_time(self._book.tree.preempt_min_runtime)):
            found = search(replace(job, claim=PRIORITY))
        if isinstance(found, Preemption) or found == WAITS or not nothing:
            return found
        return f"{found.removesuffix('.')}; {nothing}"

    def carried_out(self, job: Job, found: Preemption) -> None:
        """A job evicts on a claim: in this epoch it is not taken again on the same one."""
        self._started_on = {key: each for key, each in self._started_on.items() if each[1] == self._book.epoch}
        if found.claim in Basis.__members__:
            for member in job.members:
                self._started_on[member.gang or member.uid] = (Basis[found.claim], self._book.epoch)

    # --- for wake-ups ---

    def have_moved(self) -> bool:
        """Whether queues are due something else than when this was asked before."""
        if self._book.in_use:
            self._book.divide(self._cluster.nodes, self._cluster.resources)
        before, self._epoch_seen = self._epoch_seen, self._book.epoch
        return before != self._book.epoch

    def may_take(self, wants: Wants, preemptor: Preemptor) -> bool:
        """A cheap look at whether a job could claim anything of other queues: wrong only in saying yes."""
        row = self._book.tree.rows.get(preemptor.queue)
        if row is None:
            return False
        request: Ints = np.zeros(K, dtype=np.int64)
        for shape, count in wants:
            request = request + self._book.amounts(shape) * count
        if not request.any():  # any of its members would do
            return True
        claims = (Claim(self._book.usage, self._book.shares, row, request, basis=basis) for basis in Basis)
        return any(claim.order(range(len(self._book.tree))) for claim in claims if not claim.is_empty)

    @contextmanager
    def as_decided(self, job: Job) -> Iterator[None]:
        """What queues have, without those that are leaving and with other jobs that are nominated."""
        rows = self._book.tree.rows
        leaving = [
            Change(rows[pod.queue], -self._book.amounts(pod.own_shape), pod.preemptible)
            for uid in {*self._cluster.evictions.leaving, *self._victims()}
            if (pod := self._cluster.pods.get(uid)) is not None and pod.node and pod.queue in rows
        ]
        with self._book.usage.supposing(leaving), self._admission.with_nominated(job):
            yield

    # --- on a claim ---

    def _on(self, claim: Claim, job: Job, search: Search) -> Preemption | str:
        claiming = replace(job, claim=claim.basis.name)
        protected = self.within_minimum_run_time(self._book.tree.reclaim_min_runtime)
        protected |= self._policy.begin_claim(
            claim, self._cluster.evictions.leaving.values(), self._cluster.pods.values()
        )
        try:
            with self._cluster.shielded(protected):
                found = search(claiming)
            if isinstance(found, Preemption) and self._objection(claim, found.victims):
                with self._cluster.shielded(protected | self._beyond(claim)):
                    found = search(claiming)
        finally:
            self._policy.end_claim()
        if isinstance(found, str):
            return found
        objection = self._objection(claim, found.victims)
        if objection:
            return objection
        return replace(found, claim=claim.basis.name, why=self.why(claim))

    def _objection(self, claim: Claim, victims: Iterable[PodRecord]) -> str:
        going = self._victims()
        new = [pod for pod in victims if pod.uid not in going]
        taken = [self.taken(unit) for unit in self.units(new) if unit.row != claim.row]
        return claim.objection(taken) if taken else ""

    def taken(self, unit: Unit) -> Taken:
        basis, epoch = self._started_on.get(unit.key, (None, -1))
        return Taken(unit.row, unit.amounts, basis if epoch == self._book.epoch else None)

    def units(self, pods: Iterable[PodRecord]) -> list[Unit]:
        """Victims, by what leaves together; those outside of queues have no unit."""
        by_gang: defaultdict[str, list[PodRecord]] = defaultdict(list)
        for pod in pods:
            if pod.queue in self._book.tree.rows:
                by_gang[pod.gang or pod.uid].append(pod)
        units = []
        for key, members in by_gang.items():
            gang = self._cluster.gangs.get(key)
            whole = gang is not None and len(members) > gang.expendable
            for each in [members] if whole else [[pod] for pod in members]:
                row = self._book.tree.rows[each[0].queue]
                units.append(Unit(key, row, self._admission.amounts(each), tuple(each)))
        return units

    def _beyond(self, claim: Claim) -> set[str]:
        """Pods of queues in reach that go beyond what their queue may lose: cheap jobs are lost first."""
        tree, shielded = self._book.tree, set()
        reached = set(claim.order(range(len(tree))))
        by_row: defaultdict[int, list[Unit]] = defaultdict(list)
        for unit in self.running_units(reached):
            by_row[unit.row].append(unit)
        for row, units in by_row.items():
            above, lost = claim.above(row), np.zeros(K, dtype=np.int64)
            for unit in sorted(units, key=cheapest_first):
                if (lost < above).any() and claim.reaches(self.taken(unit)):
                    lost += unit.amounts
                else:
                    shielded |= {pod.uid for pod in unit.pods}
        return shielded

    def running_units(self, rows: set[int]) -> list[Unit]:
        """Everything that runs in some queues, surplus members by themselves."""
        found: list[Unit] = []
        names, seen = {self._book.tree.names[row] for row in rows}, set(self._victims())
        for pod in self._cluster.pods.values():
            if pod.queue not in names or not pod.bound or pod.terminating or pod.uid in seen:
                continue
            gang = self._cluster.gangs.get(pod.gang) if pod.gang else None
            members = sorted(gang.bound.values(), key=_latest_first) if gang is not None else [pod]
            seen |= {member.uid for member in members}
            surplus = members[: gang.expendable] if gang is not None else []
            parts = [([member], True) for member in surplus] + [(members[len(surplus) :], False)]
            for part, is_surplus in parts:
                row = self._book.tree.rows.get(part[0].queue) if part else None
                if row is not None:
                    key, amounts = pod.gang or pod.uid, self._admission.amounts(part)
                    found.append(Unit(key, row, amounts, tuple(part), is_surplus))
        return found

    def within_minimum_run_time(self, minimum: tuple[float, ...]) -> set[str]:
        """Pods whose queue protects what has not run for long; surplus members are not protected."""
        if not any(minimum):
            return set()
        now, rows = self._wall(), {row for row, seconds in enumerate(minimum) if seconds > 0}
        shielded: set[str] = set()
        for unit in self.running_units(rows):
            if unit.surplus:
                continue
            until = max(pod.started or now for pod in unit.pods) + minimum[unit.row]
            if until > now:
                shielded |= {pod.uid for pod in unit.pods}
                self.protected_until = min(self.protected_until or until, until)
        return shielded

    def why(self, claim: Claim) -> str:
        """By what right: `queue a takes back what is above the quota of others: it has cpu 2 of a quota of 4`."""
        tree, row = self._book.tree, claim.row
        line = tree.quota if claim.basis is Basis.QUOTA else self._book.shares
        word = "quota" if claim.basis is Basis.QUOTA else "fair share"
        has = ", ".join(
            f"{RESOURCES[kind]} {quantity(kind, int(self._book.usage.allocated[row, kind]))}"
            f" of a {word} of {quantity(kind, float(line[row, kind]))}"
            for kind in range(K)
            if tree.counted[row, kind] and line[row, kind] < 2**60
        )
        return f"queue {tree.names[row]} takes back what others have above their {word}: it has {has or 'no limit'}"


def cheapest_first(unit: Unit) -> tuple[int, int, float]:
    """Single pods before whole gangs, then the least important, then the latest start."""
    return len(unit.pods) > 1, max(pod.priority for pod in unit.pods), -max(pod.started for pod in unit.pods)


def _latest_first(pod: PodRecord) -> tuple[int, float]:
    return pod.priority, -pod.started
