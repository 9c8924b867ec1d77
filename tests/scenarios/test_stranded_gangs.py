"""Gangs that lost members otherwise than by preemption: completed first, and not left stranded for ever if asked so."""

from __future__ import annotations

import asyncio

from tests.scenarios.objects import condition, members
from tests.scenarios.world import World

GRACE = "koordpy.io/staleness-grace-period"


async def _loses_a_member(world: World, grace: str | None = "60s", *, minimum: int = 3) -> None:
    """A gang of three on three nodes, of which one is gone with its pod."""
    await world.nodes(3, cpu=1)
    await world.pod_group("g", minimum=minimum, annotations={GRACE: grace} if grace else {})
    await world.pods(*members("g", 3), gang="g", cpu=1)
    await world.bound(*members("g", 3))
    lost = next(name for name in members("g", 3) if world.node_names(name) == ["n3"])
    await world.delete_node("n3")
    await world.delete(lost)
    await world.pods("g-4", gang="g", cpu=1)
    await world.says("g-4", "Insufficient cpu")


def left(world: World) -> list[str]:
    return [name for name in members("g", 3) if world.mirror.pod(world.namespace, name) is not None]


async def test_what_is_left_of_a_gang_is_evicted_when_its_time_is_up(virtual: World) -> None:
    await _loses_a_member(virtual)
    rest = left(virtual)
    virtual.may_evict(*rest)
    await asyncio.sleep(70)
    for name in rest:
        assert "deletionTimestamp" in virtual.pod(name)["metadata"]
        told = condition(virtual.pod(name), "DisruptionTarget")
        assert told["reason"] == "GangStale"
        await virtual.event("GangStale", pod=name)
    text = f"gang {virtual.namespace}/g has had 2 of 3 members for 60s and cannot be completed"
    await virtual.event("GangStale", pod_group="g", text=text)


async def test_a_gang_that_went_as_stale_comes_back_as_a_whole(virtual: World) -> None:
    await _loses_a_member(virtual)
    rest = left(virtual)
    virtual.may_evict(*rest)
    await asyncio.sleep(70)
    await virtual.pods("g-5", "g-6", gang="g", cpu=1)
    await virtual.gone(*rest)
    await virtual.pending("g-4", "g-5", "g-6")
    await virtual.node("n4", cpu=1)
    await virtual.bound("g-4", "g-5", "g-6")


async def test_without_a_time_nobody_is_evicted(virtual: World) -> None:
    await _loses_a_member(virtual, None)
    await asyncio.sleep(7200)
    assert len(left(virtual)) == 2


async def test_a_gang_that_is_completed_in_time_stays(virtual: World) -> None:
    await _loses_a_member(virtual)
    await asyncio.sleep(30)
    await virtual.node("n4", cpu=1)
    await virtual.bound("g-4")
    await asyncio.sleep(120)
    assert len(left(virtual)) == 2


async def test_a_gang_that_is_merely_finishing_stays(virtual: World) -> None:
    await virtual.nodes(3, cpu=1)
    await virtual.pod_group("g", minimum=3, annotations={GRACE: "60s"})
    await virtual.pods(*members("g", 3), gang="g", cpu=1)
    await virtual.bound(*members("g", 3))
    await virtual.finish("g-1")
    await virtual.delete("g-1")
    await asyncio.sleep(120)
    assert left(virtual) == ["g-2", "g-3"]


async def test_the_configuration_can_give_all_gangs_a_time(virtual: World) -> None:
    await virtual.restart(stalenessGracePeriod="30s")
    await _loses_a_member(virtual, None)
    rest = left(virtual)
    virtual.may_evict(*rest)
    await asyncio.sleep(40)
    assert all("deletionTimestamp" in virtual.pod(name)["metadata"] for name in rest)


async def test_an_eviction_that_fails_is_tried_again_after_the_same_time(virtual: World) -> None:
    await _loses_a_member(virtual)
    rest = left(virtual)
    virtual.may_evict(*rest)
    virtual.refuses("evict", pod=rest[0], status=403)
    await asyncio.sleep(70)
    assert "deletionTimestamp" not in virtual.pod(rest[0])["metadata"]
    await asyncio.sleep(70)
    assert "deletionTimestamp" in virtual.pod(rest[0])["metadata"]


async def test_a_gang_with_a_protected_member_is_left_alone_and_says_so(virtual: World) -> None:
    await _loses_a_member(virtual)
    first, second = left(virtual)
    await virtual.label(first, labels={"scheduling.koordinator.sh/disable-preemptible": "true"})
    await asyncio.sleep(70)
    assert left(virtual) == [first, second]
    text = f"it is left alone, as {virtual.namespace}/{first} is protected from eviction"
    await virtual.event("GangStale", pod_group="g", text=text)


async def test_a_grace_period_that_cannot_be_read_is_complained_about(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pod_group("g", minimum=1, annotations={GRACE: "soon"})
    await world.pods("g-1", gang="g", cpu=1)
    await world.event("InvalidGangSpec", pod_group="g", text=f'{GRACE}: "soon" is not a Go duration')


async def test_missing_members_of_a_gang_go_before_others_of_equal_priority(world: World) -> None:
    """They were created last; without them the gang holds its nodes for nothing."""
    await world.nodes(3, cpu=1)
    await world.pod_group("g", minimum=3)
    await world.pods(*members("g", 3), gang="g", cpu=1)
    await world.bound(*members("g", 3))
    await world.pods("older", cpu=1)
    await world.says("older", "Insufficient cpu")
    await world.another_second()
    await world.stop()
    await world.delete("g-1")
    await world.pods("g-4", gang="g", cpu=1)
    await world.start()
    await world.bound("g-4")
    await world.pending("older")


async def test_missing_members_do_not_go_before_a_higher_priority(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("g", minimum=2)
    await world.pods("g-1", "g-2", gang="g", cpu=1)
    await world.bound("g-1", "g-2")
    await world.pods("high", cpu=1, priority=5)
    await world.says("high", "Insufficient cpu")
    await world.delete("g-1")
    await world.pods("g-3", gang="g", cpu=1)
    await world.bound("high")
    await world.pending("g-3")
