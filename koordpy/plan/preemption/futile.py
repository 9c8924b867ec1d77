"""Why evictions would be in vain, in kube-scheduler's words for a single pod, and for gangs how far they got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from koordpy.plan.filters.node_resources_fit import NodeResourcesFit
from koordpy.plan.framework.answers import Plan, Reason, Refusal, no_node_fits
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.plan.placement.absence import take_off
from koordpy.plan.placement.pods import place_nominated
from koordpy.plan.preemption.removal import take_off_all
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.eviction import Reach
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial

_ASKED_ONE_BY_ONE = 100  # nodes, to tell why a pod would not fit there
_NOT_HELPFUL = Reason("Preemption is not helpful for scheduling", preemption_helps=False, wake_on=EventKind.NONE)
_NO_VICTIMS = Reason("No preemption victims found for incoming pod", preemption_helps=False, wake_on=EventKind.NONE)


def why_not(job: Job, cluster: Cluster, profiles: Mapping[str, Profile], answer: Plan | Refusal | None = None) -> str:
    """`answer` is the plan with everybody of lower priority gone, if it was made."""
    if not job.demands:
        return _for_pod(job, cluster, profiles[job.members[0].scheduler])
    refusal = answer.missing if isinstance(answer, Plan) else answer
    if refusal is not None:
        fit, of = refusal.fit
        return f"would fit {fit} of {of} members even with everything of lower priority gone{_lacking(refusal)}"
    if not cluster.evictions.reach(job.preemptor).of_gangs(job.gangs):
        return "no pod of lower priority could be evicted"
    return "no set of victims was found that lets the whole job in"


def _lacking(refusal: Refusal) -> str:
    """What is in the way then: `: 2 Insufficient cpu`, or why no node was asked, as for a claim that is missing."""
    if refusal.counts:
        return f": {', '.join(sorted(f'{count} {text}' for text, count in refusal.counts))}"
    first, _, _ = refusal.message.partition(". ")
    _, asked, reason = first.partition("nodes are available: ")
    return f": {reason}" if asked else ""


def _for_pod(job: Job, cluster: Cluster, profile: Profile) -> str:
    """Node by node, as kube-scheduler counts them."""
    pod = job.members[0]
    if pod.shape is None:
        return ""
    nodes = cluster.nodes
    counts: Counter[Reason] = Counter()
    lost = _hopeless(job, pod.shape, cluster, profile)
    if profile.prefilter(pod.shape, cluster) is not None:
        lost = nodes.live
    if profile.within is not None:
        lost = lost | (nodes.live & ~profile.within)
    has_victims = np.zeros(nodes.capacity, dtype=np.bool_)
    for each in cluster.evictions.evictable.counts(cluster.evictions.reach(job.preemptor).of_gangs(job.gangs).classes):
        has_victims[each.rows] = True
    counts[_NOT_HELPFUL] = int(np.count_nonzero(lost))
    counts[_NO_VICTIMS] = int(np.count_nonzero(nodes.live & ~lost & ~has_victims))
    counts += _reasons_without(job, pod.shape, cluster, profile, nodes.live & ~lost & has_victims)
    return no_node_fits(pod.uid, len(nodes), {reason: count for reason, count in counts.items() if count}).message


def _hopeless(job: Job, shape: Shape, cluster: Cluster, profile: Profile) -> Bools:
    """`[N]`: as a node is asked first with the pods nominated to it, and only then without them."""
    lost = fit.hopeless(shape, cluster, profile)
    with Trial(cluster.occupancy) as trial:
        if not place_nominated(job.members[0], job, cluster, trial):
            return lost
        return fit.hopeless(shape, cluster, profile) | (lost & fit.feasible(shape, cluster, profile))


def _reasons_without(job: Job, shape: Shape, cluster: Cluster, profile: Profile, among: Bools) -> Counter[Reason]:
    """Why these nodes, `[N]`, would refuse a pod without their victims."""
    if not among.any():
        return Counter()
    reach = cluster.evictions.reach(job.preemptor).of_gangs(job.gangs)
    counts: Counter[Reason] = Counter()
    rows = among.nonzero()[0].tolist()
    if len(rows) > _ASKED_ONE_BY_ONE or not minds_others(shape, cluster, profile):
        with Trial(cluster.occupancy) as trial:
            take_off_all(reach, cluster, trial)
            counts, among = _reasons(job, shape, cluster, profile, among)
        rows = among.nonzero()[0].tolist()
    # Pods on other nodes may be in the way: each of these nodes is asked with only its own victims gone.
    for row in rows[:_ASKED_ONE_BY_ONE]:
        with Trial(cluster.occupancy) as trial:
            take_off(_evictable_on(row, reach, cluster), cluster, trial)
            counts += _reasons(job, shape, cluster, profile, _only(row, among))[0]
    return counts


def _reasons(job: Job, shape: Shape, cluster: Cluster, profile: Profile, among: Bools) -> tuple[Counter[Reason], Bools]:
    """Why these nodes, `[N]`, refuse a pod with the pods nominated to them or without; and those that do not."""
    counts: Counter[Reason] = Counter()
    with Trial(cluster.occupancy) as with_nominated:
        if place_nominated(job.members[0], job, cluster, with_nominated):
            counts = fit.explain(shape, cluster, profile, among=among)
            among = among & fit.feasible(shape, cluster, profile)
    counts += fit.explain(shape, cluster, profile, among=among)
    return counts, among & fit.feasible(shape, cluster, profile)


def minds_others(shape: Shape, cluster: Cluster, profile: Profile) -> bool:
    """Whether more than room can be in the way, as a pod on another node that uses the same claim."""
    asked = (each for each in profile.filters if not each.static and not isinstance(each, NodeResourcesFit))
    return any(each.passes(shape, cluster) is not None for each in asked)


def _evictable_on(row: int, reach: Reach, cluster: Cluster) -> list[PodRecord]:
    pods = cluster.pods_on(cluster.nodes.names[row])
    return [pod for pod in pods if reach.covers(pod) and cluster.evictions.may_be_evicted(pod)]


def _only(row: int, among: Bools) -> Bools:
    mask = np.zeros_like(among)
    mask[row] = among[row]
    return mask
