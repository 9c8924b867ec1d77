"""The scheduler's picture at rest is what is true, and has nothing of what is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from koordpy.scheduler.queue.ticket import State
from tests.scheduler.gangs.model.held import holds
from tests.scheduler.gangs.model.oracle import (
    Gangs,
    cpu_of,
    is_finished,
    is_pending,
    is_terminating,
    node_of,
    runs,
    uid_of,
)
from tests.scheduler.gangs.model.truth import NODES
from tests.scheduler.gangs.model.world import World


def gangs_are_as_they_are(world: World) -> Iterator[str]:
    """Members stand where the truth has them."""
    table, gangs = world.rig.cluster.gangs, world.ledger.gangs()
    waiting = {uid for hold in holds(world) for uid in hold.places}
    for name, pods in gangs.members.items():
        living = [pod for pod in pods if not is_finished(pod)]
        gang = table.get(name)
        if gang is None:
            if living or gangs.pod_group(name):
                yield f"gang {name} is not known"
            continue
        standing = {
            "pending": {uid_of(pod) for pod in living if is_pending(pod) and uid_of(pod) not in waiting},
            "assumed": {uid_of(pod) for pod in living if uid_of(pod) in waiting},
            "bound": {uid_of(pod) for pod in living if runs(pod)},
            "absent": {uid_of(pod) for pod in living if not runs(pod) and not is_pending(pod)},
            "succeeded": {uid_of(pod) for pod in gangs.succeeded(name)},
            "accepted": set(),
        }
        for field, uids in standing.items():
            if set(getattr(gang, field)) != uids:
                yield f"gang {name}: {field} are {sorted(getattr(gang, field))}, and should be {sorted(uids)}"
        yield from _other_config(gang, gangs)


def _other_config(gang: Any, gangs: Gangs) -> Iterator[str]:
    config, spec = gangs.config(gang.id), gang.spec
    if (spec.minimum, spec.mode, spec.match_policy) != (config.minimum, config.mode, config.policy):
        yield f"gang {gang.id} is taken for {spec}, and is {config}"
    if gang.initialised != gangs.is_initialised(gang.id):
        yield f"gang {gang.id} is thought initialised: {gang.initialised}"


def nodes_count_what_is_there(world: World) -> Iterator[str]:
    columns = world.rig.cluster.nodes
    pods, held = world.truth.pods(), {uid: node for hold in holds(world) for uid, node in hold.places.items()}
    for name in world.truth.objects[NODES]:
        here = [pod for pod in pods.values() if node_of(pod) == name and not is_finished(pod)]
        here += [pods[uid] for uid, node in held.items() if node == name]
        used, counted = sum(map(cpu_of, here)) * 1000, int(columns.requested[0, columns.row_of(name)])
        if used != counted:
            yield f"{name} counts {counted}m, and has {used}m"


def nothing_is_kept_of_the_gone(world: World) -> Iterator[str]:
    rig, pods, gangs = world.rig, world.truth.pods(), world.ledger.gangs()
    table, queue = rig.cluster.gangs, rig.queue
    living = {uid for uid, pod in pods.items() if not is_finished(pod)}
    groups = {",".join(gangs.group_of(each)) for each in gangs.members}
    kept = {
        "pods": (rig.cluster.pods.keys(), living),
        "gangs": ({gang.id for gang in table}, gangs.members.keys()),
        "lists of gangs": (table._groups._lists.keys(), gangs.members.keys()),
        "finished members": (table._finished.keys(), pods.keys() - living),
        "abandoned members": (table._abandoned, living),
        "members to be evicted": (table._evicting, {uid for uid, pod in pods.items() if is_terminating(pod)}),
        "groups of tickets": (rig.jobs._groups.keys(), queue._tickets.keys()),
        "gangs that were freed": (rig.jobs._freed, gangs.members.keys()),
        "tickets": (queue._tickets.keys(), living | groups),
        "messages": (rig.throttle._said.keys(), living),
    }
    for what, (has, should) in kept.items():
        if more := set(has) - set(should):
            yield f"{what} are kept: {sorted(more)}"
    if rig.cluster.changes:
        yield "changes were not delivered"
    parked = [ticket for ticket in queue._tickets.values() if ticket.state is not State.UNSCHEDULABLE]
    if parked:
        yield f"{[(ticket.key, ticket.state) for ticket in parked]} are not asleep"
    if sum(each.tickets for each in queue._unschedulable.values()) != len(queue._tickets):
        yield "the sleepers are miscounted"
