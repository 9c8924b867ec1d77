"""What a reservation promises, and what may break it, sentence by sentence, on both API servers."""

from __future__ import annotations

import pytest

from koordpy.api.times import seconds_of_instant
from tests.scenarios.objects import members
from tests.scenarios.questions import expected_start
from tests.scenarios.queueing import LABEL, RUN_TIME
from tests.scenarios.test_backfill import BIG, SOON_S, big_waits, gang
from tests.scenarios.test_backfill_declaring import one_busy
from tests.scenarios.world import World

# --- the time ---


async def test_without_a_start_time_a_run_time_counts_from_the_binding(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await world.bound("busy")
    await world.timed("next", seconds=100)
    at = await world.reserved(pod="next", within=600)
    assert seconds_of_instant(at) - world._wall() > 300


async def test_of_several_ends_the_earliest_that_suffices_counts(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.timed("early", seconds=300)
    await world.timed("middle", seconds=500)
    await world.timed("late", seconds=900)
    await world.starts_now("early", "middle", "late")
    await gang(world, "two", 2, 100)
    at = await world.reserved(gang="two", within=500)
    assert seconds_of_instant(at) - world._wall() > 300


async def test_ends_of_what_is_in_nobodys_way_do_not_count(world: World) -> None:
    await world.node("large", cpu=4)
    await world.node("small", cpu=1)
    on = "kubernetes.io/hostname"
    await world.timed("here", seconds=600, cpu=4, node_selector={on: "large"})
    await world.timed("there", seconds=100, node_selector={on: "small"})
    await world.starts_now("here", "there")
    await world.timed("next", seconds=100, cpu=2)
    at = await world.reserved(pod="next", within=600)
    assert seconds_of_instant(at) - world._wall() > 300


async def test_terminating_pods_are_expected_to_be_gone_at_once(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.timed("busy-1", "busy-2", seconds=600)
    await world.starts_now("busy-1", "busy-2")
    await world.terminate("busy-1")
    await world.timed("next", seconds=100)
    await world.says("next", "Insufficient cpu")
    await world.unreserve("busy-1")
    await world.bound("next")


async def test_of_equal_jobs_the_one_that_was_submitted_first_has_it(world: World) -> None:
    await one_busy(world)
    await world.stop()
    await world.timed("z-first", seconds=100)
    await world.another_second()
    await world.timed("a-second", seconds=100)
    await world.start()
    await world.reserved(pod="z-first", within=600)
    await world.says("a-second", "Insufficient cpu")
    assert not world.reserved_start(pod="a-second")


async def test_a_run_time_on_the_gangs_object_that_cannot_be_read_is_told_there(world: World) -> None:
    await one_busy(world)
    await world.kai("odd", 1, annotations={RUN_TIME: "soon"})
    await world.kai_pods("odd-1", gang="odd")
    await world.event("InvalidGangSpec", pod_group="odd", text="soon")
    await world.says("odd-1", "Insufficient cpu")
    assert not world.reserved_start(gang="odd")


# --- who starts before ---


async def test_a_long_job_starts_where_the_reserved_one_still_fits_beside_it(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.timed("long", seconds=9000)
    await world.says("long", "nodes are reserved for {ns}/big")
    await world.node("spare", cpu=1)
    await world.bound("long")


async def test_what_a_reserved_node_has_left_may_be_used_for_as_long_as_one_likes(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.timed("busy", seconds=600, cpu=2)
    await world.starts_now("busy")
    await world.timed("next", seconds=100, cpu=2)
    await world.reserved(pod="next", within=600)
    await world.pods("unknown", cpu=1)
    await world.bound("unknown")


async def test_a_gang_is_let_in_by_the_run_time_of_all_of_it(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await gang(world, "long", 2, 9000)
    await world.all_say("nodes are reserved for {ns}/big", *members("long", 2))
    await gang(world, "short", 2, 60)
    await world.bound(*members("short", 2))


async def test_one_that_is_kept_waiting_starts_when_it_declares_a_shorter_time(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.kai("one", 1, annotations={RUN_TIME: "9000s"})
    await world.kai_pods("one-1", gang="one")
    await world.says("one-1", "it would not end before")
    await world.change_kai("one", annotations={RUN_TIME: "60s"})
    await world.bound("one-1")


async def test_whoever_does_not_fit_the_reserved_nodes_anyway_is_not_held_up(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.node("gpu", cpu=1, taints=[{"key": "gpu", "value": "x", "effect": "NoSchedule"}])
    await world.timed("tolerant", seconds=9000, tolerations=[{"key": "gpu", "operator": "Exists"}])
    await world.bound("tolerant")
    assert world.node_names("tolerant") == ["gpu"]


# --- what moves it ---


async def test_the_overrun_of_one_that_was_not_backfilled_moves_it_and_evicts_nobody(virtual: World) -> None:
    await one_busy(virtual, seconds=20)
    await virtual.timed("next", seconds=100)
    await virtual.reserved(pod="next", within=20)
    await virtual.let_pass(40)
    await virtual.says("next", "{ns}/busy should have ended by now")
    await virtual.nobody_evicted()
    await virtual.finish("busy")
    await virtual.bound("next")


async def test_a_new_node_pulls_it_forward_to_now(world: World) -> None:
    await one_busy(world)
    await world.timed("next", seconds=100)
    await world.reserved(pod="next", within=600)
    await world.node("more", cpu=1)
    await world.bound("next")
    await world.not_reserved(pod="next")


async def test_an_early_end_is_in_the_annotation_too(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.timed("early", seconds=300)
    await world.timed("late", seconds=900)
    await world.starts_now("early", "late")
    await gang(world, "two", 2, 100)
    before = seconds_of_instant(await world.reserved(gang="two", within=900))
    await world.finish("late")
    await world.until(lambda: seconds_of_instant(world.reserved_start(gang="two")) < before, "an earlier start")
    await world.reserved(gang="two", within=300)


# --- who has to leave when the time has come ---


async def test_a_backfilled_pod_of_another_queue_leaves_though_it_is_within_its_quota(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.queue("a", quota=2)
    await world.queue("b", quota=2)
    await world.timed("busy", seconds=SOON_S, labels={LABEL: "a"})
    await world.starts_now("busy")
    await world.kai("big", 2, queue="a", annotations={RUN_TIME: "100s"})
    await world.kai_pods(*members("big", 2), gang="big")
    await world.reserved(gang="big", within=SOON_S)
    await world.timed("small", seconds=1, labels={LABEL: "b"})
    await world.bound("small")
    await world.let_pass(SOON_S + 1)
    await world.finish("busy")
    await world.evicted("small")
    await world.gone("small")
    await world.bound(*members("big", 2))


async def test_nobody_is_evicted_but_who_was_backfilled(world: World) -> None:
    """`before` was there first and overruns as `small` does; only `small` was let in on its word."""
    world.observer.evictions.by_right = True
    await world.nodes(3, cpu=1)
    await world.timed("before", seconds=SOON_S // 2)
    await world.timed("busy", seconds=SOON_S)
    await world.starts_now("before", "busy")
    await gang(world, "two", 2, 100)
    await world.reserved(gang="two", within=SOON_S)
    await world.timed("small", seconds=1)
    await world.bound("small")
    await world.let_pass(SOON_S + 1)
    await world.finish("busy")
    await world.evicted("small")
    await world.gone("small")
    await world.bound(*members("two", 2))


async def test_a_backfilled_pod_that_ends_in_time_is_not_evicted(world: World) -> None:
    await big_waits(world, busy_s=SOON_S)
    await world.timed("small", seconds=1)
    await world.bound("small")
    await world.finish("small")
    await world.let_pass(SOON_S + 1)
    await world.finish("busy-1", "busy-2")
    await world.bound(*BIG)
    await world.nobody_evicted()


@pytest.mark.parametrize(("dear", "cheap"), [("n1", "n2"), ("n2", "n1")])
async def test_a_budget_is_spared_where_another_may_leave(virtual: World, dear: str, cheap: str) -> None:
    virtual.observer.evictions.by_right = True
    await virtual.nodes(2, cpu=2)
    for node in ("n1", "n2"):
        await virtual.timed(f"busy-{node}", seconds=4, node_selector={"kubernetes.io/hostname": node})
    await virtual.starts_now("busy-n1", "busy-n2")
    await virtual.timed("next", seconds=100, cpu=2)
    await virtual.reserved(pod="next", within=4)
    for node in ("n1", "n2"):
        where = {"kubernetes.io/hostname": node}
        await virtual.timed(f"small-{node}", seconds=1, node_selector=where, labels={"app": node})
        await virtual.bound(f"small-{node}")
    await virtual.budget("dear", 0, app=dear)
    await virtual.let_pass(5)
    await virtual.stop()
    await virtual.finish("busy-n1", "busy-n2")
    await virtual.start()
    await virtual.evicted(f"small-{cheap}")
    await virtual.gone(f"small-{cheap}")
    await virtual.bound("next")


# --- where it is kept ---


async def test_a_new_leader_keeps_the_promise(world: World) -> None:
    await big_waits(world)
    before = await world.reserved(gang="big", within=600)
    await world.lead()
    await world.timed("long", seconds=900)
    await world.says("long", f"nodes are reserved for {{ns}}/big from {before}")
    assert world.reserved_start(gang="big") == before


async def test_after_a_crash_the_promise_is_kept(world: World) -> None:
    await big_waits(world)
    before = await world.reserved(gang="big", within=600)
    await world.bury()
    await world.timed("long", seconds=900)
    await world.start()
    await world.says("long", f"nodes are reserved for {{ns}}/big from {before}")
    assert world.reserved_start(gang="big") == before


async def test_a_promise_to_a_job_that_went_while_nobody_scheduled_is_forgotten(world: World) -> None:
    await one_busy(world)
    await world.kai("g", 1, annotations={RUN_TIME: "100s"})
    await world.kai_pods("g-1", gang="g")
    await world.reserved(gang="g", within=600)
    await world.stop()
    await world.delete("g-1")
    await world.start()
    await world.timed("next", seconds=100)
    await world.reserved(pod="next", within=600)


@pytest.mark.usefixtures("patient")
async def test_an_explanation_tells_of_it(world: World) -> None:
    await big_waits(world)
    at = await world.reserved(gang="big", within=600)
    found = await expected_start(world, "big")
    assert (found["certainty"], found["time"]) == ("Reserved", at)
    await world.says("big-1", at)


async def test_more_than_one_reservation_is_a_mistake_in_the_configuration(virtual: World) -> None:
    with pytest.raises(Exception, match="reservations"):
        await virtual.restart(koordpy={"reservations": 2})
    await virtual.start(koordpy={"reservations": 1})
