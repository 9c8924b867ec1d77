"""While victims are told and deleted the world changes: what is of no use any more is not done."""

from __future__ import annotations

from tests.scenarios.objects import condition, members
from tests.scenarios.world import World


async def two_victims(world: World) -> None:
    """A gang of two, and a victim on each of two nodes; a third node has a dearer one."""
    await world.nodes(3, cpu=2)
    for number in (1, 2, 3):
        await world.runs(f"low-{number}", f"n{number}", cpu=2, priority=number)
    await world.pod_group("a", minimum=2)


async def ask_for_room(world: World) -> None:
    await world.urgent("a-1", "a-2", gang="a", cpu=2)


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
