"""Nobody is left pending who could run: every job at rest is asked again, by a search of our own."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, product
from typing import NamedTuple

from tests.builders import Json
from tests.scheduler.gangs.model.held import Hold, holds
from tests.scheduler.gangs.model.oracle import (
    Gangs,
    cpu_of,
    gang_of,
    is_finished,
    is_pending,
    is_terminating,
    node_of,
    subgroup_of,
    uid_of,
)
from tests.scheduler.gangs.model.search import Need, can_place
from tests.scheduler.gangs.model.truth import NODES
from tests.scheduler.gangs.model.world import World


class Job(NamedTuple):
    """Pods that are pending, and what of them must start together."""

    name: str
    group: tuple[str, ...]  # of gangs; none for a pod by itself
    priority: int
    needs: tuple[tuple[Need, ...], ...]  # ways in which it could start; one of them is enough


def nobody_oversleeps(world: World) -> Iterator[str]:
    """Nothing is pending that fits beside what is held by those of at least its priority."""
    all_holds = holds(world)
    for job in _jobs(world, all_holds):
        lower = {hold.key for hold in all_holds if hold.priority < job.priority} - {job.name}
        if _fits(job, lower, world, all_holds):
            yield f"{job.name} would fit, and sleeps" + (f" for {sorted(lower)}" if lower else "")


def nobody_waits_for_each_other(world: World) -> Iterator[str]:
    """No group that waits would be complete if others of no higher priority that wait let go."""
    all_holds = holds(world)
    own = {hold.key: hold for hold in all_holds}
    for job in _jobs(world, all_holds) if len(all_holds) > 1 else ():
        if job.name in own:
            rivals = {hold.key for hold in all_holds if hold.priority <= own[job.name].priority} - {job.name}
            if rivals and _fits(job, rivals, world, all_holds):
                yield f"{job.name} would be complete without what {sorted(rivals)} hold"


def nobody_stands_in_its_own_way(world: World) -> Iterator[str]:
    """No group that waits would be complete if its members were placed anew."""
    all_holds = holds(world)
    for hold in all_holds:
        others = [each for each in all_holds if each is not hold]
        for job in _jobs(world, others):
            if job.name == hold.key and _fits(job, (), world, others):
                yield f"{job.name} would be complete without what it holds itself"


def a_flush_finds_nobody(world: World) -> Iterator[str]:
    """The scheduler is asked the same: woken for no reason, none of its jobs gets any further."""
    before = _whereabouts(world)
    world.rig.queue.flush(older_than_s=-1.0)
    world.come_to_rest()
    moved = sorted(uid for uid, node in _whereabouts(world).items() - before.items() if node)
    if moved:
        yield f"{moved} found places after a flush alone"


def _whereabouts(world: World) -> dict[str, str]:
    return {record.uid: record.node for record in world.rig.cluster.pods.values()}


# --- jobs ---


def _jobs(world: World, all_holds: list[Hold]) -> Iterator[Job]:
    gangs = world.ledger.gangs()
    held = {uid for hold in all_holds for uid in hold.places}
    asking = [pod for uid, pod in world.truth.pods().items() if is_pending(pod) and uid not in held]
    for pod in asking:
        gang = gang_of(pod)
        if not gang or world.ledger.is_free(gang, gangs):
            yield Job(pod["metadata"]["uid"], (), pod["spec"].get("priority", 0), ((Need(1, (pod,)),),))
    for group in sorted({gangs.group_of(gang) for gang in gangs.members}):
        if _has_come(group, gangs, world, held):
            yield from _job_of(group, gangs, world, held, asking)


def _job_of(group: tuple[str, ...], gangs: Gangs, world: World, held: set[str], asking: list[Json]) -> Iterator[Job]:
    tied = [each for each in _own(group, gangs) if not world.ledger.is_free(each, gangs)]
    ways = [_ways(each, gangs, world, held, asking) for each in tied]
    needs = tuple(tuple(chain.from_iterable(way)) for way in product(*ways))
    pending = tuple(pod for pod in asking if gang_of(pod) in tied)
    if not any(need.count for need in needs[0]):
        needs = ((Need(1, pending),),)  # it is complete, and they are surplus
    if pending:
        yield Job(",".join(group), group, max(pod["spec"].get("priority", 0) for pod in pending), needs)


def _ways(gang: str, gangs: Gangs, world: World, held: set[str], asking: list[Json]) -> list[tuple[Need, ...]]:
    """What a gang lacks; of one with subgroups, each way to divide among them what all together lack beyond that."""
    config, there = gangs.config(gang), _have(gang, gangs, world, held)
    pending = [pod for pod in asking if gang_of(pod) == gang]
    missing = max((config.minimum or 0) - len(there), 0)
    if not config.parts:
        return [(Need(missing, tuple(pending)),)]
    lacking = [max(least - sum(subgroup_of(pod) == name for pod in there), 0) for name, least in config.parts]
    of_part = [tuple(pod for pod in pending if subgroup_of(pod) == name) for name, _ in config.parts]
    beyond = max(missing - sum(lacking), 0)
    return [
        (Need(lacking[0] + more, of_part[0]), Need(lacking[1] + beyond - more, of_part[1]))
        for more in range(beyond + 1)
    ]


def _own(group: tuple[str, ...], gangs: Gangs) -> list[str]:
    return [each for each in group if each in gangs.members and gangs.group_of(each) == group]


def _have(gang: str, gangs: Gangs, world: World, held: set[str]) -> list[Json]:
    waiting = [pod for pod in gangs.members[gang] if pod["metadata"]["uid"] in held]
    return [*world.ledger.counting(gang, gangs), *waiting]


def _has_come(group: tuple[str, ...], gangs: Gangs, world: World, held: set[str]) -> bool:
    """All of its gangs are there with their members; those that do not list it back run already."""
    for each in group:
        if each not in gangs.members:
            return False
        if gangs.group_of(each) != group:
            if not world.ledger.runs(each, gangs):
                return False
        elif not gangs.is_initialised(each):
            return False
        elif not world.ledger.is_free(each, gangs):
            others = [pod for pod in gangs.members[each] if is_pending(pod) and uid_of(pod) not in held]
            if gangs.short_of(each, [*_have(each, gangs, world, held), *others]):
                return False
    return True


# --- room ---


def _fits(job: Job, gone: Collection[str], world: World, all_holds: list[Hold]) -> bool:
    """Whether a job finds room once these let go of what they hold."""
    nodes, free = world.truth.objects[NODES], _free(gone, world, all_holds)
    return _resources_suffice(job, free, world) and any(can_place(way, free, nodes) for way in job.needs)


def _free(gone: Collection[str], world: World, all_holds: list[Hold]) -> dict[str, int]:
    free = {name: int(node["status"]["allocatable"]["cpu"]) for name, node in world.truth.objects[NODES].items()}
    pods = world.truth.pods()
    places = {uid: node_of(pod) for uid, pod in pods.items() if not is_finished(pod)}
    for hold in all_holds:
        if hold.key not in gone:
            places |= hold.places
    for uid, node in places.items():
        if node in free:
            free[node] -= cpu_of(pods[uid])
    return free


def _resources_suffice(job: Job, free: dict[str, int], world: World) -> bool:
    """`minResources`; what members of the group have counts as free."""
    gangs, nodes = world.ledger.gangs(), world.truth.objects[NODES]
    there = sum(max(cpu, 0) for name, cpu in free.items() if not nodes[name]["spec"].get("unschedulable"))
    own = _own(job.group, gangs)
    for pod in (pod for each in own for pod in gangs.members[each]):
        record = world.rig.cluster.pods.get(uid_of(pod))
        if record is not None and record.node and not is_terminating(pod):
            there += cpu_of(pod)
    return all(there >= gangs.config(each).min_cpu for each in own)
