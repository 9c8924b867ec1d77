"""Gangs that accumulate must not stand in each other's way for ever.

A gang that cannot be placed as a whole may keep what it got only if the most complete gang that already waits, of at
least its priority, could complete all the same; else two of them could hold half of a cluster each, and neither start.
Whoever has a higher priority makes those that merely wait let go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.plan.placement.gang_rules import demands_of
from koordpy.plan.placement.gangs import Profiles, plan_gangs
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

Worth = tuple[float, ...]  # of a plan, to the job that it is for; the higher, the better


class Waiter(NamedTuple):
    """A group of gangs in the waiting room."""

    key: str
    group: GangGroup
    priority: int
    completeness: float  # share of its minimum that it has
    members: tuple[PodRecord, ...]  # those that wait, each with its node


def first_in_line(waiters: Iterable[Waiter], priority: int) -> Waiter | None:
    """The most complete of those with at least this priority."""
    entitled = [waiter for waiter in waiters if waiter.priority >= priority]
    return max(entitled, key=lambda waiter: (waiter.completeness, waiter.priority, waiter.key), default=None)


def could_complete(
    waiter: Waiter,
    cluster: Cluster,
    profiles: Profiles,
    *,
    beside: Sequence[Placement] = (),
    without: Iterable[Waiter] = (),
) -> bool:
    """Whether a waiting group could be completed now, beside what another job would take, or if others let go."""
    demands = demands_of(waiter.group, cluster)
    job = Job(waiter.key, tuple(member for demand in demands for member in demand.members), demands)
    if not job.members:
        return not any(demand.needed for demand in demands)
    with Trial(cluster.occupancy) as trial:
        _place(beside, cluster, trial)
        for other in without:
            _remove(other, cluster, trial)
        answer = plan_gangs(job, cluster, profiles)
    return isinstance(answer, Plan) and answer.missing is None


def stands_in_its_own_way(waiter: Waiter, cluster: Cluster, plan: Callable[[Job], Plan | Refusal]) -> bool:
    """Whether a waiting group would be complete if those who wait were placed anew: elsewhere, or others for them."""
    demands = tuple(_with_waiting(demand, waiter) for demand in demands_of(waiter.group, cluster))
    job = Job(waiter.key, tuple(member for demand in demands for member in demand.members), demands)
    with Trial(cluster.occupancy) as trial:
        _remove(waiter, cluster, trial)
        answer = plan(job)
    return isinstance(answer, Plan) and answer.missing is None


def _with_waiting(demand: Demand, waiter: Waiter) -> Demand:
    waiting = tuple(member for member in waiter.members if member.gang == demand.gang)
    return replace(demand, counted=demand.counted - len(waiting), members=(*waiting, *demand.members))


def still_fits(member: PodRecord, cluster: Cluster, profile: Profile) -> bool:
    """Whether a member that waits would still be let onto its node."""
    row = cluster.nodes.row_of(member.node)
    if row is None or member.shape is None:
        return False
    with Trial(cluster.occupancy) as trial:
        trial.place(row, member.shape, -1)
        return bool(fit.feasible(member.shape, cluster, profile)[row])


def who_must_yield(waiters: Iterable[Waiter], now: Worth, cluster: Cluster, worth: Callable[[], Worth]) -> list[Waiter]:
    """Of those that wait with a lower priority, the ones that must let go for a job to fare better than it does now.

    Nobody lets go in vain: with all of them gone it must fare better, and whoever is not needed for that stays.
    """
    worst_first = sorted(waiters, key=lambda waiter: (waiter.priority, waiter.completeness, waiter.key))
    with Trial(cluster.occupancy) as trial:
        for waiter in worst_first:
            _remove(waiter, cluster, trial)
        best = worth()
    if best <= now:
        return []
    leaving = list(worst_first)
    for waiter in reversed(worst_first):
        fewer = [each for each in leaving if each is not waiter]
        with Trial(cluster.occupancy) as trial:
            for each in fewer:
                _remove(each, cluster, trial)
            if worth() >= best:
                leaving = fewer
    return leaving


def worth_of(answer: Plan | Refusal) -> Worth:
    """A whole job is worth more than any part of one."""
    if isinstance(answer, Refusal):
        return False, 0
    return answer.missing is None and bool(answer.placements), len(answer.placements)


def _place(placements: Iterable[Placement], cluster: Cluster, trial: Trial) -> None:
    for each in placements:
        row, shape = cluster.nodes.row_of(each.node), cluster.pods[each.uid].shape
        if row is not None and shape is not None:
            trial.place(row, shape)


def _remove(waiter: Waiter, cluster: Cluster, trial: Trial) -> None:
    for member in waiter.members:
        row = cluster.nodes.row_of(member.node)
        if row is not None and member.shape is not None:
            trial.place(row, member.shape, -1)
