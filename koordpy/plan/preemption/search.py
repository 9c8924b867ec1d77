"""Whom to evict so that a whole job fits on the nodes that its profiles ask, or why that would be in vain.

First everybody of lower priority is taken off in a trial; if the job does not fit even then, nobody is touched. Else
the lowest priority is found up to which evictions suffice, and the members are placed one after another where further
victims cost least (`candidates.py`). At the end the plan is checked with exactly its victims gone, and whoever turns
out not to be needed is spared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement import batch, fit
from koordpy.plan.placement.gangs import Profiles
from koordpy.plan.placement.jobs import plan_job
from koordpy.plan.placement.pods import place_nominated
from koordpy.plan.preemption.candidates import CandidateSearch
from koordpy.plan.preemption.cost import Cost, Ledger, importance, whole_gang
from koordpy.plan.preemption.futile import why_not
from koordpy.plan.preemption.removal import bound_to_stay, take_off, take_off_all
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial

_FEW = 24  # victims that are each tried without; for larger sets, sparing on each node must do
_MANY = 500  # pods that are taken off at once where only that helps, and then spared


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whom to evict, and which node each member of the job is promised."""

    victims: tuple[PodRecord, ...]
    nominations: tuple[Placement, ...]
    cost: Cost

    def __str__(self) -> str:
        if not self.victims:
            return "waiting for terminating pods to leave"
        nodes = len({victim.node for victim in self.victims})
        what = f"pod on node {self.nominations[0].node}" if len(self.nominations) == 1 else "all members"
        where = f" on {nodes} nodes" if len(self.nominations) > 1 else ""
        return f"found a potential placement for {what}, preempting {len(self.victims)} victims{where}"


def search(job: Job, cluster: Cluster, profiles: Profiles) -> Preemption | str:
    """The cheapest preemption that was found; the picture is left as it was."""
    levels = cluster.evictable.levels(job.lowest_priority)
    if not levels:
        return why_not(job, cluster, profiles)
    lowest = 0
    if not any(_may_miss(member) for member in job.members):
        answer = without_everybody(levels[-1], job, cluster, profiles)
        if not is_whole(answer):
            return why_not(job, cluster, profiles, answer)
        lowest = _lowest_level(levels, job, cluster, profiles)
    best: Preemption | None = None
    for level in levels[lowest:]:
        found = _solve(level, job, cluster, profiles)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
        if best is not None and not best.cost.violations:
            break  # victims of higher priority could only spare a budget
    if best is None and job.demands:
        best = _spared_of_all(levels[-1], job, cluster, profiles)
    return best or why_not(job, cluster, profiles)


def _may_miss(member: PodRecord) -> bool:
    """Whether fewer other pods can make things worse for a member: it wants some near it, or as many everywhere."""
    traits = member.shape.traits if member.shape is not None else None
    return traits is not None and bool(traits.pod_affinity or traits.spread)


def without_everybody(level: int, job: Job, cluster: Cluster, profiles: Profiles) -> Plan | Refusal:
    """The plan if everybody up to this priority were gone."""
    with Trial(cluster.occupancy) as trial:
        take_off_all(level, cluster, trial)
        return plan_job(job, cluster, profiles)


def is_whole(answer: Plan | Refusal) -> TypeGuard[Plan]:
    """Everybody who is needed has a place."""
    return isinstance(answer, Plan) and answer.missing is None


def _lowest_level(levels: list[int], job: Job, cluster: Cluster, profiles: Profiles) -> int:
    """The index of the lowest level that suffices; the highest is known to."""
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        if is_whole(without_everybody(levels[middle], job, cluster, profiles)):
            high = middle
        else:
            low = middle + 1
    return low


def _solve(level: int, job: Job, cluster: Cluster, profiles: Profiles) -> Preemption | None:
    with Trial(cluster.occupancy) as trial:
        _place_nominated(job, cluster, trial)
        making = CandidateSearch(job, cluster, profiles, trial, level=level)
        placements = making.place_all()
    if placements is None:
        return None
    victims = making.ledger.victims
    if not _works(placements, victims, job, cluster, profiles):
        return None
    return _preemption(*_spared(victims, placements, job, cluster, profiles), cluster)


def _preemption(victims: list[PodRecord], placements: list[Placement], cluster: Cluster) -> Preemption:
    ledger = Ledger(cluster)
    ledger.add(victims)
    return Preemption(tuple(sorted(victims, key=lambda pod: pod.key)), tuple(placements), ledger.cost())


def _spared_of_all(level: int, job: Job, cluster: Cluster, profiles: Profiles) -> Preemption | None:
    """Where pods on other nodes are in the way, as by anti-affinity in a zone: everybody is spared who can be."""
    answer = without_everybody(level, job, cluster, profiles)
    if not is_whole(answer):
        return None
    found = fewest(list(answer.placements), job, cluster, profiles, level=level, everywhere=True)
    if found is None:
        return None
    victims, placements = _spared(list(found.victims), list(found.nominations), job, cluster, profiles)
    return _preemption(victims, placements, cluster)


def fewest(
    placements: list[Placement], job: Job, cluster: Cluster, profiles: Profiles, *, level: int, everywhere: bool = False
) -> Preemption | None:
    """For given placements: everybody up to a priority leaves these nodes, or all nodes, but for those who can stay."""
    staying, nodes = bound_to_stay(level, cluster), {each.node for each in placements}
    everybody = [
        pod
        for pod in cluster.pods.values()
        if pod.priority <= level
        and cluster.may_be_evicted(pod)
        and pod.uid not in staying
        and (everywhere or pod.node in nodes)
    ]
    if len(everybody) > _MANY:
        return None
    victims = {pod.uid: pod for pod in _with_their_gangs(everybody, cluster)}
    ahead = [sorted(victims.values(), key=importance)]
    while ahead:
        some = ahead.pop()
        fewer = _without(victims, some, cluster)
        if len(fewer) == len(victims):
            continue
        if _works(placements, list(fewer.values()), job, cluster, profiles):
            victims = fewer
        elif len(some) > 1:
            ahead += [some[len(some) // 2 :], some[: len(some) // 2]]  # the more important half is tried first
    if not _works(placements, list(victims.values()), job, cluster, profiles):
        return None
    return _preemption(list(victims.values()), placements, cluster)


def _with_their_gangs(pods: Iterable[PodRecord], cluster: Cluster) -> Iterator[PodRecord]:
    """These, and where a gang goes as a whole the rest of it; some may come twice."""
    for pod in pods:
        gang = whole_gang(pod, cluster)
        yield from gang.bound.values() if gang is not None else (pod,)


def _without(victims: dict[str, PodRecord], some: Iterable[PodRecord], cluster: Cluster) -> dict[str, PodRecord]:
    """Those victims that are left when some are spared, and with each the gang that would go as a whole."""
    fewer = dict(victims)
    for pod in some:
        gang = whole_gang(pod, cluster)
        for uid in gang.bound if gang is not None else (pod.uid,):
            fewer.pop(uid, None)
    return fewer


def _place_nominated(job: Job, cluster: Cluster, trial: Trial) -> None:
    """Those who were promised room will be there, and what is freed is not for us to take from them."""
    place_nominated(min(job.members, key=lambda member: member.priority), job, cluster, trial)


def _works(
    placements: list[Placement], victims: list[PodRecord], job: Job, cluster: Cluster, profiles: Profiles
) -> bool:
    """Every member is let onto its node when exactly these victims are gone, whether others keep a promise or not."""
    with Trial(cluster.occupancy) as trial:
        take_off(victims, cluster, trial)
        if not _all_let_in(placements, cluster, profiles, trial):
            return False
        mark = trial.mark()
        _place_nominated(job, cluster, trial)
        return trial.mark() == mark or _all_let_in(placements, cluster, profiles, trial)


def _all_let_in(placements: list[Placement], cluster: Cluster, profiles: Profiles, trial: Trial) -> bool:
    mark = trial.mark()
    fits = all(_let_in(*each, cluster, profiles, trial) for each in _by_shape(placements, cluster).items())
    trial.undo(mark)
    return fits


def _by_shape(placements: list[Placement], cluster: Cluster) -> dict[tuple[Shape, str], list[int]]:
    """The rows of their nodes."""
    found: dict[tuple[Shape, str], list[int]] = {}
    for each in placements:
        pod, row = cluster.pods[each.uid], cluster.nodes.row_of(each.node)
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


def _spared(
    victims: list[PodRecord], placements: list[Placement], job: Job, cluster: Cluster, profiles: Profiles
) -> tuple[list[PodRecord], list[Placement]]:
    """Without those victims that the job could do without, were its members placed otherwise; the highest first."""
    if len(victims) > _FEW:
        return victims, placements
    for victim in sorted(victims, key=importance):
        fewer = list(_without({pod.uid: pod for pod in victims}, (victim,), cluster).values())
        with Trial(cluster.occupancy) as trial:
            take_off(fewer, cluster, trial)
            answer = plan_job(job, cluster, profiles)
        if is_whole(answer):
            victims, placements = fewer, list(answer.placements)
    return victims, placements
