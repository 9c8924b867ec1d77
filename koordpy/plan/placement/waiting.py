"""Gangs that accumulate at Permit must not block each other for ever.

A NonStrict gang may keep what it got only if the most complete gang that already waits, and that it does not go before,
could complete all the same. Else two of them could hold half of a cluster each, and neither start. A job that goes
before a waiting gang makes it yield: its members are unreserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.plan.placement.gang_rules import demands_of, with_waiting
from koordpy.plan.placement.gangs import Profiles, plan_gangs
from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Preemptor
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

    @property
    def preemptor(self) -> Preemptor:
        return Preemptor(self.priority, self.members[0].queue if self.members else "")


def first_in_line(waiters: Iterable[Waiter], preemptor: Preemptor, cluster: Cluster) -> Waiter | None:
    """The most complete of those that a job does not go before."""
    goes_before = cluster.evictions.policy.goes_before
    entitled = [waiter for waiter in waiters if not goes_before(preemptor, waiter.preemptor)]
    return max(entitled, key=lambda waiter: (waiter.completeness, waiter.priority, waiter.key), default=None)


def could_complete(
    waiter: Waiter,
    cluster: Cluster,
    profiles: Profiles,
    *,
    beside: Sequence[Placement] = (),
    of: Mapping[str, PodRecord] | None = None,
    without: Iterable[Waiter] = (),
) -> bool:
    """Whether a waiting group could be completed now: beside what another job would take, or if others yield.

    `of` has the pods of the placements `beside`, by UID.
    """
    demands = demands_of(waiter.group, cluster)
    job = Job(waiter.key, tuple(member for demand in demands for member in demand.members), demands)
    if not job.members:
        return not any(demand.needed for demand in demands)
    with Trial(cluster.occupancy) as trial:
        _place(beside, of or {}, cluster, trial)
        for other in without:
            remove_waiter(other, cluster, trial)
        answer = plan_gangs(job, cluster, profiles)
    return isinstance(answer, Plan) and answer.missing is None


def blocks_itself(waiter: Waiter, cluster: Cluster, plan: Callable[[Job], Plan | Refusal]) -> bool:
    """Whether a waiting group would be complete if those that wait were placed anew: elsewhere, or others for them."""
    demands = with_waiting(demands_of(waiter.group, cluster), waiter.members, cluster)
    job = Job(waiter.key, tuple(member for demand in demands for member in demand.members), demands)
    with Trial(cluster.occupancy) as trial:
        remove_waiter(waiter, cluster, trial)
        answer = plan(job)
    return isinstance(answer, Plan) and answer.missing is None


def still_fits(member: PodRecord, cluster: Cluster, profile: Profile) -> bool:
    """Whether a member that waits would still be let onto its node."""
    row = cluster.nodes.row_of(member.node)
    if row is None or member.shape is None:
        return False
    with Trial(cluster.occupancy) as trial:
        trial.place(row, member.shape, -1)
        return bool(fit.feasible(member.shape, cluster, profile)[row])


def who_must_yield(waiters: Iterable[Waiter], now: Worth, cluster: Cluster, worth: Callable[[], Worth]) -> list[Waiter]:
    """Of some waiting groups, those that must be unreserved for a job to fare better than it does now.

    None yields in vain: with all of them gone the job must fare better, and whichever is not needed for that stays.
    """
    worst_first = sorted(waiters, key=lambda waiter: (waiter.priority, waiter.completeness, waiter.key))
    with Trial(cluster.occupancy) as trial:
        for waiter in worst_first:
            remove_waiter(waiter, cluster, trial)
        best = worth()
    if best <= now:
        return []
    yielding = list(worst_first)
    for waiter in reversed(worst_first):
        fewer = [each for each in yielding if each is not waiter]
        with Trial(cluster.occupancy) as trial:
            for each in fewer:
                remove_waiter(each, cluster, trial)
            if worth() >= best:
                yielding = fewer
    return yielding


def worth_of(answer: Plan | Refusal) -> Worth:
    """A whole job is worth more than any part of one."""
    if isinstance(answer, Refusal):
        return False, 0
    return answer.missing is None and bool(answer.placements), len(answer.placements)


def remove_waiter(waiter: Waiter, cluster: Cluster, trial: Trial) -> None:
    """Try the nodes without what a waiting group holds there."""
    for member in waiter.members:
        row = cluster.nodes.row_of(member.node)
        if row is not None and member.shape is not None:
            trial.place(row, member.shape, -1)


def _place(placements: Iterable[Placement], pods: Mapping[str, PodRecord], cluster: Cluster, trial: Trial) -> None:
    for each in placements:
        row, shape = cluster.nodes.row_of(each.node), pods[each.uid].shape
        if row is not None and shape is not None:
            trial.place(row, shape)
