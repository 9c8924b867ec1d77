"""Reclaim between queues, on both API servers: by quota, by fair share, and what is never taken."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import members
from tests.scenarios.world import World


async def full_of_a(world: World, *, a: int = 2, b: int = 2, cpu: int = 4, **given: object) -> None:
    """Queue a has the whole cluster."""
    await world.nodes(1, cpu=cpu)
    await world.queue("a", quota=a, **given)
    await world.queue("b", quota=b)
    await world.jobs_of("a", cpu)
    await world.have(a=cpu)


async def test_a_quota_is_reached_within_one_round_and_not_exceeded(world: World) -> None:
    await full_of_a(world)
    await world.jobs_of("b", 4)
    await world.until(lambda: len(world.observer.evictions.names) == 2, "two leave")
    await world.victims_gone(rounds=1)
    await world.have(a=2, b=2)


async def test_a_fair_share_is_reached_by_reclaim(world: World) -> None:
    await full_of_a(world, a=0, b=0)
    await world.jobs_of("b", 4)
    await world.victims_gone()
    await world.have(a=2, b=2)


async def test_the_event_of_a_reclaim_says_by_what_right(world: World) -> None:
    await full_of_a(world)
    await world.jobs_of("b", 1)
    (victim,) = await world.evicted_some(1, *(f"a-{number}" for number in range(1, 5)))
    await world.event("Preempted", pod=victim, text="queue b takes back what others have above their quota")


async def test_a_queue_within_its_quota_loses_nobody(world: World) -> None:
    await full_of_a(world, a=4, b=4)
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    await world.says("b-1", "; no other queue has more than is its own")
    await world.nobody_evicted()


async def test_a_job_that_would_take_its_queue_over_its_quota_is_told_so_in_numbers(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", quota=2)
    await world.queue("b", quota=2)
    await world.jobs_of("a", 2)
    await world.in_queue("b", "b-1", "b-2")
    await world.have(a=2, b=2)
    await world.in_queue("b", "b-3")
    await world.says("b-3", "; queue b may take back nothing: cpu quota 2, allocated 2, asked for 1")
    await world.nobody_evicted()


async def test_priority_does_not_reach_into_other_queues(world: World) -> None:
    await full_of_a(world, a=4, b=0)
    await world.in_queue("b", "urgent", priority=90, preempts=True)
    await world.says("urgent", "Insufficient cpu")
    await world.nobody_evicted()


async def test_a_quota_that_is_raised_is_claimed_at_once(world: World) -> None:
    await full_of_a(world, a=0, b=0, priority=200)
    await world.jobs_of("b", 4)
    await world.says("b-4", "Insufficient cpu")
    await world.nobody_evicted()
    await world.change_queue("b", quota=3)
    await world.victims_gone()
    await world.have(a=1, b=3)


async def test_a_share_that_grows_because_another_queue_wants_less_is_claimed(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queues("a", "b", "c")
    await world.jobs_of("a", 3)
    await world.jobs_of("c", 1)
    await world.have(a=3, c=1)
    await world.in_queue("c", "c-more-1", "c-more-2", "c-more-3")
    await world.in_queue("b", "b-1", cpu=2)
    await world.victims_gone()
    for name in ("c-more-1", "c-more-2", "c-more-3"):
        if world.mirror.pod(world.namespace, name):
            await world.delete(name)
    if world.mirror.pod(world.namespace, "c-1"):
        await world.delete("c-1")
    await world.victims_gone()
    await world.bound("b-1")


async def test_a_gang_is_taken_as_a_whole(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queues("a", "b", quota=2)
    await world.kai("g", 4, queue="a")
    await world.kai_pods(*members("g", 4), gang="g")
    await world.bound(*members("g", 4))
    await world.jobs_of("b", 1)
    await world.evicted(*members("g", 4))


async def test_a_gang_reclaims_as_a_whole_or_not_at_all(world: World) -> None:
    await full_of_a(world, a=2, b=2)
    await world.kai("big", 3, queue="b")
    await world.kai_pods(*members("big", 3), gang="big")
    await world.says("big-1", "Insufficient cpu")
    await world.nobody_evicted()
    await world.kai("small", 2, queue="b")
    await world.kai_pods(*members("small", 2), gang="small")
    await world.victims_gone()
    await world.bound(*members("small", 2))


async def test_surplus_members_go_before_whole_jobs(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queues("a", "b", quota=2)
    await world.kai("g", 1, queue="a")
    await world.kai_pods(*members("g", 3), gang="g")
    await world.in_queue("a", "single")
    await world.bound(*members("g", 3), "single")
    await world.jobs_of("b", 1)
    (victim,) = await world.evicted_some(1, *members("g", 3), "single")
    assert victim != "single"


async def test_work_that_is_not_preemptible_is_never_taken(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", quota=4)
    await world.queue("b", quota=4)
    await world.jobs_of("a", 4, priority=100)
    await world.have(a=4)
    await world.change_queue("a", quota=0)
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    await world.nobody_evicted()


async def test_a_minimum_run_time_protects_and_then_does_not(virtual: World) -> None:
    await full_of_a(virtual, reclaimMinRuntime="60s")
    await virtual.starts_now(*(f"a-{number}" for number in range(1, 5)))
    await virtual.jobs_of("b", 1)
    await virtual.nobody_evicted()
    await virtual.let_pass(40)
    await virtual.until(lambda: virtual.observer.evictions.names, "the time is over")


async def test_outside_jobs_take_from_queues_only_if_they_are_critical(world: World) -> None:
    await full_of_a(world)
    await world.urgent("high", cpu=1, priority=100000)
    await world.says("high", "Insufficient cpu")
    await world.nobody_evicted()


async def test_a_queued_job_takes_from_a_less_important_one_outside(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a", quota=1)
    await world.pods("outside", cpu=1, priority=1)
    await world.bound("outside")
    await world.in_queue("a", "mine", priority=50, preempts=True)
    await world.evicted("outside")


async def test_preemption_by_priority_happens_inside_one_queue(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a", quota=1)
    await world.in_queue("a", "low", priority=1)
    await world.bound("low")
    await world.in_queue("a", "high", priority=50, preempts=True)
    await world.evicted("low")


async def test_reclaim_among_children_cures_the_limit_of_their_parent(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("top", quota=2, limit=2)
    await world.queues("a", "b", parent="top", quota=1)
    await world.jobs_of("a", 2)
    await world.have(a=2)
    await world.jobs_of("b", 2)
    await world.victims_gone()
    await world.have(a=1, b=1)


async def test_nobody_leaves_for_a_limit_if_another_one_would_still_be_in_the_way(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("top", quota=2, limit=2)
    await world.queue("a", parent="top", quota=2, limit=2)
    await world.queue("b", parent="top", quota=0, limit=1)
    await world.jobs_of("a", 1, priority=100)
    await world.in_queue("b", "low", priority=1)
    await world.have(a=1, b=1)
    await world.in_queue("b", "high", cpu=2, priority=50, preempts=True)
    await world.says("high", "limit")
    await world.nobody_evicted()


async def test_evicted_pods_that_are_made_again_do_not_take_back(world: World) -> None:
    await full_of_a(world, a=0, b=0, cpu=3)
    await world.jobs_of("b", 3)
    for round_ in range(4):
        before = len(world.observer.evictions.names)
        await world.victims_gone()
        gone = world.observer.evictions.names[before:]
        for number, name in enumerate(gone):
            await world.in_queue(name[0], f"{name[0]}-again-{round_}-{number}")
    assert not gone
    assert abs(world.placed_in("a") - world.placed_in("b")) == 1


@pytest.mark.parametrize("how", ["restart", "leader change"])
async def test_a_reclaim_is_not_made_twice_over_a_restart(world: World, how: str) -> None:
    await full_of_a(world)
    await world.jobs_of("b", 2)
    await world.until(lambda: len(world.observer.evictions.names) == 2, "two leave")
    await world.settled()
    await (world.restart() if how == "restart" else world.lead())
    await world.settled()
    assert len(world.observer.evictions.names) == 2
    await world.victims_gone(rounds=1)
    await world.have(a=2, b=2)


# --- YuniKorn's laws of preemption: what a preemptor never does ---


async def test_law_nobody_falls_below_what_is_guaranteed(world: World) -> None:
    await full_of_a(world, a=3, b=4)
    await world.jobs_of("b", 4)
    await world.victims_gone()
    await world.have(a=3, b=1)


async def test_law_only_who_is_below_its_guarantee_takes(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", quota=1)
    await world.queue("b", quota=1)
    await world.jobs_of("a", 2)
    await world.jobs_of("b", 2)
    await world.have(a=2, b=2)
    await world.in_queue("b", "b-more")
    await world.says("b-more", "Insufficient cpu")
    await world.nobody_evicted()


async def test_law_a_job_never_takes_from_itself(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("a", quota=1)
    await world.kai("g", 1, queue="a")
    await world.kai_pods(*members("g", 3), gang="g")
    await world.some_bound(2, *members("g", 3))
    await world.nobody_evicted()


# --- KAI's documented examples ---


async def test_kai_a_department_reclaims_its_quota_from_another_department(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("department-1", quota=2)
    await world.queue("department-2", quota=2)
    await world.queue("a", parent="department-1", quota=1)
    await world.queue("b", parent="department-2", quota=2)
    await world.jobs_of("a", 4)
    await world.have(a=4)
    await world.jobs_of("b", 2)
    await world.victims_gone()
    await world.have(a=2, b=2)


async def test_kai_consolidated_share_of_three_queues(world: World) -> None:
    await world.nodes(1, cpu=6)
    await world.queue("a", quota=2)
    await world.queue("b", quota=2)
    await world.queue("c", quota=0)
    await world.jobs_of("a", 6)
    await world.have(a=6)
    await world.jobs_of("b", 6)
    await world.jobs_of("c", 6)
    await world.victims_gone(rounds=12)
    assert world.placed_in("a") >= 2
    assert world.placed_in("b") >= 2
