"""PostFilter: may the job preempt at all, what may it still be waiting for, and which search finds its victims.

A job without a topology looks for victims everywhere (`search.py`); one that is to be gathered, in one domain
after another (`gathered.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from koordpy.plan.framework.job import Job
from koordpy.plan.placement import fit
from koordpy.plan.placement.absence import take_off
from koordpy.plan.placement.gangs import Profiles
from koordpy.plan.placement.jobs import plan_job
from koordpy.plan.preemption.cost import Cost
from koordpy.plan.preemption.gathered import search_beside, search_gathered
from koordpy.plan.preemption.search import Preemption, is_whole, search
from koordpy.plan.topology.siblings import Rules
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

__all__ = ["WAITS", "Preemption", "benefit_of", "find_preemption"]

WAITS = "not eligible due to a terminating pod on the nominated node."


def benefit_of(found: Preemption | str) -> tuple[float, ...]:
    """What a search has found, to be compared: any preemption is better than none, and a cheap one is best."""
    return () if isinstance(found, str) else (1, *(-each for each in found.cost))


def find_preemption(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules = ()) -> Preemption | str:
    """A preemption that lets the whole job in, or the reason why there is none, in kube-scheduler's words."""
    if not all(member.preempts for member in job.members):
        return "not eligible due to preemptionPolicy=Never."
    found = _find(job, cluster, profiles, rules)
    return found if isinstance(found, str) else replace(found, displaced=_displaced(found, job, cluster))


def _find(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> Preemption | str:
    # As in kube-scheduler, a terminating pod that the job may take is as good as gone, and not evicted again.
    leaving = cluster.evictions.leaving_for(job.preemptor)
    if not leaving:
        return _search(job, cluster, profiles, rules)
    behind = {pod.uid: pod for pod in _left_behind(job, cluster)}
    with Trial(cluster.occupancy) as trial:
        take_off(leaving, cluster, trial)
        mark = trial.mark()
        take_off(behind.values(), cluster, trial)
        answer = plan_job(job, cluster, profiles, rules)
        trial.undo(mark)
        if is_whole(answer):
            is_nominated = all(job.by_uid[each.uid].nominated_node == each.node for each in answer.placements)
            waits = is_nominated and not behind
            return WAITS if waits else Preemption(tuple(behind.values()), answer.placements, Cost())
        found = _search(job, cluster, profiles, rules)
    if isinstance(found, str):
        return found
    if not behind and _waits_for_victims(job, cluster, profiles):
        return WAITS
    return replace(found, victims=tuple((behind | {pod.uid: pod for pod in found.victims}).values()))


def _displaced(found: Preemption, job: Job, cluster: Cluster) -> tuple[PodRecord, ...]:
    """Less important pods that are nominated to nodes that victims leave: they will not get that room now."""
    nominated_to = {each.node for each in found.nominations}
    nodes = {pod.node for pod in found.victims} | {
        pod.node for pod in cluster.evictions.leaving.values()
    } & nominated_to
    nominated = (each.pod for node in sorted(nodes) for each in cluster.nominations.on(node))
    return tuple(pod for pod in nominated if pod.uid not in job.by_uid and cluster.evictions.yields(pod, job.preemptor))


def _left_behind(job: Job, cluster: Cluster) -> Iterator[PodRecord]:
    """Of gangs that are leaving as a whole for this job: whoever led before us did not get to these."""
    gangs = {cluster.gangs.get(pod.gang) for pod in cluster.evictions.leaving.values() if pod.preempted_for == job.name}
    members = (pod for gang in gangs if gang is not None and _is_broken(gang) for pod in gang.bound.values())
    return (pod for pod in members if pod.told_for == job.name and cluster.evictions.may_be_evicted(pod))


def _is_broken(gang: Gang) -> bool:
    if gang.spec.disruption == "Minimum":
        return gang.initialised and not gang.is_bound
    return gang.spec.disruption == "All"


def _search(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> Preemption | str:
    if rules and cluster.topology.levels:
        return (search_gathered if job.demands else search_beside)(job, cluster, profiles, rules)
    return search(job, cluster, profiles)


def _waits_for_victims(job: Job, cluster: Cluster, profiles: Profiles) -> bool:
    """Victims are still terminating on a node that a member is nominated to, and that it could still use."""
    nodes = {pod.node for pod in cluster.evictions.leaving_for(job.preemptor) if pod.preempted_for}
    return any(
        member.nominated_node in nodes and _may_use(member, member.nominated_node, job, cluster, profiles)
        for member in job.members
    )


def _may_use(member: PodRecord, node: str, job: Job, cluster: Cluster, profiles: Profiles) -> bool:
    row, shape, profile = cluster.nodes.row_of(node), member.shape, profiles[member.scheduler]
    if row is None or shape is None or not fit.static_mask(shape, cluster, profile)[row]:
        return False
    # Among the members of a gang, one may be what another lacks as yet.
    return bool(job.demands) or not fit.hopeless(shape, cluster, profile)[row]
