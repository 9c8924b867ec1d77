"""What is held, and by whom: a place that is assumed belongs to a bind under way, or to a gang that accumulates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.scheduler.gangs.model.oracle import Gangs, gang_of, is_ours, is_pending, node_of
from tests.scheduler.gangs.model.world import World


class Hold(NamedTuple):
    """Room that a waiting group keeps."""

    key: str
    priority: int
    places: dict[str, str]  # UID -> node


def holds(world: World) -> list[Hold]:
    cluster, pods = world.rig.cluster, world.truth.pods()
    found = []
    for stay in world.rig.room:
        members = world.rig.room.members(stay.key)
        tied = [pod for pod in pods.values() if gang_of(pod) in stay.group and is_pending(pod)]
        priority = max((pod["spec"]["priority"] for pod in tied), default=0)
        found.append(Hold(stay.key, priority, {member.uid: cluster.pods[member.uid].node for member in members}))
    return found


def every_place_has_an_owner(world: World) -> Iterator[str]:
    """Nothing is assumed for nobody; a pod that was bound and is gone meanwhile, until the watch says so."""
    owners = {uid for stay in world.rig.room for uid in stay.uids} | world.ledger.released.keys()
    alive = world.truth.pods().keys()
    for record in world.rig.cluster.pods.values():
        if record.node and not record.bound and record.uid in alive - owners:
            yield f"{record.uid} is assumed on {record.node}, and nobody binds it"


def what_is_bound_is_counted(world: World) -> Iterator[str]:
    """What the API server has accepted is never assumed lost, whether we were told or not."""
    known = world.rig.cluster.pods
    for uid, pod in world.truth.pods().items():
        if is_ours(pod) and node_of(pod) and uid in known and known[uid].node != node_of(pod):
            yield f"{uid} is bound to {node_of(pod)}, and is thought to be on {known[uid].node!r}"


def nothing_is_under_way(world: World) -> Iterator[str]:
    if world.ledger.released:
        yield f"{sorted(world.ledger.released)} were released and never bound"


def the_room_is_for_those_who_accumulate(world: World) -> Iterator[str]:
    pods, gangs = world.truth.pods(), world.ledger.gangs()
    for stay in world.rig.room:
        members = [member.uid for member in world.rig.room.members(stay.key)]
        if not members:
            yield f"{stay.key} is in the waiting room without anybody"
        for uid in members:
            if uid not in pods or not is_pending(pods[uid]):
                yield f"{uid} waits, and is not to be bound"
            elif gang_of(pods[uid]) not in stay.group:
                yield f"{uid} waits with {stay.key}, and belongs to {gang_of(pods[uid])}"
        yield from _not_accumulating(world, gangs, stay.group, set(members))


def _not_accumulating(world: World, gangs: Gangs, group: tuple[str, ...], waiting: set[str]) -> Iterator[str]:
    if not any(gangs.group_of(each) == group for each in group):
        yield f"{group} waits, and is no group"
    short = []
    for each in [each for each in group if gangs.group_of(each) == group]:
        if each not in gangs.members or not gangs.is_initialised(each):
            yield f"{group} waits, and {each} cannot start"
            continue
        config = gangs.config(each)
        here = [pod for pod in gangs.members[each] if pod["metadata"]["uid"] in waiting]
        have = [*world.ledger.counting(each, gangs), *here]
        if not world.ledger.is_free(each, gangs) and gangs.short_of(each, have):
            short.append(each)
            if config.mode == "Strict":
                yield f"{group} waits, and {each} is Strict and has {len(have)} of {config.minimum}"
    if not short:
        yield f"{group} waits, and is complete"
