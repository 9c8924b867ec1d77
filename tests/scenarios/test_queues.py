"""Queues, on both API servers: who is in which, whose turn it is, and limits at every instant."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import members
from tests.scenarios.world import World

# --- membership ---


async def test_a_job_of_a_queue_that_does_not_exist_waits_until_it_does(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a")
    await world.in_queue("nowhere", "p")
    await world.says("p", "queue nowhere does not exist")
    await world.queue("nowhere")
    await world.bound("p")


async def test_a_queue_with_children_takes_no_jobs_until_they_are_gone(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a")
    await world.queue("b", parent="a")
    await world.in_queue("a", "p")
    await world.says("p", "queue a takes no jobs, because it has queues below it: b")
    await world.delete_queue("b")
    await world.bound("p")


async def test_a_leaf_that_gets_children_keeps_what_runs_and_takes_no_more(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a")
    await world.in_queue("a", "first")
    await world.bound("first")
    await world.queue("b", parent="a")
    await world.in_queue("a", "second")
    await world.says("second", "queue a takes no jobs")
    await world.nobody_evicted()


async def test_a_queue_whose_parent_is_missing_takes_no_jobs_and_others_go_on(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("orphan", parent="gone")
    await world.queue("fine")
    await world.in_queue("orphan", "o")
    await world.in_queue("fine", "f")
    await world.bound("f")
    await world.says("o", "queue orphan")
    await world.queue("gone")
    await world.bound("o")


async def test_the_queue_of_a_pod_group_is_that_of_its_members(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=1)
    await world.kai("g", 2, queue="a")
    await world.kai_pods("g-1", "g-2", gang="g")
    await world.says("g-1", "queue a has no room below its limit of cpu: limit 1, allocated 0, asked for 2")
    await world.change_queue("a", limit=2)
    await world.bound("g-1", "g-2")


async def test_jobs_that_name_no_queue_are_in_the_default_one_if_there_is_one(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("default-queue", limit=1)
    await world.pods("p-1", "p-2", cpu=1)
    await world.some_bound(1, "p-1", "p-2")


async def test_without_a_default_queue_jobs_are_outside(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=0)
    await world.pods("p", cpu=1)
    await world.bound("p")


async def test_running_pods_of_a_deleted_queue_stay_and_count_outside(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queues("a", "b", quota=2)
    await world.jobs_of("a", 2)
    await world.have(a=2)
    await world.delete_queue("a")
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    await world.nobody_evicted()


# --- turns ---


async def test_equal_queues_share_what_there_is(world: World) -> None:
    await world.stop()
    await world.queues("a", "b")
    await world.jobs_of("a", 5)
    await world.jobs_of("b", 5)
    await world.nodes(1, cpu=4)
    await world.start()
    await world.have(a=2, b=2)


async def test_weights_divide_what_is_over_quota(world: World) -> None:
    await world.stop()
    await world.queue("a", weight=3)
    await world.queue("b", weight=1)
    await world.jobs_of("a", 5)
    await world.jobs_of("b", 5)
    await world.nodes(1, cpu=4)
    await world.start()
    await world.have(a=3, b=1)


async def test_a_quota_comes_before_the_priority_of_another_queue(world: World) -> None:
    await world.stop()
    await world.queue("a", quota=3)
    await world.queue("b", priority=500)
    await world.jobs_of("b", 5)
    await world.jobs_of("a", 5)
    await world.nodes(1, cpu=4)
    await world.start()
    await world.have(a=3, b=1)


async def test_surplus_members_take_turns_with_other_queues(world: World) -> None:
    await world.stop()
    await world.queues("a", "b")
    await world.kai("g", 1, queue="a")
    await world.kai_pods(*members("g", 5), gang="g", labels={"kai.scheduler/queue": "a"})
    await world.jobs_of("b", 5)
    await world.nodes(1, cpu=4)
    await world.start()
    await world.have(a=2, b=2)


async def test_a_job_that_does_not_fit_does_not_hold_up_other_queues(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("a", quota=8)
    await world.queue("b")
    await world.in_queue("a", "big", cpu=8)
    await world.says("big", "Insufficient cpu")
    await world.in_queue("b", "small")
    await world.bound("small")


# --- limits ---


async def test_room_below_a_limit_is_used_as_soon_as_it_is_there(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=2)
    names = await world.jobs_of("a", 4)
    first, _ = await world.some_bound(2, *names)
    await world.delete(first)
    await world.have(a=2)


async def test_limits_of_parents_hold_for_all_below_them(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("top", limit=3)
    await world.queues("a", "b", parent="top")
    names = [*await world.jobs_of("a", 4), *await world.jobs_of("b", 4)]
    await world.some_bound(3, *names)


@pytest.mark.parametrize("how", ["restart", "leader change"])
async def test_limits_hold_over_a_restart_and_a_change_of_the_leader(world: World, how: str) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("top", limit=3)
    await world.queues("a", "b", parent="top", limit=2)
    await world.jobs_of("a", 3)
    await world.have(a=2)
    await (world.restart() if how == "restart" else world.lead())
    await world.jobs_of("b", 3)
    await world.have(a=2, b=1)


async def test_what_a_crash_left_half_bound_counts_against_the_limit(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=3)
    async with world.crash(after_binds=2):
        await world.jobs_of("a", 5)
    await world.start()
    await world.have(a=3)


async def test_a_limit_that_is_lowered_evicts_nobody_and_lets_nobody_in(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=3)
    await world.jobs_of("a", 3)
    await world.have(a=3)
    await world.change_queue("a", limit=1)
    await world.in_queue("a", "more")
    await world.says("more", "limit 1, allocated 3")
    await world.nobody_evicted()


async def test_work_that_is_not_preemptible_never_goes_over_quota(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", quota=1)
    await world.in_queue("a", "one", priority=100)
    await world.bound("one")
    await world.in_queue("a", "two", priority=100)
    await world.says("two", "queue a has no room below its quota of cpu: quota 1, non-preemptible work has 1")
    await world.in_queue("a", "three")
    await world.bound("three")
    await world.change_queue("a", quota=2)
    await world.bound("two")
