"""Evictions that go wrong, at each call: nobody leaves in vain, no promise is lost, and no second round is needed.

On the embedded API only, in virtual time: what is tried here is koordpy, and not the API server.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.scenarios.evicting import MISHAPS
from tests.scenarios.objects import condition, members
from tests.scenarios.world import World

CALLS = 8  # of the preemption below: two are told, two deleted, two announced, two members promised a node
VICTIMS = ("low-1", "low-2", "low-3")
SMALL = ("small-1", "small-2")


@pytest.fixture
def world(virtual: World) -> World:
    return virtual


async def full(world: World) -> None:
    """A victim on each of three nodes, the third the dearest, and two small pods that would take any room."""
    await world.nodes(3, cpu=2)
    for number, victim in enumerate(VICTIMS, start=1):
        await world.runs(victim, f"n{number}", cpu=2, priority=number)
    await world.pods(*SMALL, cpu=1)
    await world.pod_group("a", minimum=2)


async def ask_for_room(world: World) -> None:
    """A gang of two, for which two of the three have to go."""
    await world.urgent("a-1", "a-2", gang="a", cpu=2)


# --- every call of one preemption, and everything that can become of it ---


@pytest.mark.parametrize("call", range(1, CALLS + 1))
@pytest.mark.parametrize("mishap", MISHAPS)
async def test_whatever_happens_to_a_call_two_leave_and_the_gang_starts(world: World, call: int, mishap: str) -> None:
    await full(world)
    strike = world.strike(call, mishap)
    await ask_for_room(world)
    await world.until(lambda: strike.hits, "the mishap")
    if mishap.startswith("crash"):
        await world.come_back()
    victims = await world.evicted_some(2, *VICTIMS, announced=False)
    nodes = {victim.replace("low-", "n") for victim in victims}
    await world.until(lambda: set(map(world.nominated_node, ("a-1", "a-2"))) == nodes, "both are promised their rooms")
    await world.gone(victims[0])
    await world.pending("a-1", "a-2", *SMALL)
    await world.gone(victims[1])
    await world.bound("a-1", "a-2")
    await world.pending(*SMALL)
    assert sorted(world.observer.evictions.names) == victims


@pytest.mark.parametrize("call", range(3, 7))
async def test_victims_that_are_gone_before_the_next_start_are_not_missed(world: World, call: int) -> None:
    await full(world)
    world.strike(call, "crash before")
    await ask_for_room(world)
    await world.until(lambda: world.is_dead, "the crash")
    await world.bury()
    world.heals()
    await world.gone(*world.observer.evictions.names)
    await world.start()
    victims = await world.evicted_some(2, *VICTIMS, announced=False)
    await world.gone(*(each for each in victims if world.mirror.pod(world.namespace, each) is not None))
    await world.bound("a-1", "a-2")
    await world.evicted(*victims, announced=False)


# --- refusals that last ---


async def test_a_victim_that_cannot_even_be_told_is_replaced_before_anybody_is_deleted(world: World) -> None:
    await full(world)
    world.refuses("tell", pod="low-2", status=403, times=None)
    world.refuses("evict", pod="low-2", status=500, times=None)
    await ask_for_room(world)
    await world.evicted("low-1", "low-3")
    writes = world.preemption_writes()
    assert writes.index(("tell", "low-3")) < writes.index(("evict", "low-1"))
    assert ("evict", "low-2") not in writes
    await world.gone("low-1", "low-3")
    await world.bound("a-1", "a-2")


async def test_a_preemption_that_is_refused_is_withdrawn_and_holds_no_room(world: World) -> None:
    before = await world.metric("koordpy_preemption_outcome_total", outcome="withdrawn")
    await world.nodes(1, cpu=5)
    await world.runs("low", "n1", cpu=4)
    world.refuses("evict", pod="low", status=403, times=None)
    await world.urgent("high", cpu=5)
    await world.until(lambda: condition(world.pod("low"), "DisruptionTarget"), "low was told")
    await world.nobody_evicted()
    await world.nominated(high="")
    assert await world.metric("koordpy_preemption_outcome_total", outcome="withdrawn") > before
    await world.says("high", "; evicting {ns}/low was refused: DELETE ")
    await world.pods("other", cpu=1)
    await world.bound("other")


async def test_a_victim_that_nobody_may_delete_is_not_asked_for_again_and_again(world: World) -> None:
    """Its sibling would be evicted with each new attempt, and never for the good of anybody."""
    await full(world)
    world.refuses("evict", pod="low-2", status=403, times=None)
    await ask_for_room(world)
    await world.until(lambda: "low-1" in world.observer.evictions.names, "the first was evicted")
    await world.gone("low-1")
    await world.until(lambda: "low-3" in world.observer.evictions.names, "another one leaves instead")
    await world.gone("low-3")
    await world.bound("a-1", "a-2")
    await world.evicted("low-1", "low-3")


async def test_evictions_that_fail_for_long_are_taken_up_again(world: World) -> None:
    await full(world)
    world.refuses("evict", status=503, times=12)
    await ask_for_room(world)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


async def test_without_the_nominations_written_the_room_is_held_all_the_same(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    world.refuses("nominate", status=403, times=None)
    await world.urgent("high", cpu=4)
    await world.evicted("low")
    await world.pods("small", cpu=1)
    world.delays("bind", pod="high", seconds=0.3)
    await world.gone("low")
    await world.bound("high")
    await world.pending("small")


async def test_a_victim_whose_eviction_was_forbidden_is_asked_again_after_some_minutes(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    world.refuses("evict", pod="low", status=403)
    await world.urgent("high", cpu=4)
    await world.says("high", "; evicting {ns}/low was refused: DELETE ")
    await world.nobody_evicted()
    await asyncio.sleep(300)
    await world.evicted("low")
    await world.gone("low")
    await world.bound("high")


async def test_where_nothing_may_be_deleted_not_everybody_is_told_to_leave(world: World) -> None:
    """The permission is missing: to try one pod after another helps nobody."""
    await world.nodes(20, cpu=1)
    await world.pods(*members("low", 20), cpu=1)
    await world.bound(*members("low", 20))
    world.refuses("evict", status=403, times=None)
    await world.urgent("high", cpu=1)
    await asyncio.sleep(10)
    assert 5 <= sum(call == "evict" for call, _ in world.preemption_writes()) <= 10
    await world.nobody_evicted()
