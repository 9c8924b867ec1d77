"""Evictions that go wrong, at each call: nobody leaves in vain, no promise is lost, and no second round is needed."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import condition, members
from tests.scenarios.world import World

ALL_WRITES = 8  # of the preemption below: two are told, two deleted, two announced, two members promised a node


async def two_victims(world: World) -> None:
    """A gang of two, and a victim on each of two nodes; a third node has a dearer one."""
    await world.nodes(3, cpu=2)
    for number in (1, 2, 3):
        await world.runs(f"low-{number}", f"n{number}", cpu=2, priority=number)
    await world.pod_group("a", minimum=2)


async def ask_for_room(world: World) -> None:
    await world.urgent("a-1", "a-2", gang="a", cpu=2)


@pytest.mark.parametrize("call", ["tell", "evict", "announce", "nominate"])
@pytest.mark.parametrize("status", [0, 409, 429, 500, 503])
async def test_a_call_that_fails_for_a_moment_is_repeated(world: World, call: str, status: int) -> None:
    if status == 409 and call in ("tell", "evict"):
        pytest.skip("says that the pod is another one by now")
    await two_victims(world)
    fault = world.refuses(call, status=status, times=2)
    await ask_for_room(world)
    if call != "announce":
        await world.evicted("low-1", "low-2")
    await world.until(lambda: fault.hits == 2, "both faults")
    await world.until(lambda: all(map(world.nominated_node, ("a-1", "a-2"))), "both are nominated")
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


@pytest.mark.parametrize("call", ["tell", "evict", "nominate"])
async def test_a_call_whose_answer_is_lost_is_not_done_twice(world: World, call: str) -> None:
    await two_victims(world)
    world.forgets_to_answer(call, times=2)
    await ask_for_room(world)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


async def test_a_victim_that_cannot_even_be_told_is_replaced_before_anybody_is_deleted(world: World) -> None:
    await two_victims(world)
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
    await two_victims(world)
    world.refuses("evict", pod="low-2", status=403, times=None)
    await ask_for_room(world)
    await world.until(lambda: "low-1" in world.observer.evictions.names, "the first was evicted")
    await world.gone("low-1")
    await world.until(lambda: "low-3" in world.observer.evictions.names, "another one leaves instead")
    await world.gone("low-3")
    await world.bound("a-1", "a-2")
    await world.evicted("low-1", "low-3")


async def test_evictions_that_fail_for_long_are_taken_up_again(world: World) -> None:
    await two_victims(world)
    world.refuses("evict", status=503, times=12)
    await ask_for_room(world)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


async def test_a_nomination_that_cannot_be_written_at_once_is_written_later(world: World) -> None:
    await two_victims(world)
    world.refuses("nominate", status=403, times=3)
    await ask_for_room(world)
    await world.evicted("low-1", "low-2")
    await world.until(lambda: all(map(world.nominated_node, ("a-1", "a-2"))), "both are nominated")


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


async def test_a_victim_that_was_deleted_meanwhile_is_fine(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    delay = world.holds_up("tell", pod="low", seconds=0.5)
    await world.urgent("high", cpu=4)
    await world.until(lambda: delay.hits, "the call is under way")
    await world.delete("low")
    await world.bound("high")


async def test_a_victim_that_was_made_again_under_its_name_is_not_touched(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    for call in ("tell", "evict"):
        delay = world.holds_up(call, pod="low", seconds=0.5)
        await world.urgent(f"high-{call}", cpu=4)
        await world.until(lambda delay=delay: delay.hits, "the call is under way")
        await world.delete("low")
        await world.pods("low", cpu=1)
        await world.bound(f"high-{call}")
        await world.nobody_evicted()
        assert not condition(world.pod("low"), "DisruptionTarget")
        await world.delete("low", f"high-{call}")
        await world.runs("low", "n1", cpu=4)


async def test_a_victim_that_is_protected_meanwhile_stays(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("low-1", "n1", cpu=4, priority=1)
    await world.runs("low-2", "n2", cpu=4, priority=2)
    delay = world.holds_up("tell", pod="low-1", seconds=0.5)
    await world.urgent("high", cpu=4)
    await world.until(lambda: delay.hits, "the call is under way")
    await world.label("low-1", labels={"scheduling.koordinator.sh/disable-preemptible": "true"})
    await world.evicted("low-2")


async def test_evictions_stop_when_the_job_is_gone(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    delay = world.holds_up("tell", pod="low", seconds=0.5)
    await world.urgent("high", cpu=4)
    await world.until(lambda: delay.hits, "the call is under way")
    await world.delete("high")
    await world.nobody_evicted()


async def test_evictions_stop_when_the_job_has_found_another_place(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    delay = world.holds_up("tell", pod="low", seconds=0.5)
    await world.urgent("high", cpu=4)
    await world.until(lambda: delay.hits, "the call is under way")
    await world.node("n2", cpu=4)
    await world.bound("high")
    await world.nobody_evicted()


async def test_evictions_stop_when_a_member_is_gone(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.pod_group("a", minimum=2)
    delay = world.holds_up("tell", pod="low", seconds=0.5)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.until(lambda: delay.hits, "the call is under way")
    await world.delete("a-2")
    await world.nobody_evicted()
    await world.says("a-1", "is incomplete")


@pytest.mark.parametrize("writes", range(ALL_WRITES + 1))
async def test_a_crash_between_any_two_calls_does_not_lead_to_a_second_round(world: World, writes: int) -> None:
    await two_victims(world)
    if writes < ALL_WRITES:
        world.doom_after_writes(writes)
        await ask_for_room(world)
        await world.come_back()
    else:
        await ask_for_room(world)
        await world.evicted("low-1", "low-2", announced=False)
        await world.restart()
    await world.evicted("low-1", "low-2", announced=False)
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


@pytest.mark.parametrize("writes", [2, 3, 4, 5, 6, 7])
async def test_after_a_crash_what_is_freed_is_kept_for_the_gang(world: World, writes: int) -> None:
    """One victim leaves long before the other, and somebody small would like that room."""
    await two_victims(world)
    world.doom_after_writes(writes)
    await ask_for_room(world)
    await world.come_back()
    await world.evicted("low-1", "low-2", announced=False)
    await world.pods("small-1", "small-2", cpu=1)
    await world.gone("low-1")
    await world.pending("small-1", "small-2")
    await world.gone("low-2")
    await world.bound("a-1", "a-2")
    await world.evicted("low-1", "low-2", announced=False)


@pytest.mark.parametrize("writes", [3, 4, 5])
async def test_victims_that_are_gone_before_the_next_start_are_not_missed(world: World, writes: int) -> None:
    await two_victims(world)
    world.doom_after_writes(writes)
    await ask_for_room(world)
    await world.until(lambda: world.is_dead, "the crash")
    await world.bury()
    world.heals()
    await world.gone(*world.observer.evictions.names)
    await world.start()
    await world.until(lambda: set(world.observer.evictions.names) >= {"low-1", "low-2"}, "both leave")
    for name in ("low-1", "low-2"):
        if world.mirror.pod(world.namespace, name) is not None:
            await world.gone(name)
    await world.bound("a-1", "a-2")
    await world.evicted("low-1", "low-2", announced=False)


async def test_a_lease_that_is_lost_in_the_middle_ends_the_evictions(world: World) -> None:
    await world.lead()
    await two_victims(world)
    delay = world.holds_up("tell", seconds=1.5, times=2)
    await ask_for_room(world)
    await world.until(lambda: delay.hits == 2, "the calls are under way")
    await world.lose_lease()
    await world.nobody_evicted()
    await world.regain_lease()
    await world.evicted("low-1", "low-2")
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


async def test_watches_that_break_during_a_preemption_lose_nothing(world: World) -> None:
    await two_victims(world)
    assert world.instance is not None
    world.cuts_watches("pods", times=3)
    world.instance.transport.cut_watches()
    await ask_for_room(world)
    await world.evicted("low-1", "low-2")
    world.instance.transport.cut_watches()
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


async def test_an_outage_in_the_middle_of_the_evictions_is_survived(world: World) -> None:
    await two_victims(world)
    delay = world.holds_up("tell", seconds=0.3, times=2)
    await ask_for_room(world)
    await world.until(lambda: delay.hits == 2, "the calls are under way")
    async with world.outage():
        await world.nobody_evicted()
    await world.evicted("low-1", "low-2")
    await world.gone("low-1", "low-2")
    await world.bound(*members("a", 2))
