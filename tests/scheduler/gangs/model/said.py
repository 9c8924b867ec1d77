"""What pods say about why they are pending: every one says something, and it is true."""

from __future__ import annotations

from collections.abc import Iterator

from tests.scheduler.gangs.model.held import holds
from tests.scheduler.gangs.model.oracle import (
    Gangs,
    condition_of,
    gang_of,
    is_finished,
    is_gated,
    is_ours,
    is_pending,
    is_terminating,
    is_timed_out,
    node_of,
    shown,
    uid_of,
)
from tests.scheduler.gangs.model.world import World


def conditions_are_true(world: World) -> Iterator[str]:
    """Every pending pod of ours says why; a member of a gang that has not started says so in terms of its gang."""
    gangs = world.ledger.gangs()
    waiting = {uid for hold in holds(world) for uid in hold.places}
    for pod in world.truth.pods().values():
        if not is_ours(pod) or node_of(pod) or is_finished(pod) or is_terminating(pod) or is_gated(pod):
            continue
        text, gang = condition_of(pod), gang_of(pod)
        if not text:
            yield f"{uid_of(pod)} is pending, and says nothing"
        elif is_timed_out(pod) or not gang or _is_satisfied(gang, gangs, world):
            continue
        else:
            yield from (f"{uid_of(pod)} says {text!r}: {why}" for why in _untrue(text, gang, gangs, world, waiting))


def _is_satisfied(gang: str, gangs: Gangs, world: World) -> bool:
    """Its pending members are surplus: ordinary pods."""
    group = gangs.group_of(gang)
    own = [each for each in group if gangs.group_of(each) == group]
    return world.ledger.is_free(gang, gangs) or all(
        world.ledger.is_free(each, gangs)
        or (gangs.is_initialised(each) and not gangs.short_of(each, world.ledger.counting(each, gangs)))
        for each in own
    )


def _untrue(text: str, gang: str, gangs: Gangs, world: World, waiting: set[str]) -> Iterator[str]:
    group = gangs.group_of(gang)
    named = [each for each in group if any(f"gang {shown(each)}{mark}" in text for mark in " :,")]
    if not named and not text.startswith("binding failed"):
        yield "no gang of its group is named"
    for each in named:
        members = [uid_of(pod) for pod in gangs.members.get(each, [])]
        have = world.ledger.counted(each, gangs) + len(waiting.intersection(members))
        collected = have + sum(is_pending(pod) and uid_of(pod) not in waiting for pod in gangs.members.get(each, []))
        minimum, name = gangs.config(each).minimum, shown(each)
        if f"gang {name} is incomplete" in text and f" {collected} of {minimum} members" not in text:
            yield f"it has {collected} of {minimum}"
        if f"gang {name} does not exist" in text and each in gangs.members:
            yield "it does"
        if f"gang {name} waits for PodGroup" in text and gangs.pod_group(each) is not None:
            yield "it is there"
        if f"gang {name} has no minimum" in text and minimum is not None:
            yield "it has"
        if "members fit" in text and f"gang {name}:" in text and f" of {minimum} members fit" not in text:
            yield f"the minimum is {minimum}"
