"""The rules of gangs: when a group of them may be attempted, what each still needs, and what is missing if not.

PreFilter is `not_ready`; Permit is in the demands: a gang is complete when nothing of its demand is left to place.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType

import numpy as np

from koordpy.api.definitions import INSTALL
from koordpy.api.keys import SCHEDULER_ERROR
from koordpy.api.podgroup.frontends import ARBITRATOR, name_of
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import ANY, Demand
from koordpy.plan.placement.uniform import disagreement
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
_NOBODY = -(2**31)  # the lowest priority


def demands_of(group: GangGroup, cluster: Cluster) -> tuple[Demand, ...]:
    """What each gang of a group needs; not those that it merely lists, which start without it."""
    started = cluster.gangs.has_started(group)
    found: list[Demand] = []
    for gang in cluster.gangs.own(group):
        if gang.spec.match_policy == "once-satisfied" and started:
            continue  # its later members are ordinary pods
        found += demands_of_gang(gang)
    return tuple(found)


def demands_of_gang(gang: Gang) -> list[Demand]:
    """What one gang needs: one demand, or one for each of its parts."""
    members = tuple(sorted(gang.pending.values(), key=_by_age))
    if gang.spec.subgroups is None:
        return [Demand(gang.id, gang.minimum, gang.counted, gang.spec.mode, members)]
    return _demands_of_parts(gang, members)


def with_waiting(demands: Iterable[Demand], waiting: Collection[PodRecord], cluster: Cluster) -> tuple[Demand, ...]:
    """The demands of a job, were these pending again that wait at Permit.

    A gang with subgroups is asked anew. Of 1 ps and 2 workers, 5 in all, all but one waiting, only one is needed beyond
    the subgroups: beside the 3 that these need without the waiting ones, that would make 4.
    """
    found: list[Demand] = []
    for gang_id, each in groupby(demands, key=lambda demand: demand.gang):
        own, gang = tuple(each), cluster.gangs.get(gang_id)
        again = tuple(member for member in waiting if any(demand.may_have(member) for demand in own))
        if not again:
            found += own
        elif gang is None or gang.spec.subgroups is None:
            found += [replace(one, counted=one.counted - len(again), members=(*again, *one.members)) for one in own]
        else:
            pending = sorted(gang.pending.values(), key=_by_age)
            found += _demands_of_parts(gang, (*again, *pending), Counter(member.subgroup for member in again))
    return tuple(found)


def _demands_of_parts(
    gang: Gang, members: tuple[PodRecord, ...], again: Mapping[str, int] = MappingProxyType({})
) -> list[Demand]:
    """One for each subgroup that it starts with; one for each other that could start whole; one for what is beyond.

    The gang may need more members than its subgroups do together: of 1 ps and 2 workers, 5 in all. Then members that
    their own subgroup can spare have a demand of their own. `again` says how many of each subgroup are among the
    members, though they count as there.
    """
    by_part: defaultdict[str, list[PodRecord]] = defaultdict(list)
    for member in members:
        by_part[member.subgroup].append(member)
    parts = [
        Demand(
            gang.id,
            part.minimum,
            part.counted - again.get(part.subgroup, 0),
            gang.spec.mode,
            tuple(by_part[part.subgroup]),
            part.subgroup,
            part.optional,
        )
        for part in gang.parts()
        if not part.optional or part.counted + part.pending >= part.minimum
    ]
    counted = gang.counted - sum(again.values())
    beyond = max(0, gang.minimum - counted) - sum(demand.needed for demand in parts)
    if beyond <= 0:
        return parts
    needed = [replace(each, members=each.members[: each.lacking]) for each in parts]
    spared = tuple(m for each in parts if not each.optional for m in each.members[each.lacking :])
    return [*needed, Demand(gang.id, beyond, 0, gang.spec.mode, spared, ANY)]


def _by_age(member: PodRecord) -> tuple[int, float, str]:
    return -member.priority, member.created, member.name


# --- PreFilter ---


def not_ready(group: GangGroup, cluster: Cluster, culprit: str) -> Refusal | None:
    """Why a group may not even be attempted; None when it may."""
    own = cluster.gangs.own(group)
    for gang in own:
        if text := disagreement(gang):
            plugins = frozenset(("Coscheduling",))
            return Refusal(text, EventKind.NONE, culprit, SCHEDULER_ERROR, plugins=plugins, kind="Unsupported")
    if all(_is_ready(gang) for gang in own) and len(own) == len(group):
        return _only_parts_waiting(own, culprit) or _resources_missing(own, cluster, culprit)  # the usual case
    absent = [gang_id for gang_id in group if not _has_come(gang_id, group, cluster)]
    for problem in (_missing, _not_running):  # what somebody can mend, before what follows from it
        for gang_id in absent:
            if text := problem(gang_id, group, cluster):
                return _incomplete(text, culprit)
    return _resources_missing(own, cluster, culprit)


def _only_parts_waiting(gangs: list[Gang], culprit: str) -> Refusal | None:
    """All that is needed is there; what is pending belongs to further subgroups that are not complete."""
    split = [gang for gang in gangs if gang.spec.subgroups is not None and gang.pending]
    if not split or any(demand.members for gang in gangs for demand in demands_of_gang(gang)):
        return None
    return _incomplete(f"gang {split[0].name} has started{_in_parts(split[0], optional=True)}", culprit)


def _incomplete(text: str, culprit: str) -> Refusal:
    return Refusal(text, EventKind.NONE, culprit, plugins=frozenset(("Coscheduling",)), kind="Incomplete")


def is_ready(group: GangGroup, cluster: Cluster) -> bool:
    """All of its gangs have come together, as far as members go. Asked with each member that arrives."""
    return all(_has_come(gang_id, group, cluster) for gang_id in group)


def is_satisfied(member: PodRecord, cluster: Cluster) -> bool:
    """Permit, asked about a member that is reserved: it is free, or all gangs of its group are complete."""
    if cluster.gangs.is_free(member):
        return True
    group = cluster.gangs.group_of(member.gang)
    return is_ready(group, cluster) and not any(demand.needed for demand in demands_of(group, cluster))


def _is_ready(gang: Gang) -> bool:
    return gang.initialised and gang.has_enough


def _has_come(gang_id: str, group: GangGroup, cluster: Cluster) -> bool:
    gang = cluster.gangs.get(gang_id)
    if gang is None:
        return False
    if cluster.gangs.group_of(gang_id) != group:
        return _runs(gang, cluster)
    if not gang.initialised:
        return False
    if gang.has_enough:
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
        return f"gang {name_of(gang_id)} does not exist; gang {_own(group, cluster)} is in a group with it"
    if not gang.initialised:
        return _uninitialised(gang, cluster)
    if not gang.has_enough:
        have = f"{gang.collected} of {gang.minimum} members"
        return f"gang {gang.name} is incomplete: {have}{_in_parts(gang)}{_absentees(gang, cluster)}"
    return ""


def _in_parts(gang: Gang, *, optional: bool = False) -> str:
    """`; subgroup worker has 1 of 2 members`."""
    parts = (
        (part, part.counted + part.pending) for part in gang.parts() if part.subgroup and part.optional is optional
    )
    short = [(part, there) for part, there in parts if there < part.minimum and (there or not optional)]
    return "".join(f"; subgroup {part.subgroup} has {there} of {part.minimum} members" for part, there in short)


def _not_running(gang_id: str, group: GangGroup, cluster: Cluster) -> str:
    return f"gang {name_of(gang_id)} is not running yet; gang {_own(group, cluster)} waits for it"


def _own(group: GangGroup, cluster: Cluster) -> str:
    """A gang that waits for all of the group."""
    return next((gang.name for gang in cluster.gangs.own(group)), "its group")


def _uninitialised(gang: Gang, cluster: Cluster) -> str:
    kind = gang.front_end.kind
    if gang.needs_object and not gang.objects and not cluster.gangs.is_served(gang.front_end):
        return f"gang {gang.name} waits for {kind} {gang.name}, but {kind}s are not installed: {INSTALL}"
    if gang.needs_object and not gang.objects and gang.front_end is ARBITRATOR:
        return f"the pods of {gang.name} wait for their SchedulingSpec, which does not exist"
    if gang.needs_object and not gang.objects:
        return f"gang {gang.name} waits for {kind} {gang.name}, which does not exist"
    if not (gang.objects or gang.pending or gang.assumed or gang.bound):
        return f"gang {gang.name} has no members{_absentees(gang, cluster)}"
    return no_minimum(gang)


def no_minimum(gang: Gang) -> str:
    """What is wrong with a gang by annotations of which nobody says a minimum that can be used."""
    return f"gang {gang.name} has no minimum: no member carries a legal gang.scheduling.koordinator.sh/min-available"


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
        elif cluster.gangs.is_stray(record):
            why["of no subgroup"].append(record.name)
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
                    f"gang {gang.name}: minResources asks for {name} {shown(name, wanted)}, "
                    f"and {shown(name, free)} are free{tail}"
                )
                return Refusal(text, _ROOM, culprit, plugins=frozenset(("Coscheduling",)), kind="Resources")
    return None


def _could_be_freed(name: str, gang: Gang, cluster: Cluster) -> int:
    """What evictions could add, and what victims are about to give back; that it fits is for the planner to say."""
    if name not in cluster.resources.names or not cluster.evictions.evictable.in_use:
        return 0
    if not all(member.preempts for member in gang.pending.values()):
        return 0
    queue = next((member.queue for member in gang.pending.values()), "")
    preemptor = Preemptor(min((member.priority for member in gang.pending.values()), default=_NOBODY), queue)
    reach = cluster.evictions.reach(preemptor)
    running = ((each.shape, int(each.counts.sum())) for each in cluster.evictions.evictable.counts(reach.classes))
    leaving = ((pod.shape, 1) for pod in cluster.evictions.leaving_for(preemptor))
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
    group, preemptor = (
        {gang.id for gang in gangs},
        Preemptor(
            max(gang.priority for gang in gangs), next((m.queue for gang in gangs for m in gang.pending.values()), "")
        ),
    )
    yielding = (
        pod for pod in cluster.gangs.all_waiting() if pod.gang not in group and cluster.evictions.yields(pod, preemptor)
    )
    for member in (*own, *yielding):  # those that merely wait at Permit are unreserved if need be
        if member.shape is not None:
            free += amount_of(member.shape, name, cluster)
    return free
