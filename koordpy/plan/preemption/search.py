"""Whom to evict so that a whole job fits on the nodes that its profiles ask, or why that would be in vain.

First every evictable pod within the job's reach is taken off in a trial; if the job does not fit even then, nobody is
touched. Else the search finds how many of the cheapest eviction classes suffice, and places the members one after
another where further victims cost least (`candidates.py`). At the end it checks the plan with exactly its victims gone,
and reprieves every victim that turns out not to be needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.budget import Budget
from koordpy.plan.framework.job import Job
from koordpy.plan.placement import batch, fit
from koordpy.plan.placement.absence import take_off
from koordpy.plan.placement.gangs import Profiles
from koordpy.plan.placement.jobs import plan_job
from koordpy.plan.placement.pods import place_nominated
from koordpy.plan.preemption.candidates import CandidateSearch
from koordpy.plan.preemption.cost import Cost, Ledger, gang_of, importance
from koordpy.plan.preemption.futile import why_not
from koordpy.plan.preemption.removal import bound_to_stay, cannot_go_whole, take_off_all
from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Reach
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial

_FEW = 24  # victims that are each tried without; for larger sets, reprieving on each node must do
_MANY = 500  # pods that are taken off at once where only that helps, and then reprieved
_DRY_RUNS = 2000  # that one search may make: seconds on a large cluster, during which nothing else is scheduled


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whom to evict, which node each member is nominated to, and who loses a nomination because of that."""

    victims: tuple[PodRecord, ...]
    nominations: tuple[Placement, ...]
    cost: Cost
    displaced: tuple[PodRecord, ...] = ()  # less important pods that were nominated to these nodes
    claim: str = ""  # on what the job takes, where queues know several ways
    why: str = ""  # by what right, where it is not their lower priority

    def __str__(self) -> str:
        if not self.victims:
            return "waiting for terminating pods to leave"
        nodes = _counted(len({victim.node for victim in self.victims}), "node")
        what = f"pod on node {self.nominations[0].node}" if len(self.nominations) == 1 else "all members"
        where = f" on {nodes}" if len(self.nominations) > 1 else ""
        return f"found a potential placement for {what}, preempting {_counted(len(self.victims), 'victim')}{where}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def search(job: Job, cluster: Cluster, profiles: Profiles, budget: Budget | None = None) -> Preemption | str:
    """The cheapest preemption that was found; the state is left as it was."""
    reach, budget = cluster.evictions.reach(job.preemptor).of_gangs(job.gangs), budget or Budget(_DRY_RUNS)
    if not reach:
        return why_not(job, cluster, profiles)
    fewest_classes = 1
    if not any(_may_miss(member) for member in job.members):
        answer = plan_without(reach, job, cluster, profiles)
        if not is_whole(answer):
            return why_not(job, cluster, profiles, answer)
        fewest_classes = _fewest_classes(reach, job, cluster, profiles)
    best: Preemption | None = None
    for number in range(fewest_classes, len(reach) + 1):
        found = _solve(reach.first(number), job, cluster, profiles, budget)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
        if best is not None and not best.cost.violations:
            break  # victims of dearer classes could only spare a PodDisruptionBudget
    if best is None and job.demands:
        best = _reprieved_of_all(reach, job, cluster, profiles, budget)
    return best or _said(why_not(job, cluster, profiles), budget)


def _said(reason: str, budget: Budget) -> str:
    return f"{reason.removesuffix('.')}; {budget}" if budget.gave_up else reason


def _may_miss(member: PodRecord) -> bool:
    """Whether fewer other pods can make things worse for a member: it wants some near it, or as many everywhere."""
    traits = member.shape.traits if member.shape is not None else None
    return traits is not None and bool(traits.pod_affinity or traits.spread)


def plan_without(reach: Reach, job: Job, cluster: Cluster, profiles: Profiles) -> Plan | Refusal:
    """The plan if every evictable pod within reach were gone."""
    with Trial(cluster.occupancy) as trial:
        take_off_all(reach, cluster, trial)
        return plan_job(job, cluster, profiles)


def is_whole(answer: Plan | Refusal) -> TypeGuard[Plan]:
    """Everybody who is needed has a place."""
    return isinstance(answer, Plan) and answer.missing is None


def _fewest_classes(reach: Reach, job: Job, cluster: Cluster, profiles: Profiles) -> int:
    """How many of the cheapest classes suffice; all of them are known to."""
    low, high = 1, len(reach)
    while low < high:
        middle = (low + high) // 2
        if is_whole(plan_without(reach.first(middle), job, cluster, profiles)):
            high = middle
        else:
            low = middle + 1
    return low


def _solve(reach: Reach, job: Job, cluster: Cluster, profiles: Profiles, budget: Budget) -> Preemption | None:
    with Trial(cluster.occupancy) as trial:
        _place_nominated(job, cluster, trial)
        candidates = CandidateSearch(job, cluster, profiles, trial, reach)
        placements = candidates.place_all()
    if placements is None:
        return None
    victims = candidates.ledger.victims
    if any(not cluster.evictions.may_go_whole(gang, reach) for gang in candidates.ledger.overspent(victims)):
        return None
    if not _works(placements, victims, job, cluster, profiles):
        return None
    return _preemption(*_reprieved(victims, placements, job, cluster, profiles, budget=budget), cluster)


def _preemption(victims: list[PodRecord], placements: list[Placement], cluster: Cluster) -> Preemption:
    ledger = Ledger(cluster)
    ledger.add(victims)
    return Preemption(tuple(sorted(victims, key=lambda pod: pod.key)), tuple(placements), ledger.cost())


def _reprieved_of_all(
    reach: Reach, job: Job, cluster: Cluster, profiles: Profiles, budget: Budget
) -> Preemption | None:
    """Where pods on other nodes are in the way, as by anti-affinity in a zone: every pod is reprieved that can be."""
    answer = plan_without(reach, job, cluster, profiles)
    if not is_whole(answer):
        return None
    found = fewest(list(answer.placements), job, cluster, profiles, reach=reach, budget=budget, everywhere=True)
    if found is None:
        return None
    victims, placements = _reprieved(
        list(found.victims), list(found.nominations), job, cluster, profiles, budget=budget
    )
    return _preemption(victims, placements, cluster)


def fewest(
    placements: list[Placement], job: Job, cluster: Cluster, profiles: Profiles, *, reach: Reach, budget: Budget,
    everywhere: bool = False,
) -> Preemption | None:  # fmt: skip
    """For given placements: every pod within reach leaves these nodes, or all nodes, but for those that can stay."""
    staying = bound_to_stay(reach, cluster) | _not_spared(reach, cluster)
    nodes = {each.node for each in placements}
    everybody = [
        pod
        for pod in cluster.pods.values()
        if reach.covers(pod)
        and cluster.evictions.may_be_evicted(pod)
        and pod.uid not in staying
        and (everywhere or pod.node in nodes)
    ]
    if len(everybody) > _MANY:
        return None
    victims = {pod.uid: pod for pod in Ledger(cluster).with_their_gangs(everybody)}
    ahead = [sorted(victims.values(), key=importance)]
    while ahead:
        some = ahead.pop()
        fewer = _without(victims, some, cluster)
        if len(fewer) == len(victims):
            continue
        if not budget.spend():
            break
        if _works(placements, list(fewer.values()), job, cluster, profiles):
            victims = fewer
        elif len(some) > 1:
            ahead += [some[len(some) // 2 :], some[: len(some) // 2]]  # the more important half is tried first
    if not _works(placements, list(victims.values()), job, cluster, profiles):
        return None
    return _preemption(list(victims.values()), placements, cluster)


def _not_spared(reach: Reach, cluster: Cluster) -> set[str]:
    """UIDs of those that stay of gangs that can spare some: the least important are those that may go."""
    staying: set[str] = set()
    for gang in cannot_go_whole(reach, cluster):
        may_go = [pod for pod in gang.bound.values() if cluster.evictions.may_be_evicted(pod) and reach.covers(pod)]
        staying |= {pod.uid for pod in sorted(may_go, key=importance)[: max(0, len(may_go) - gang.expendable)]}
    return staying


def _without(victims: dict[str, PodRecord], some: Iterable[PodRecord], cluster: Cluster) -> dict[str, PodRecord]:
    """Those victims that are left when some are reprieved, and with each the gang that would go as a whole."""
    fewer = dict(victims)
    for pod in some:
        fewer.pop(pod.uid, None)
        gang = gang_of(pod, cluster)
        if gang is not None and sum(uid in fewer for uid in gang.bound) > gang.expendable:
            for uid in gang.bound:
                fewer.pop(uid, None)
    return fewer


def _place_nominated(job: Job, cluster: Cluster, trial: Trial) -> None:
    """Nominated pods will be there: what is freed may not be taken from those that the job does not go before."""
    place_nominated(min(job.members, key=lambda member: member.priority), job, cluster, trial)


def _works(
    placements: list[Placement], victims: list[PodRecord], job: Job, cluster: Cluster, profiles: Profiles
) -> bool:
    """Every member is let onto its node when exactly these victims are gone, with the nominated pods and without."""
    with Trial(cluster.occupancy) as trial:
        take_off(victims, cluster, trial)
        if not _all_let_in(placements, job, cluster, profiles, trial):
            return False
        mark = trial.mark()
        _place_nominated(job, cluster, trial)
        return trial.mark() == mark or _all_let_in(placements, job, cluster, profiles, trial)


def _all_let_in(placements: list[Placement], job: Job, cluster: Cluster, profiles: Profiles, trial: Trial) -> bool:
    mark = trial.mark()
    fits = all(_let_in(*each, cluster, profiles, trial) for each in _by_shape(placements, job, cluster).items())
    trial.undo(mark)
    return fits


def _by_shape(placements: list[Placement], job: Job, cluster: Cluster) -> dict[tuple[Shape, str], list[int]]:
    """The rows of their nodes."""
    found: dict[tuple[Shape, str], list[int]] = {}
    for each in placements:
        pod, row = job.by_uid[each.uid], cluster.nodes.row_of(each.node)
        assert pod.shape is not None
        assert row is not None
        found.setdefault((pod.shape, pod.scheduler), []).append(row)
    return found


def _let_in(kind: tuple[Shape, str], rows: list[int], cluster: Cluster, profiles: Profiles, trial: Trial) -> bool:
    """Whether pods of a shape fit on these rows; they are there afterwards."""
    shape, profile = kind[0], profiles[kind[1]]
    slots = batch.slots(shape, cluster, profile)
    if slots is not None:
        taken, counts = np.unique(np.array(rows), return_counts=True)
        fits = bool((slots[taken] >= counts).all())
        trial.place_all(taken, shape, counts)
        return fits
    fits = True
    for row in rows:
        fits = fits and bool(fit.feasible(shape, cluster, profile)[row])
        trial.place(row, shape)
    return fits


def _reprieved(
    victims: list[PodRecord], placements: list[Placement], job: Job, cluster: Cluster, profiles: Profiles,
    *, budget: Budget,
) -> tuple[list[PodRecord], list[Placement]]:  # fmt: skip
    """Without those victims that the job could do without, were its members placed otherwise; the highest first."""
    left = {pod.uid: pod for pod in victims}
    first_of_each = _units(sorted(victims, key=importance), cluster)
    for victim in first_of_each if len(first_of_each) <= _FEW else ():
        for fewer in _fewer(left, victim, cluster):
            if not budget.spend():
                return list(left.values()), placements
            with Trial(cluster.occupancy) as trial:
                take_off(fewer.values(), cluster, trial)
                answer = plan_job(job, cluster, profiles)
            if is_whole(answer):
                left, placements = fewer, list(answer.placements)
                break
    return list(left.values()), placements


def _units(victims: list[PodRecord], cluster: Cluster) -> list[PodRecord]:
    """Those that leave by themselves, and of each gang that leaves as a whole the first."""
    ledger = Ledger(cluster)
    ledger.add(victims)
    whole = {gang.id for gang in ledger.overspent(victims)}
    firsts = {pod.gang if pod.gang in whole else pod.uid: pod for pod in reversed(victims)}
    return list(reversed(firsts.values()))


def _fewer(victims: dict[str, PodRecord], victim: PodRecord, cluster: Cluster) -> Iterator[dict[str, PodRecord]]:
    """Without a victim, and if its gang goes as a whole without all of that; else with those that it can spare."""
    if victim.uid not in victims:
        return
    fewer = _without(victims, (victim,), cluster)
    yield fewer
    gang = gang_of(victim, cluster)
    spared = [pod for uid, pod in victims.items() if uid not in fewer]
    if gang is not None and len(spared) > 1 and gang.expendable:
        yield fewer | {pod.uid: pod for pod in sorted(spared, key=importance)[-gang.expendable :]}
