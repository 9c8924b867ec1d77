"""Why evictions would be in vain, in kube-scheduler's words for a single pod, and for gangs how far they got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from koordpy.cluster.arrays import Bools
from koordpy.cluster.changes import Change
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.trial import Trial
from koordpy.plan import placement
from koordpy.plan.answer import Plan, Reason, Refusal, no_node_fits
from koordpy.plan.clearing import take_off, take_off_all
from koordpy.plan.job import Job
from koordpy.plan.profile import Profile

_ASKED_ONE_BY_ONE = 100  # nodes, to tell why a pod would not fit there
_NOT_HELPFUL = Reason("Preemption is not helpful for scheduling", preemption_helps=False, cures=Change.NONE)
_NO_VICTIMS = Reason("No preemption victims found for incoming pod", preemption_helps=False, cures=Change.NONE)


def why_not(job: Job, cluster: Cluster, profiles: Mapping[str, Profile], answer: Plan | Refusal | None = None) -> str:
    """`answer` is the plan with everybody of lower priority gone, if it was made."""
    if not job.demands:
        return _for_pod(job.members[0], cluster, profiles[job.members[0].scheduler])
    refusal = answer.missing if isinstance(answer, Plan) else answer
    if refusal is not None:
        fit, of = refusal.fit
        return f"would fit {fit} of {of} members even with everything of lower priority gone"
    if not cluster.evictable.levels(job.lowest_priority):
        return "no pod of lower priority could be evicted"
    return "no set of victims was found that lets the whole job in"


def _for_pod(pod: PodRecord, cluster: Cluster, profile: Profile) -> str:
    """Node by node, as kube-scheduler counts them."""
    if pod.shape is None:
        return ""
    nodes = cluster.nodes
    counts: Counter[Reason] = Counter()
    lost = placement.hopeless(pod.shape, cluster, profile)
    if profile.prefilter(pod.shape, cluster) is not None:
        lost = nodes.live
    if profile.within is not None:
        lost = lost | (nodes.live & ~profile.within)
    has_victims = np.zeros(nodes.capacity, dtype=np.bool_)
    for crowd in cluster.evictable.crowds(pod.priority - 1):
        has_victims[crowd.rows] = True
    counts[_NOT_HELPFUL] = int(np.count_nonzero(lost))
    counts[_NO_VICTIMS] = int(np.count_nonzero(nodes.live & ~lost & ~has_victims))
    counts += _reasons_without(pod.priority - 1, pod, cluster, profile, nodes.live & ~lost & has_victims)
    return no_node_fits(pod.uid, len(nodes), {reason: count for reason, count in counts.items() if count}).message


def _reasons_without(level: int, pod: PodRecord, cluster: Cluster, profile: Profile, among: Bools) -> Counter[Reason]:
    """Why these nodes, `[N]`, would refuse a pod without their victims."""
    assert pod.shape is not None
    if not among.any():
        return Counter()
    with Trial(cluster.occupancy) as trial:
        take_off_all(level, cluster, trial)
        counts = placement.explain(pod.shape, cluster, profile, among=among)
        left = placement.feasible(pod.shape, cluster, profile) & among
    # There it is pods on other nodes that are in the way: each of these nodes is asked with only its own victims gone.
    rows = left.nonzero()[0].tolist()
    for row in rows[:_ASKED_ONE_BY_ONE]:
        with Trial(cluster.occupancy) as trial:
            take_off(_evictable_on(row, level, cluster), cluster, trial)
            counts += placement.explain(pod.shape, cluster, profile, among=_only(row, among))
    return counts


def _evictable_on(row: int, level: int, cluster: Cluster) -> list[PodRecord]:
    pods = cluster.pods_on(cluster.nodes.names[row])
    return [pod for pod in pods if pod.priority <= level and cluster.may_be_evicted(pod)]


def _only(row: int, among: Bools) -> Bools:
    mask = np.zeros_like(among)
    mask[row] = among[row]
    return mask
