"""Later members of a gang that runs: placed as near to their siblings as possible.

Siblings are the members of the group that are bound or assumed. The domain of a `MustGather` layer that holds the
siblings must hold the later members too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from koordpy.api.podgroup.frontends import name_of
from koordpy.api.topology import BY_LABEL, GatherRule
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement.pods import plan
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.topology import Level

# Cluster events that can add slots to a domain, beyond those that the filters name.
ROOM_IN_DOMAINS = (
    EventKind.NODE_ADDED | EventKind.NODE_GREW | EventKind.ROOM_FREED | EventKind.NODE_TAINTS | EventKind.DOMAINS
)

Rules = tuple[GatherRule, ...]


def plan_beside(job: Job, cluster: Cluster, profile: Profile, rules: Rules) -> Plan | Refusal:
    """The plan for a single later member."""
    refusal = no_such_layer(job, cluster, rules)
    if refusal is not None:
        return refusal
    for within in nearest_first(job, cluster, rules):
        answer = plan(job, cluster, profile.only(within))
        if isinstance(answer, Plan):
            return answer
        refusal = answer
    assert refusal is not None  # there is at least one mask
    return _refused(refusal, job, cluster, rules)


def _refused(refusal: Refusal, job: Job, cluster: Cluster, rules: Rules) -> Refusal:
    where = _must_be_in(job, cluster, rules)
    if not where:
        return refusal
    gang = name_of(job.members[0].gang)
    text = f"{refusal.message} gang {gang} is gathered in {where}, and its later members have to be there too."
    return replace(refusal, message=text, wake_on=refusal.wake_on | ROOM_IN_DOMAINS, kind="Topology")


def nearest_first(job: Job, cluster: Cluster, rules: Rules) -> Iterator[Bools]:
    """`[N]`, one mask after another: the nodes of the siblings, then their blocks, up to the level of `MustGather`."""
    levels = cluster.topology.levels
    siblings = siblings_of(cluster.gangs.group_of(job.members[0].gang), cluster)
    if siblings is None or not levels:
        yield cluster.nodes.live
        return
    for level in range(len(levels) - 1, top_of(rules, cluster) - 1, -1):
        yield np.isin(levels[level].codes, _domains(levels[level], siblings))


def top_of(rules: Rules, cluster: Cluster) -> int:
    """The highest level at which a job may be gathered: 0, the cluster, unless a layer must hold all of it."""
    known = ((cluster.topology.level_of(rule.layer), rule) for rule in rules)
    return max((level for level, rule in known if level is not None and rule.must), default=0)


def no_such_layer(job: Job, cluster: Cluster, rules: Rules) -> Refusal | None:
    """The refusal of a job that names a strategy that there is not, or a layer to be gathered in that there is not."""
    unknown = next((rule.unknown for rule in rules if rule.unknown), "")
    if unknown:
        text = f"gang {name_of(job.members[0].gang)}: network-topology-spec asks for the strategy {unknown}, "
        text += "which is neither MustGather nor PreferGather"
        return Refusal(text, EventKind.NONE, job.members[0].uid, plugins=frozenset(("Coscheduling",)), kind="Topology")
    missing = next((rule.layer for rule in rules if rule.must and cluster.topology.level_of(rule.layer) is None), None)
    if missing is None:
        return None
    layers = ", ".join(level.layer for level in cluster.topology.levels)
    there = f"the layers are {layers}" if layers else "there is no ClusterNetworkTopology named default yet"
    which = missing if not missing.startswith(BY_LABEL) else f"of the node label {missing.removeprefix(BY_LABEL)}"
    text = f"gang {name_of(job.members[0].gang)}: MustGather names the layer {which}, and {there}"
    return Refusal(text, EventKind.DOMAINS, job.members[0].uid, plugins=frozenset(("Coscheduling",)), kind="Topology")


def siblings_of(gangs: Iterable[str], cluster: Cluster) -> Ints | None:
    """`[N]`: members of these gangs that are bound or assumed, per node; None without any."""
    counts = np.zeros(cluster.nodes.capacity, dtype=np.int64)
    for gang_id in gangs:
        gang = cluster.gangs.get(gang_id)
        for pod in (*gang.bound.values(), *gang.assumed.values()) if gang is not None else ():
            row = cluster.nodes.row_of(pod.node)
            if row is not None:
                counts[row] += 1
    return counts if counts.any() else None


def called(level: Level, name: str) -> str:
    """The name of a domain in messages: `SpineLayer/s1`."""
    return f"{level.layer}/{name}" if name else level.layer


def _must_be_in(job: Job, cluster: Cluster, rules: Rules) -> str:
    """The names of the domains that must hold a later member; empty: any node may."""
    top = top_of(rules, cluster)
    siblings = siblings_of(cluster.gangs.group_of(job.members[0].gang), cluster)
    if not top or siblings is None:
        return ""
    level = cluster.topology.levels[top]
    return ", ".join(called(level, level.names[domain]) for domain in _domains(level, siblings).tolist())


def _domains(level: Level, siblings: Ints) -> Ints:
    """The domains of a level, as codes, with at least one of these siblings, `[N]`."""
    found: Ints = np.unique(level.codes[(siblings > 0) & (level.codes >= 0)])
    return found
