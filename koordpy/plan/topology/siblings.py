"""Later members of a gang that runs: as near to their siblings as they can, and nowhere else if they must."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from koordpy.api.topology import GatherRule
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement.pods import plan
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.topology import Level

# What can make room in a domain, beyond what the filters name.
ROOM_IN_DOMAINS = (
    EventKind.NODE_ADDED | EventKind.NODE_GREW | EventKind.ROOM_FREED | EventKind.NODE_TAINTS | EventKind.DOMAINS
)

Rules = tuple[GatherRule, ...]


def plan_beside(job: Job, cluster: Cluster, profile: Profile, rules: Rules) -> Plan | Refusal:
    """For a job of one."""
    refusal = no_such_layer(job, cluster, rules)
    if refusal is not None:
        return refusal
    for within in nearest_first(job, cluster, rules):
        answer = plan(job, cluster, profile.only(within))
        if isinstance(answer, Plan):
            return answer
        refusal = answer
    assert refusal is not None  # there is always some mask
    return _refused(refusal, job, cluster, rules)


def _refused(refusal: Refusal, job: Job, cluster: Cluster, rules: Rules) -> Refusal:
    where = _must_be_in(job, cluster, rules)
    if not where:
        return refusal
    gang = job.members[0].gang
    text = f"{refusal.message} gang {gang} is gathered in {where}, and its later members have to be there too."
    return replace(refusal, message=text, wake_on=refusal.wake_on | ROOM_IN_DOMAINS)


def nearest_first(job: Job, cluster: Cluster, rules: Rules) -> Iterator[Bools]:
    """`[N]`, one mask after another: the nodes of the siblings, then their blocks, and as far up as it may go."""
    levels = cluster.topology.levels
    near = siblings_of(cluster.gangs.group_of(job.members[0].gang), cluster)
    if near is None or not levels:
        yield cluster.nodes.live
        return
    for level in range(len(levels) - 1, top_of(rules, cluster) - 1, -1):
        yield np.isin(levels[level].codes, _domains(levels[level], near))


def top_of(rules: Rules, cluster: Cluster) -> int:
    """The level that a job may spread over: 0, which is the cluster, unless a layer must hold all of it."""
    known = ((cluster.topology.level_of(rule.layer), rule) for rule in rules)
    return max((level for level, rule in known if level is not None and rule.must), default=0)


def no_such_layer(job: Job, cluster: Cluster, rules: Rules) -> Refusal | None:
    """Why a job cannot be gathered at all: it must be, in a layer that there is not."""
    missing = next((rule.layer for rule in rules if rule.must and cluster.topology.level_of(rule.layer) is None), None)
    if missing is None:
        return None
    layers = ", ".join(level.layer for level in cluster.topology.levels)
    there = f"the layers are {layers}" if layers else "there is no ClusterNetworkTopology named default yet"
    text = f"gang {job.members[0].gang}: MustGather names the layer {missing}, and {there}"
    return Refusal(text, EventKind.DOMAINS, job.members[0].uid, plugins=frozenset(("Coscheduling",)))


def siblings_of(gangs: Iterable[str], cluster: Cluster) -> Ints | None:
    """`[N]`: members of gangs that are placed already; None when there are none."""
    counts = np.zeros(cluster.nodes.capacity, dtype=np.int64)
    for gang_id in gangs:
        gang = cluster.gangs.get(gang_id)
        for pod in (*gang.bound.values(), *gang.assumed.values()) if gang is not None else ():
            row = cluster.nodes.row_of(pod.node)
            if row is not None:
                counts[row] += 1
    return counts if counts.any() else None


def called(level: Level, name: str) -> str:
    """A domain, as messages name it: `SpineLayer/s1`."""
    return f"{level.layer}/{name}" if name else level.layer


def _must_be_in(job: Job, cluster: Cluster, rules: Rules) -> str:
    """The domains that a later member cannot leave; none: it may go anywhere."""
    top = top_of(rules, cluster)
    near = siblings_of(cluster.gangs.group_of(job.members[0].gang), cluster)
    if not top or near is None:
        return ""
    level = cluster.topology.levels[top]
    return ", ".join(called(level, level.names[domain]) for domain in _domains(level, near).tolist())


def _domains(level: Level, near: Ints) -> Ints:
    """Those that have some of these pods, `[N]`."""
    found: Ints = np.unique(level.codes[(near > 0) & (level.codes >= 0)])
    return found
