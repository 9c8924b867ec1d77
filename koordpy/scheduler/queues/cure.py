"""Whom a job evicts that a limit of its queue is in the way of: those below that limit, and then whoever has its nodes.

A limit is cured first: jobs below it that the queue may take back, on its claims and then by priority, until there is
room for the job. If no node has room for it even then, the search for victims goes on as if they had left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.absence import take_off
from koordpy.plan.preemption.cost import Cost
from koordpy.plan.preemption.eligibility import WAITS, Preemption
from koordpy.plan.preemption.search import is_whole
from koordpy.quota.amounts import K
from koordpy.quota.limits import LIMIT, Obstacle
from koordpy.quota.reclaim import Basis, Claim
from koordpy.scheduler.queues.admission import Admission, needed_members, one_step
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.queues.reclaim import Reclaim, Search, Unit, cheapest_first
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

Planner = Callable[[Job], Plan | Refusal]


class Way(NamedTuple):
    """Whom a job may take from so that it gets below a limit, and on what claim; None: by priority."""

    units: list[Unit]  # in the order in which they go
    claim: Claim | None


class Covering(NamedTuple):
    """Units of a way that are enough for the limits."""

    way: Way
    units: list[Unit]
    excess: Ints  # [path, K], above the limits

    @property
    def pods(self) -> tuple[PodRecord, ...]:
        return _pods(self.units)


class Cure:
    """Finds victims for jobs at a limit."""

    def __init__(self, reclaim: Reclaim, book: QueueBook, cluster: Cluster, admission: Admission) -> None:
        self._reclaim, self._book, self._cluster, self._admission = reclaim, book, cluster, admission

    def find(self, job: Job, obstacle: Obstacle, plan: Planner, search: Search) -> Preemption | str:
        """Victims below the queues whose limits are in the way, so that the job gets in; or why there are none."""
        self._reclaim.look_anew()
        if obstacle.never or obstacle.bound != LIMIT or self._admission.is_over_quota(job):
            return "no victims below the queue could help."
        if not all(member.preempts for member in job.members):
            return "not eligible due to preemptionPolicy=Never."
        self._book.divide(self._cluster.nodes, self._cluster.resources)
        request = self._admission.amounts(needed_members(job))
        with self._reclaim.as_decided(job):
            excess = self._excess(self._book.tree.rows[job.queue], request)
            if not (excess > 0).any():
                return WAITS
            found = [Covering(way, self._covering(job, way, excess), excess) for way in self._ways(job, request)]
        enough = [each for each in found if each.units]
        alone = (self._on_free_nodes(job, each, plan) for each in enough)
        with_others = (self._with_more_victims(job, each, plan, search) for each in enough)
        for preemption in chain(alone, with_others):
            if preemption is not None:
                return preemption
        return f"nobody in queue {obstacle.queue} is less important, or above what is theirs."

    def _excess(self, row: int, request: Ints) -> Ints:
        """`[path, K]`: how far the queues from the job's own to the root would be above their limits with it."""
        path = self._book.tree.paths[row]
        over = self._book.usage.allocated[path] + request - self._book.tree.limit[path]
        excess: Ints = np.where(request > 0, np.maximum(over, 0), 0)
        return excess

    def _ways(self, job: Job, request: Ints) -> Iterable[Way]:
        """The units that the job may take, in the order in which they go, claim by claim; then by priority."""
        tree, book, reclaim = self._book.tree, self._book, self._reclaim
        row = tree.rows[job.queue]
        for basis in Basis:
            claim = Claim(book.usage, book.shares, row, request, basis=basis)
            protected = reclaim.within_minimum_run_time(tree.reclaim_min_runtime)
            order = {r: place for place, r in enumerate(claim.order(range(len(tree))))}
            units = [
                unit
                for unit in reclaim.running_units(set(order))
                if self._may_go(unit, protected) and claim.reaches(reclaim.taken(unit))
            ]
            ordered = sorted(units, key=lambda unit: (order[unit.row], *cheapest_first(unit)))
            yield Way(ordered, claim)
        protected = reclaim.within_minimum_run_time(tree.preempt_min_runtime)
        own = [
            unit
            for unit in reclaim.running_units({row})
            if self._may_go(unit, protected)
            and max(pod.priority for pod in unit.pods) < job.preemptor.priority
            and unit.key not in job.gangs
        ]
        yield Way(sorted(own, key=cheapest_first), None)

    def _may_go(self, unit: Unit, protected: set[str]) -> bool:
        return all(
            pod.preemptible and pod.uid not in protected and self._cluster.evictions.may_be_evicted(pod)
            for pod in unit.pods
        )

    def _covering(self, job: Job, way: Way, excess: Ints) -> list[Unit]:
        """The first units that are enough for the limits, less those that turn out not to be needed; none: no."""
        chosen: list[Unit] = []
        for unit in way.units:
            left = excess - self._freed(job, chosen)
            if not (left > 0).any():
                break
            more = [each for each in self._together(unit, way) if not _is_among(each, chosen)]
            if more and ((left > 0) & (self._freed(job, more) > 0)).any() and self._are_lawful(way, [*chosen, *more]):
                chosen += more
        for unit in _wholes_first(chosen):
            fewer = _less(unit, chosen)
            if (self._freed(job, fewer) >= excess).all() and self._are_lawful(way, fewer):
                chosen = fewer
        return chosen if (self._freed(job, chosen) >= excess).all() else []

    def _together(self, unit: Unit, way: Way) -> list[Unit]:
        """A unit with what leaves with it: a gang's minimum never goes without the surplus. None: it may not go."""
        gang = self._cluster.gangs.get(unit.key)
        if unit.surplus or gang is None:
            return [unit]
        whole = [each for each in way.units if each.key == unit.key]
        return whole if sum(len(each.pods) for each in whole) == len(gang.bound) else []

    def _freed(self, job: Job, units: Iterable[Unit]) -> Ints:
        """`[path, K]`: what queues from the job's own to the root have less without some units."""
        tree = self._book.tree
        path = tree.paths[tree.rows[job.queue]]
        freed: Ints = np.zeros((len(path), K), dtype=np.int64)
        for unit in units:
            freed[np.isin(path, tree.paths[unit.row])] += unit.amounts
        return freed

    def _are_lawful(self, way: Way, units: list[Unit]) -> bool:
        return way.claim is None or not units or not way.claim.objection([self._reclaim.taken(unit) for unit in units])

    # --- on which nodes ---

    def _on_free_nodes(self, job: Job, covering: Covering, plan: Planner) -> Preemption | None:
        """The job fits as soon as these are gone."""
        answer = self._planned_without(job, covering.pods, plan)
        if not is_whole(answer):
            return None
        placed, claim = one_step(job, answer).placements, covering.way.claim
        if claim is None:
            return Preemption(covering.pods, placed, Cost(), why=f"queue {job.queue} is at a limit")
        return Preemption(covering.pods, placed, Cost(), claim=claim.basis.name, why=self._reclaim.why(claim))

    def _planned_without(self, job: Job, victims: tuple[PodRecord, ...], plan: Planner) -> Plan | Refusal:
        leaving = [pod for pod in self._cluster.evictions.leaving_for(job.preemptor) if pod not in victims]
        with Trial(self._cluster.occupancy) as trial:
            take_off((*victims, *leaving), self._cluster, trial)
            return plan(job)

    def _with_more_victims(self, job: Job, covering: Covering, plan: Planner, search: Search) -> Preemption | None:
        """The limit has room when these are gone, and the nodes have not: others have to leave too.

        Their gangs are left alone otherwise: a second member of one could be one too many.
        """
        pods = covering.pods
        gangs = [gang for pod in pods if pod.gang and (gang := self._cluster.gangs.get(pod.gang)) is not None]
        kept = {pod.uid for pod in pods} | {uid for gang in gangs for uid in gang.bound}
        with (
            self._cluster.shielded(kept),
            self._admission.with_changes(pods, ()),
            Trial(self._cluster.occupancy) as trial,
        ):
            take_off(pods, self._cluster, trial)
            found = self._reclaim.find(job, search)
        if isinstance(found, str):
            return None
        with self._reclaim.as_decided(job):
            needed = self._still_needed(job, covering, found.victims, plan)
            if not self._are_lawful(covering.way, [*needed, *self._reclaim.units(found.victims)]):
                return None
        answer = self._planned_without(job, (*_pods(needed), *found.victims), plan)
        if not is_whole(answer):
            return None
        return replace(found, victims=(*_pods(needed), *found.victims), nominations=one_step(job, answer).placements)

    def _still_needed(self, job: Job, covering: Covering, others: tuple[PodRecord, ...], plan: Planner) -> list[Unit]:
        """Those that leave for the sake of nodes may be below the same limit: then fewer do for the limit."""
        way, units, excess = covering
        needed, more = list(units), self._reclaim.units(others)
        for unit in _wholes_first(units):
            fewer = _less(unit, needed)
            enough = (self._freed(job, [*fewer, *more]) >= excess).all() and self._are_lawful(way, fewer)
            if enough and is_whole(self._planned_without(job, (*_pods(fewer), *others), plan)):
                needed = fewer
        return needed


def _wholes_first(units: Iterable[Unit]) -> list[Unit]:
    """In the order in which they are spared: to keep a gang is worth more than to keep a surplus member."""
    return sorted(units, key=lambda each: each.surplus)


def _less(unit: Unit, units: list[Unit]) -> list[Unit]:
    """All but this one; a surplus member cannot stay while its gang goes."""
    if unit.surplus and any(each.key == unit.key and not each.surplus for each in units):
        return units
    return [each for each in units if each is not unit]


def _is_among(unit: Unit, units: Iterable[Unit]) -> bool:
    return any(each is unit for each in units)


def _pods(units: Iterable[Unit]) -> tuple[PodRecord, ...]:
    return tuple(pod for unit in units for pod in unit.pods)
