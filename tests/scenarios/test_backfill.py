"""Reservations and backfill, on both API servers. The gang `big` needs four nodes, of which two are busy."""

from __future__ import annotations

from typing import Any

from tests.scenarios.objects import members
from tests.scenarios.queueing import RUN_TIME
from tests.scenarios.world import World

BIG = members("big", 4)
SOON_S = 20  # long enough for another job to start before, on an API server of a busy machine too


async def big_waits(world: World, *, busy_s: int | None = 600, seconds: int = 1000) -> None:
    """It has a reservation, if those that are busy say when they end."""
    await world.nodes(4, cpu=1)
    await world.timed("busy-1", "busy-2", seconds=busy_s)
    await world.starts_now("busy-1", "busy-2")
    await gang(world, "big", 4, seconds)
    await world.says("big-1", "Insufficient cpu")


async def gang(world: World, name: str, size: int, seconds: int, **given: Any) -> None:
    await world.kai(name, size, annotations={RUN_TIME: f"{seconds}s"})
    await world.kai_pods(*members(name, size), gang=name, **given)


# --- the semantic tests of batch schedulers ---


async def test_b1_a_job_that_ends_in_time_starts_and_one_that_does_not_waits(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.timed("small", seconds=300)
    await world.timed("long", seconds=900)
    await world.bound("small")
    await world.says("long", "nodes are reserved for {ns}/big from")
    await world.pending("long", *BIG)


async def test_b1_the_gang_starts_when_its_time_has_come(world: World) -> None:
    await big_waits(world)
    await world.timed("small", seconds=300)
    await world.bound("small")
    await world.finish("small", "busy-1", "busy-2")
    await world.bound(*BIG)


async def test_b2_a_job_of_unknown_length_takes_only_what_is_not_needed(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.pods("unknown", cpu=1)
    await world.says("unknown", "and it declares no run time")
    await world.node("spare", cpu=1)
    await world.bound("unknown")


async def test_b3_a_backfilled_job_that_overruns_is_evicted_when_the_time_has_come(world: World) -> None:
    world.observer.evictions.by_right = True
    await big_waits(world, busy_s=SOON_S)
    await world.timed("small", seconds=2)
    await world.bound("small")
    await world.let_pass(SOON_S + 1)
    await world.finish("busy-1", "busy-2")
    await world.evicted("small")
    await world.gone("small")
    await world.bound(*BIG)


async def test_b3_nobody_is_evicted_while_the_gang_would_not_start_all_the_same(world: World) -> None:
    await big_waits(world, busy_s=SOON_S)
    await world.timed("small", seconds=2)
    await world.bound("small")
    await world.let_pass(SOON_S + 1)
    await world.nobody_evicted()


async def test_b4_pods_that_request_nothing_are_always_backfilled(world: World) -> None:
    await big_waits(world)
    await world.pods("tiny")
    await world.bound("tiny")


async def test_b5_the_reservation_of_the_first_is_not_moved_by_a_second(world: World) -> None:
    await big_waits(world)
    before = await world.reserved(gang="big", within=600)
    await gang(world, "second", 3, 100)
    await world.timed("small-1", "small-2", seconds=100)
    await world.bound("small-1", "small-2")
    await world.says("second-1", "Insufficient cpu")
    assert world.reserved_start(gang="big") == before
    assert not world.reserved_start(gang="second")


async def test_b5_the_second_is_reserved_once_the_first_has_started(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await gang(world, "second", 3, 5000)
    await world.says("second-1", "Insufficient cpu")
    await world.finish("busy-1", "busy-2")
    await world.bound(*BIG)
    await world.reserved(gang="second", within=1000)


async def test_b6_an_early_end_pulls_the_gang_forward(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.finish("busy-1")
    await world.pending(*BIG)
    await world.finish("busy-2")
    await world.bound(*BIG)


# --- what a user sees ---


async def test_the_reservation_is_on_the_gang_and_goes_when_it_starts(world: World) -> None:
    await big_waits(world)
    at = await world.reserved(gang="big", within=600)
    await world.event("Reserved", pod_group="big", text=f"reserved to start at {at}")
    await world.says("big-1", f"reserved to start at {at}")
    await world.finish("busy-1", "busy-2")
    await world.bound(*BIG)
    await world.not_reserved(gang="big")


async def test_the_reservation_of_a_single_pod_is_on_the_pod(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await world.starts_now("busy")
    await world.timed("next", seconds=100)
    at = await world.reserved(pod="next", within=600)
    await world.event("Reserved", pod="next", text=at)
    await world.finish("busy")
    await world.bound("next")
    await world.not_reserved(pod="next")


async def test_a_job_that_is_deleted_gives_its_reservation_up(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.timed("long", seconds=900)
    await world.says("long", "nodes are reserved for {ns}/big")
    await world.delete(*BIG)
    await world.bound("long")
    await world.not_reserved(gang="big")


async def test_too_much_without_a_declared_end_is_said(world: World) -> None:
    await big_waits(world, busy_s=None)
    await world.says("big-1", "No start can be reserved: the end of {ns}/busy-1, {ns}/busy-2 is not declared")
    assert not world.reserved_start(gang="big")


# --- what moves it, and what does not ---


async def test_after_a_restart_the_promise_is_the_upper_bound(world: World) -> None:
    await big_waits(world)
    before = await world.reserved(gang="big", within=600)
    await world.restart()
    await world.timed("long", seconds=900)
    await world.says("long", f"nodes are reserved for {{ns}}/big from {before}")
    assert world.reserved_start(gang="big") == before


async def test_who_was_backfilled_is_known_after_a_restart(world: World) -> None:
    world.observer.evictions.by_right = True
    await big_waits(world, busy_s=SOON_S)
    await world.reserved(gang="big", within=SOON_S)
    await world.timed("small", seconds=1)
    await world.starts_now("small")
    await world.restart()
    await world.let_pass(SOON_S)
    await world.finish("busy-1", "busy-2")
    await world.evicted("small")
    await world.gone("small")
    await world.bound(*BIG)


async def test_a_promise_that_was_made_before_a_restart_is_removed_when_the_job_starts(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.stop()
    await world.finish("busy-1", "busy-2")
    await world.start()
    await world.bound(*BIG)
    await world.not_reserved(gang="big")


async def test_a_more_important_job_goes_before_the_reserved_one(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.timed("vip", seconds=5000, priority=10)
    await world.bound("vip")


async def test_an_older_job_of_the_same_priority_does_not_delay_it(world: World) -> None:
    await world.nodes(4, cpu=1)
    await world.timed("busy-1", "busy-2", seconds=600)
    await world.starts_now("busy-1", "busy-2")
    await world.pods("old", cpu=1, node_selector={"disk": "ssd"})
    await world.says("old", "didn't match Pod's node affinity/selector")
    await gang(world, "big", 4, 1000)
    await world.reserved(gang="big", within=600)
    free = ({"n1", "n2", "n3", "n4"} - set(world.node_names("busy-1", "busy-2"))).pop()
    await world.change_node(free, labels={"disk": "ssd"})
    await world.says("old", "nodes are reserved for {ns}/big")
    await world.pending("old")


async def test_a_lost_node_may_move_it(world: World) -> None:
    await big_waits(world)
    await world.node("five", cpu=1)
    await world.timed("longer", seconds=5000, node_selector={"kubernetes.io/hostname": "five"}, priority=10)
    await world.starts_now("longer")
    await world.reserved(gang="big", within=600)
    free = ({"n1", "n2", "n3", "n4"} - set(world.node_names("busy-1", "busy-2"))).pop()
    await world.delete_node(free)
    await world.finish("busy-1", "busy-2")
    await world.pending(*BIG)
    await world.finish("longer")
    await world.bound(*BIG)


async def test_protected_pods_are_not_backfilled(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.timed("safe", seconds=10, labels={"scheduling.koordinator.sh/disable-preemptible": "true"})
    await world.says("safe", "nodes are reserved for {ns}/big")


async def test_backfill_can_be_switched_off(world: World) -> None:
    await world.restart(koordpy={"backfill": "Off"})
    await big_waits(world)
    await world.timed("long", seconds=900)
    await world.bound("long")
    assert not world.reserved_start(gang="big")


async def test_a_job_that_can_start_by_evicting_needs_no_reservation(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await world.starts_now("busy")
    await world.timed("urgent", seconds=100, priority=1000, preempts=True)
    await world.evicted("busy")
    assert not world.reserved_start(pod="urgent")
