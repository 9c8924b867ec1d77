"""Preemption, the most important rules: whole jobs make room for themselves, or touch nobody."""

from __future__ import annotations

from typing import Any

from tests.builders import pod_json
from tests.scenarios import api
from tests.scenarios.objects import gang, members
from tests.scenarios.world import World

LOW, HIGH = 10, 100


async def pods(
    world: World, *names: str, priority: int, annotations: dict[str, str] | None = None, **given: Any
) -> None:
    """Pods that preempt, whom the scheduler may evict."""
    preempting = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": priority}
    preempting |= {"metadata": {"name": f"preempting-{priority}"}, "preemptionPolicy": "PreemptLowerPriority"}
    try:
        await world.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", preempting)
    except api.Refused as refusal:
        if refusal.status != 409:
            raise
    for name in names:
        obj = pod_json(name, namespace=world.namespace, **given)
        obj["metadata"] |= {"annotations": world.filled(annotations)}
        obj["spec"] |= {"priorityClassName": f"preempting-{priority}"}
        await world._create(obj)
        world._may_go(name)


def is_leaving(world: World, name: str) -> bool:
    found = world.mirror.pod(world.namespace, name)
    return found is None or "deletionTimestamp" in found["metadata"]


async def vanish(world: World, *names: str) -> None:
    """Their nodes have stopped them."""
    for name in names:
        await world.api.ask("DELETE", api.pods(world.namespace, name), {"gracePeriodSeconds": 0})


async def test_a_pod_makes_room_for_itself(world: World) -> None:
    await world.nodes(1, cpu=1)
    await pods(world, "low", cpu=1, priority=LOW)
    await world.bound("low")
    await pods(world, "high", cpu=1, priority=HIGH)
    await world.until(lambda: is_leaving(world, "low"), "low is evicted")
    await vanish(world, "low")
    await world.bound("high")
    await world.event("Preempted", pod="low")


async def test_a_gang_evicts_exactly_those_it_needs(world: World) -> None:
    await world.nodes(3, cpu=1)
    await pods(world, "low-1", "low-2", "low-3", cpu=1, priority=LOW)
    await world.bound("low-1", "low-2", "low-3")
    await pods(world, *members("a", 2), annotations=gang("a", minimum=2), cpu=1, priority=HIGH)
    await world.until(lambda: sum(is_leaving(world, f"low-{i}") for i in (1, 2, 3)) == 2, "two are evicted")
    await world.all_say(
        "preemption: found a potential placement for all members, preempting 2 victims", *members("a", 2)
    )
    gone = [f"low-{i}" for i in (1, 2, 3) if is_leaving(world, f"low-{i}")]
    await vanish(world, *gone)
    await world.bound(*members("a", 2))
    assert sum(is_leaving(world, f"low-{i}") for i in (1, 2, 3) if f"low-{i}" not in gone) == 0


async def test_nobody_is_evicted_for_a_gang_that_does_not_fit_all_the_same(world: World) -> None:
    await world.nodes(2, cpu=1)
    await pods(world, "low", cpu=1, priority=LOW)
    await pods(world, "equal", cpu=1, priority=HIGH)
    await world.bound("low", "equal")
    await pods(world, *members("a", 2), annotations=gang("a", minimum=2), cpu=1, priority=HIGH)
    await world.all_say(
        "preemption: would fit 1 of 2 members even with everything of lower priority gone", *members("a", 2)
    )
    await world.pending(*members("a", 2))


async def test_equal_priority_is_never_evicted(world: World) -> None:
    await world.nodes(1, cpu=1)
    await pods(world, "first", cpu=1, priority=HIGH)
    await world.bound("first")
    await pods(world, "second", cpu=1, priority=HIGH)
    await world.says("second", "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")
    await world.pending("second")


async def test_the_room_of_victims_is_kept_for_the_job(world: World) -> None:
    await world.nodes(1, cpu=1)
    await pods(world, "low", cpu=1, priority=LOW)
    await world.bound("low")
    await pods(world, "high", cpu=1, priority=HIGH)
    await world.until(lambda: is_leaving(world, "low"), "low is evicted")
    await pods(world, "other", cpu=1, priority=LOW)
    await world.until(lambda: world.pod("high")["status"].get("nominatedNodeName") == "n1", "high is promised n1")
    await vanish(world, "low")
    await world.bound("high")
    await world.pending("other")


async def test_a_restart_evicts_nobody_again(world: World) -> None:
    await world.nodes(2, cpu=1)
    await pods(world, "low-1", "low-2", cpu=1, priority=LOW)
    await world.bound("low-1", "low-2")
    await pods(world, "high", cpu=1, priority=HIGH)
    await world.until(lambda: is_leaving(world, "low-1") or is_leaving(world, "low-2"), "one is evicted")
    await world.restart()
    await world.pending("high")
    leaving = [name for name in ("low-1", "low-2") if is_leaving(world, name)]
    assert len(leaving) == 1
    await vanish(world, *leaving)
    await world.bound("high")
