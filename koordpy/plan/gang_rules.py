"""The rules of gangs: when a group of them may be attempted, what each still needs, and what is missing if not.

PreFilter is `not_ready`; Permit is in the demands: a gang is complete when nothing of its demand is left to place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from koordpy.cluster.changes import Change
from koordpy.cluster.gangs import Gang, GangGroup
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.resources import shown
from koordpy.plan.answer import Refusal
from koordpy.plan.job import Demand

_ROOM = Change.NODE_ADDED | Change.NODE_GREW | Change.NODE_TAINTS | Change.ROOM_FREED
_MOST_NAMES = 5


def demands_of(group: GangGroup, cluster: Cluster) -> tuple[Demand, ...]:
    """What each gang of a group needs; those that need nothing more are left out."""
    gangs = cluster.gangs
    found = []
    for gang in filter(None, map(gangs.get, group)):
        own = gangs.group_of(gang.id)
        if gang.spec.match_policy == "once-satisfied" and gangs.has_started(own):
            continue  # its later members are ordinary pods
        members = tuple(sorted(gang.pending.values(), key=_by_age))
        demand = Demand(gang.id, gang.minimum, gang.counted, gang.spec.mode, members)
        if demand.needed or own == group:
            found.append(demand)
    return tuple(found)


def _by_age(member: PodRecord) -> tuple[int, float, str]:
    return -member.priority, member.created, member.name


# --- PreFilter ---


def not_ready(group: GangGroup, cluster: Cluster, culprit: str) -> Refusal | None:
    """Why a group may not even be attempted; None when it may."""
    own = cluster.gangs.own(group)
    if all(_is_ready(gang) for gang in own) and len(own) == len(group):
        return _resources_missing(own, cluster, culprit)  # the usual case
    for gang_id in group:
        problem = _problem(gang_id, group, cluster)
        if problem:
            return Refusal(problem, Change.NONE, culprit, plugins=frozenset(("Coscheduling",)))
    return _resources_missing(own, cluster, culprit)


def is_ready(group: GangGroup, cluster: Cluster) -> bool:
    """All of its gangs have come together, as far as members go. Asked with each member that arrives."""
    return all(_has_come(gang_id, cluster) for gang_id in group)


def _is_ready(gang: Gang) -> bool:
    return gang.initialised and gang.collected >= gang.minimum


def _has_come(gang_id: str, cluster: Cluster) -> bool:
    gang = cluster.gangs.get(gang_id)
    if gang is None or not gang.initialised:
        return False
    if gang.collected >= gang.minimum:
        return True
    return gang.spec.match_policy == "once-satisfied" and cluster.gangs.has_started(cluster.gangs.group_of(gang_id))


def _problem(gang_id: str, group: GangGroup, cluster: Cluster) -> str:
    if _has_come(gang_id, cluster):
        return ""
    gang = cluster.gangs.get(gang_id)
    if gang is None:
        waiting = next((each for each in group if each != gang_id and cluster.gangs.get(each)), "its group")
        return f"gang {gang_id} does not exist; gang {waiting} is in a group with it"
    if not gang.initialised:
        return _uninitialised(gang)
    return f"gang {gang_id} is incomplete: {gang.collected} of {gang.minimum} members{_absentees(gang)}"


def _uninitialised(gang: Gang) -> str:
    if gang.by_pod_group and not gang.pod_groups:
        return f"gang {gang.id} waits for PodGroup {gang.id}, which does not exist"
    return f"gang {gang.id} has no minimum: no member carries a legal gang.scheduling.koordinator.sh/min-available"


def _absentees(gang: Gang) -> str:
    """Why pods that belong to the gang do not count: ` (gated: p4; other scheduler: p5)`."""
    why: defaultdict[str, list[str]] = defaultdict(list)
    for record in gang.absent.values():
        if record.terminating:
            why["terminating"].append(record.name)
        elif record.gated:
            why["gated"].append(record.name)
        elif record.timed_out:
            why["timed out"].append(record.name)
        else:
            why["other scheduler"].append(record.name)
    if gang.spec.match_policy == "only-waiting" and gang.bound:
        why["already running, and the match policy is only-waiting"] = [r.name for r in gang.bound.values()]
    parts = [f"{reason}: {_names(names)}" for reason, names in sorted(why.items())]
    return f" ({'; '.join(parts)})" if parts else ""


def _names(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = len(ordered) - _MOST_NAMES
    return ", ".join(ordered[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _resources_missing(gangs: list[Gang], cluster: Cluster, culprit: str) -> Refusal | None:
    """`minResources` against what is free anywhere; what the gang's own members hold counts as free."""
    for gang in gangs:
        for name, wanted in gang.spec.min_resources:
            free = _free(name, gang, cluster)
            if free < wanted:
                text = (
                    f"gang {gang.id}: minResources asks for {name} {shown(name, wanted)}, "
                    f"and {shown(name, free)} are free"
                )
                return Refusal(text, _ROOM, culprit, plugins=frozenset(("Coscheduling",)))
    return None


def _free(name: str, gang: Gang, cluster: Cluster) -> int:
    if name not in cluster.resources.names:
        return 0
    resource, nodes = cluster.resources.row(name), cluster.nodes
    nodes.fit_resources()
    usable = nodes.live & ~nodes.unschedulable
    free = int(np.maximum(nodes.allocatable[resource] - nodes.requested[resource], 0)[usable].sum())
    for member in (*gang.assumed.values(), *gang.bound.values()):
        if member.shape is not None:
            free += int(member.shape.amounts[member.shape.rows == resource].sum())
    return free
