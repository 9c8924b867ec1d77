"""PostFilter: whom to evict so that a whole job fits, or why that would be in vain.

First everybody of lower priority is taken off in a trial; if the job does not fit even then, nobody is touched. Else
the lowest priority is found up to which evictions suffice, and the members are placed one after another where further
victims cost least (`making_room.py`), on the trial, so that they see each other. On each node whoever need not leave is
spared, the most important first. At the end the plan is checked once more with exactly its victims gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from koordpy.cluster.changes import Change
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.trial import Trial
from koordpy.plan import placement
from koordpy.plan.answer import Placement, Plan, Reason, Refusal, no_node_fits
from koordpy.plan.gangs import plan_gangs
from koordpy.plan.job import Job
from koordpy.plan.making_room import MakingRoom
from koordpy.plan.planner import plan
from koordpy.plan.profile import Profile
from koordpy.plan.victims import Cost, Ledger, whole_gang

Profiles = Mapping[str, Profile]

_FEW = 24  # victims that are each tried without; for larger sets, sparing on each node must do
_NOT_HELPFUL = Reason("Preemption is not helpful for scheduling", preemption_helps=False, cures=Change.NONE)
_NO_VICTIMS = Reason("No preemption victims found for incoming pod", preemption_helps=False, cures=Change.NONE)


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whom to evict, and which node each member of the job is promised."""

    victims: tuple[PodRecord, ...]
    nominations: tuple[Placement, ...]
    cost: Cost

    def __str__(self) -> str:
        nodes = len({victim.node for victim in self.victims})
        what = f"pod on node {self.nominations[0].node}" if len(self.nominations) == 1 else "all members"
        where = f" on {nodes} nodes" if len(self.nominations) > 1 else ""
        return f"found a potential placement for {what}, preempting {len(self.victims)} victims{where}"


def make_room(job: Job, cluster: Cluster, profiles: Profiles) -> Preemption | str:
    """A preemption that lets the whole job in, or the reason why there is none, in kube-scheduler's words."""
    ineligible = _ineligible(job, cluster)
    if ineligible:
        return ineligible
    priority = min(member.priority for member in job.members)
    levels = cluster.evictable.levels(priority)
    if not levels:
        return _futile(job, cluster, profiles, priority)
    answer = _without_everybody(levels[-1], job, cluster, profiles)
    if isinstance(answer, Refusal) or answer.missing is not None:
        return _futile(job, cluster, profiles, priority, answer)
    lowest = _lowest_level(levels, job, cluster, profiles)
    best: Preemption | None = None
    for level in levels[lowest:]:
        found = _solve(level, job, cluster, profiles)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
        if best is not None and not best.cost.violations:
            break  # victims of higher priority could only spare a budget
    return best or "no set of victims was found that lets the whole job in"


def _ineligible(job: Job, cluster: Cluster) -> str:
    if not all(member.preempts for member in job.members):
        return "not eligible due to preemptionPolicy=Never."
    promised = {member.nominated_node for member in job.members if member.nominated_node}
    priority = min(member.priority for member in job.members)
    for pod in cluster.leaving.values():
        # Also if they were evicted for us before a restart, and our nominations never got to the API server.
        if pod.preempted_for == job.name or (pod.node in promised and pod.priority < priority):
            return "not eligible due to a terminating pod on the nominated node."
    return ""


def _without_everybody(level: int, job: Job, cluster: Cluster, profiles: Profiles) -> Plan | Refusal:
    """The plan if everybody up to this priority were gone."""
    with Trial(cluster.occupancy) as trial:
        take_off(level, cluster, trial)
        return _plan(job, cluster, profiles)


def _plan(job: Job, cluster: Cluster, profiles: Profiles) -> Plan | Refusal:
    if job.demands:
        return plan_gangs(job, cluster, profiles)
    return plan(job, cluster, profiles[job.members[0].scheduler])


def take_off(level: int, cluster: Cluster, trial: Trial) -> None:
    """Everybody of at most this priority leaves, but for gangs that go as a whole and cannot."""
    for crowd in cluster.evictable.crowds(level):
        trial.place_all(crowd.rows, crowd.shape, -crowd.counts)
    for uid in bound_to_stay(level, cluster):
        pod = cluster.pods[uid]
        row = cluster.nodes.row_of(pod.node)
        if row is not None and pod.shape is not None and cluster.may_be_evicted(pod) and pod.priority <= level:
            trial.place(row, pod.shape)


def bound_to_stay(level: int, cluster: Cluster) -> set[str]:
    """Members of gangs that go as a whole, where some member may not go."""
    staying: set[str] = set()
    for gang in cluster.gangs:
        some = next(iter(gang.bound.values()), None)
        if some is None or whole_gang(some, cluster) is None:
            continue
        if not all(cluster.may_be_evicted(pod) and pod.priority <= level for pod in gang.bound.values()):
            staying |= gang.bound.keys()
    return staying


def _lowest_level(levels: list[int], job: Job, cluster: Cluster, profiles: Profiles) -> int:
    """The index of the lowest level that suffices; the highest is known to."""
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        answer = _without_everybody(levels[middle], job, cluster, profiles)
        if isinstance(answer, Plan) and answer.missing is None:
            high = middle
        else:
            low = middle + 1
    return low


def _solve(level: int, job: Job, cluster: Cluster, profiles: Profiles) -> Preemption | None:
    staying = bound_to_stay(level, cluster)
    with Trial(cluster.occupancy) as trial:
        take_off(level, cluster, trial)
        making = MakingRoom(job, cluster, profiles, trial, level=level, staying=staying)
        placements = making.place_all()
    if placements is None:
        return None
    victims = _with_their_gangs(making.ledger.victims, cluster)
    if not _works(placements, victims, cluster, profiles):
        return None
    victims, placements = _spared(victims, placements, job, cluster, profiles)
    ledger = Ledger(cluster)
    ledger.add(victims)
    return Preemption(tuple(sorted(victims, key=lambda pod: pod.key)), tuple(placements), ledger.cost())


def _with_their_gangs(victims: list[PodRecord], cluster: Cluster) -> list[PodRecord]:
    """Those that go as a whole go as a whole."""
    all_of_them = {victim.uid: victim for victim in victims}
    for victim in victims:
        gang = whole_gang(victim, cluster)
        if gang is not None:
            all_of_them |= gang.bound
    return list(all_of_them.values())


def _works(placements: list[Placement], victims: Iterable[PodRecord], cluster: Cluster, profiles: Profiles) -> bool:
    """Every member is let onto its node when exactly these victims are gone."""
    with Trial(cluster.occupancy) as trial:
        _evict(victims, cluster, trial)
        for each in placements:
            pod, row = cluster.pods[each.uid], cluster.nodes.row_of(each.node)
            if pod.shape is None or row is None:
                return False
            if not placement.feasible(pod.shape, cluster, profiles[pod.scheduler])[row]:
                return False
            trial.place(row, pod.shape)
    return True


def _spared(
    victims: list[PodRecord], placements: list[Placement], job: Job, cluster: Cluster, profiles: Profiles
) -> tuple[list[PodRecord], list[Placement]]:
    """Without those victims that the job could do without, were its members placed otherwise; the highest first."""
    if len(victims) > _FEW:
        return victims, placements
    needed = len(placements)
    for victim in sorted(victims, key=lambda pod: (-pod.priority, pod.started, pod.key)):
        fewer = [
            pod
            for pod in victims
            if pod is not victim and (not pod.gang or whole_gang(victim, cluster) is None or pod.gang != victim.gang)
        ]
        with Trial(cluster.occupancy) as trial:
            _evict(fewer, cluster, trial)
            answer = _plan(job, cluster, profiles)
        if isinstance(answer, Plan) and answer.missing is None:
            victims = fewer
            placements = list(answer.placements)[: max(needed, 1)] if not job.demands else list(answer.placements)
    return victims, placements


def _evict(victims: Iterable[PodRecord], cluster: Cluster, trial: Trial) -> None:
    for victim in victims:
        row = cluster.nodes.row_of(victim.node)
        if row is not None and victim.shape is not None:
            trial.place(row, victim.shape, -1)


# --- why not ---


def _futile(job: Job, cluster: Cluster, profiles: Profiles, priority: int, answer: Plan | Refusal | None = None) -> str:
    if job.demands:
        refusal = answer.missing if isinstance(answer, Plan) else answer
        if refusal is None:
            return "no pod of lower priority could be evicted"
        fit, of = refusal.fit
        return f"would fit {fit} of {of} members even with everything of lower priority gone"
    return _futile_for_pod(job.members[0], cluster, profiles[job.members[0].scheduler], priority)


def _futile_for_pod(pod: PodRecord, cluster: Cluster, profile: Profile, priority: int) -> str:
    """Node by node, as kube-scheduler counts them."""
    if pod.shape is None:
        return ""
    nodes = cluster.nodes
    counts: Counter[Reason] = Counter()
    lost = placement.hopeless(pod.shape, cluster, profile)
    if profile.prefilter(pod.shape, cluster) is not None:
        lost = nodes.live
    has_victims = np.zeros(nodes.capacity, dtype=np.bool_)
    for crowd in cluster.evictable.crowds(priority - 1):
        has_victims[crowd.rows] = True
    counts[_NOT_HELPFUL] = int(np.count_nonzero(lost))
    counts[_NO_VICTIMS] = int(np.count_nonzero(nodes.live & ~lost & ~has_victims))
    left = nodes.live & ~lost & has_victims
    if left.any():
        with Trial(cluster.occupancy) as trial:
            take_off(priority - 1, cluster, trial)
            counts += placement.explain(pod.shape, cluster, profile, among=left)
    return no_node_fits(pod.uid, len(nodes), {reason: count for reason, count in counts.items() if count}).message
