"""The rules of gangs: when a group of them may be attempted, what each still needs, and what is missing if not.

PreFilter is `not_ready`; Permit is in the demands: a gang is complete when nothing of its demand is left to place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Demand
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.eviction import Preemptor
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.nodes.resources import shown
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape

_ROOM = EventKind.NODE_ADDED | EventKind.NODE_GREW | EventKind.NODE_TAINTS | EventKind.ROOM_FREED | EventKind.VICTIMS
_MOST_NAMES = 5
_INSTALL = "koordpy crds | kubectl apply -f -"
_NOBODY = -(2**31)  # the lowest priority


def demands_of(group: GangGroup, cluster: Cluster) -> tuple[Demand, ...]:
    """What each gang of a group needs; not those that it merely lists, which start without it."""
    started = cluster.gangs.has_started(group)
    found = []
    for gang in cluster.gangs.own(group):
        if gang.spec.match_policy == "once-satisfied" and started:
            continue  # its later members are ordinary pods
        members = tuple(sorted(gang.pending.values(), key=_by_age))
        found.append(Demand(gang.id, gang.minimum, gang.counted, gang.spec.mode, members))
    return tuple(found)


def _by_age(member: PodRecord) -> tuple[int, float, str]:
    return -member.priority, member.created, member.name


# --- PreFilter ---


def not_ready(group: GangGroup, cluster: Cluster, culprit: str) -> Refusal | None:
    """Why a group may not even be attempted; None when it may."""
    own = cluster.gangs.own(group)
    if all(_is_ready(gang) for gang in own) and len(own) == len(group):
        return _resources_missing(own, cluster, culprit)  # the usual case
    absent = [gang_id for gang_id in group if not _has_come(gang_id, group, cluster)]
    for problem in (_missing, _not_running):  # what somebody can mend, before what follows from it
        for gang_id in absent:
            if text := problem(gang_id, group, cluster):
                return Refusal(text, EventKind.NONE, culprit, plugins=frozenset(("Coscheduling",)))
    return _resources_missing(own, cluster, culprit)


def is_ready(group: GangGroup, cluster: Cluster) -> bool:
    """All of its gangs have come together, as far as members go. Asked with each member that arrives."""
    return all(_has_come(gang_id, group, cluster) for gang_id in group)


def _is_ready(gang: Gang) -> bool:
    return gang.initialised and gang.collected >= gang.minimum


def _has_come(gang_id: str, group: GangGroup, cluster: Cluster) -> bool:
    gang = cluster.gangs.get(gang_id)
    if gang is None:
        return False
    if cluster.gangs.group_of(gang_id) != group:
        return _runs(gang, cluster)
    if not gang.initialised:
        return False
    if gang.collected >= gang.minimum:
        return True
    return gang.spec.match_policy == "once-satisfied" and cluster.gangs.has_started(group)


def _runs(gang: Gang, cluster: Cluster) -> bool:
    """Whoever lists a gang that does not list it back waits until that one runs, which starts without the other."""
    if gang.spec.match_policy == "waiting-and-running":
        return gang.is_bound
    return cluster.gangs.has_started(cluster.gangs.group_of(gang.id)) or gang.spec.minimum == 0


def _missing(gang_id: str, group: GangGroup, cluster: Cluster) -> str:
    """What the gang itself lacks."""
    gang = cluster.gangs.get(gang_id)
    if gang is None:
        return f"gang {gang_id} does not exist; gang {_own(group, cluster)} is in a group with it"
    if not gang.initialised:
        return _uninitialised(gang, cluster)
    if gang.collected < gang.minimum:
        return f"gang {gang_id} is incomplete: {gang.collected} of {gang.minimum} members{_absentees(gang, cluster)}"
    return ""


def _not_running(gang_id: str, group: GangGroup, cluster: Cluster) -> str:
    return f"gang {gang_id} is not running yet; gang {_own(group, cluster)} waits for it"


def _own(group: GangGroup, cluster: Cluster) -> str:
    """A gang that waits for all of the group."""
    return next((gang.id for gang in cluster.gangs.own(group)), "its group")


def _uninitialised(gang: Gang, cluster: Cluster) -> str:
    if gang.by_pod_group and not gang.pod_groups and not cluster.gangs.pod_groups_served:
        return f"gang {gang.id} waits for PodGroup {gang.id}, but PodGroups are not installed: {_INSTALL}"
    if gang.by_pod_group and not gang.pod_groups:
        return f"gang {gang.id} waits for PodGroup {gang.id}, which does not exist"
    if not (gang.pod_groups or gang.pending or gang.assumed or gang.bound):
        return f"gang {gang.id} has no members{_absentees(gang, cluster)}"
    return no_minimum(gang)


def no_minimum(gang: Gang) -> str:
    """What is wrong with a gang by annotations of which nobody says a minimum that can be used."""
    return f"gang {gang.id} has no minimum: no member carries a legal gang.scheduling.koordinator.sh/min-available"


def _absentees(gang: Gang, cluster: Cluster) -> str:
    """Why pods that belong to the gang do not count: ` (gated: p4; other scheduler: p5)`."""
    why: defaultdict[str, list[str]] = defaultdict(list)
    for record in gang.absent.values():
        if record.terminating:
            why["terminating"].append(record.name)
        elif record.gated:
            why["gated"].append(record.name)
        elif record.timed_out:
            why["timed out"].append(record.name)
        elif cluster.gangs.is_evicting(record.uid):
            why["being evicted"].append(record.name)
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
    """`minResources` against what is free anywhere; what members of the group hold counts as free.

    So does what could be freed for it: otherwise a gang that says what it needs could never preempt.
    """
    for gang in gangs:
        for name, wanted in gang.spec.min_resources:
            free = _free(name, gangs, cluster)
            if free >= wanted:
                continue
            more = _could_be_freed(name, gang, cluster)
            if free + more < wanted:
                tail = f", or {shown(name, free + more)} without everything of lower priority" if more else ""
                text = (
                    f"gang {gang.id}: minResources asks for {name} {shown(name, wanted)}, "
                    f"and {shown(name, free)} are free{tail}"
                )
                return Refusal(text, _ROOM, culprit, plugins=frozenset(("Coscheduling",)))
    return None


def _could_be_freed(name: str, gang: Gang, cluster: Cluster) -> int:
    """What evictions could add, and what victims are about to give back; that it fits is for the planner to say."""
    if name not in cluster.resources.names or not cluster.evictable.in_use:
        return 0
    if not all(member.preempts for member in gang.pending.values()):
        return 0
    preemptor = Preemptor(min((member.priority for member in gang.pending.values()), default=_NOBODY))
    reach = cluster.reach(preemptor)
    running = ((each.shape, int(each.counts.sum())) for each in cluster.evictable.counts(reach.classes))
    leaving = ((pod.shape, 1) for pod in cluster.leaving_for(preemptor))
    return sum(amount_of(shape, name, cluster) * count for shape, count in (*running, *leaving) if shape is not None)


def amount_of(shape: Shape, name: str, cluster: Cluster) -> int:
    """What a pod of a shape asks for of a resource, in the columns' units."""
    if name not in cluster.resources.names:
        return 0
    return int(shape.amounts[shape.rows == cluster.resources.row(name)].sum())


def _free(name: str, gangs: list[Gang], cluster: Cluster) -> int:
    if name not in cluster.resources.names:
        return 0
    resource, nodes = cluster.resources.row(name), cluster.nodes
    nodes.fit_resources()
    usable = nodes.live & ~nodes.unschedulable
    free = int(np.maximum(nodes.allocatable[resource] - nodes.requested[resource], 0)[usable].sum())
    own = [member for gang in gangs for member in (*gang.assumed.values(), *gang.bound.values())]
    group, preemptor = {gang.id for gang in gangs}, Preemptor(max(gang.priority for gang in gangs))
    yielding = (pod for pod in cluster.gangs.all_waiting() if pod.gang not in group and cluster.yields(pod, preemptor))
    for member in (*own, *yielding):  # those that merely wait at Permit are unreserved if need be
        if member.shape is not None:
            free += amount_of(member.shape, name, cluster)
    return free
