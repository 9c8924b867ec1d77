"""A single pod is a job of one: what already held for it holds here too, and shows that the two worlds agree."""

from __future__ import annotations

from tests.scenarios.world import World


async def test_a_pod_is_bound_and_its_event_says_where(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.pods("p", cpu=1)
    await world.bound("p")
    await world.event("Scheduled", pod="p", text="Successfully assigned {ns}/p to n1")


async def test_a_pod_that_fits_nowhere_says_why_and_starts_when_there_is_room(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.pods("p", cpu=5)
    await world.says("p", "0/2 nodes are available: 2 Insufficient cpu.")
    await world.node("large", cpu=8)
    await world.bound("p")


async def test_a_pending_pod_is_taken_up_again_by_a_new_scheduler(world: World) -> None:
    await world.pods("p", cpu=1)
    await world.says("p", "no nodes available to schedule pods")
    await world.stop()
    await world.node("n1")
    await world.start()
    await world.bound("p")


async def test_a_scheduler_killed_between_two_binds_is_continued(world: World) -> None:
    await world.nodes(1, cpu=4)
    async with world.crash(after_binds=2):
        await world.pods("p1", "p2", "p3", "p4", cpu=1)
    await world.some_bound(2, "p1", "p2", "p3", "p4")
    await world.start()
    await world.bound("p1", "p2", "p3", "p4")


async def test_a_bind_that_fails_for_a_moment_is_repeated(world: World) -> None:
    await world.nodes(1)
    fault = world.fails("bind", status=503, times=2)
    await world.pods("p", cpu=1)
    await world.bound("p")
    assert fault.hits == 2


async def test_a_bind_whose_answer_is_lost_counts(world: World) -> None:
    await world.nodes(1, cpu=4)
    world.loses_answer("bind", pod="p")
    await world.pods("p", cpu=4)
    await world.bound("p")
    await world.event("Scheduled", pod="p")


async def test_lost_watches_are_picked_up_where_they_ended(world: World) -> None:
    world.cuts_watches("pods", times=3)
    world.cuts_watches("nodes", times=1)
    await world.restart()
    await world.nodes(2, cpu=2)
    await world.pods("p1", "p2", "p3", "p4", cpu=1)
    await world.bound("p1", "p2", "p3", "p4")
