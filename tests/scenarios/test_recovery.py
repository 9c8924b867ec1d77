"""Crashes, restarts and an API server that answers badly: nothing is lost, nothing is done twice."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import gang, members, node_of
from tests.scenarios.world import World


@pytest.mark.parametrize("binds", [0, 1, 3])
async def test_a_gang_whose_scheduler_was_killed_halfway_is_completed(world: World, binds: int) -> None:
    await world.nodes(4, cpu=1)
    await world.pod_group("a", minimum=4)
    async with world.crash(after_binds=binds):
        await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.some_bound(binds, *members("a", 4))
    await world.start()
    await world.bound(*members("a", 4))


@pytest.mark.parametrize("policy", ["once-satisfied", "waiting-and-running", "only-waiting"])
async def test_a_half_bound_gang_is_completed_whatever_its_match_policy(world: World, policy: str) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3, annotations=gang(policy=policy))
    async with world.crash(after_binds=1):
        await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.start()
    await world.bound(*members("a", 3))


async def test_a_half_bound_gang_is_completed_before_anybody_else_is_served(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    async with world.crash(after_binds=2):
        await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.pods("urgent", cpu=1, priority=1000)
    await world.pods("b-1", annotations=gang("b", minimum=1), cpu=1, priority=500)
    await world.start()
    await world.bound(*members("a", 3))
    await world.pending("urgent", "b-1")


async def test_a_half_bound_group_is_completed_with_all_its_gangs(world: World) -> None:
    await world.nodes(4, cpu=1)
    both = world.group("a", "b")
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2, groups=both), cpu=1)
    async with world.crash(after_binds=1):
        await world.pods("b-1", "b-2", annotations=gang("b", minimum=2, groups=both), cpu=1)
    await world.start()
    await world.bound("a-1", "a-2", "b-1", "b-2")


@pytest.mark.parametrize("binds", [1, 2])
async def test_a_half_bound_group_is_completed_before_anybody_else_is_served(world: World, binds: int) -> None:
    """Also the gang of which nothing is bound yet, and before members beyond the minimum of the other."""
    await world.nodes(3, cpu=1)
    both = world.group("a", "b")
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=both), cpu=1)
    await world.pods("b-1", annotations=gang("b", minimum=2, groups=both), cpu=1)
    async with world.crash(after_binds=binds):
        await world.pods("b-2", annotations=gang("b", minimum=2, groups=both), cpu=1)
    await world.pods("a-2", annotations=gang("a", minimum=1, groups=both), cpu=1)
    await world.pods("b-3", annotations=gang("b", minimum=2, groups=both), cpu=1)
    await world.pods("urgent", cpu=1, priority=1000)
    await world.start()
    await world.some_bound(3, "a-1", "a-2", "b-1", "b-2", "b-3")
    await world.pending("urgent")


async def test_a_half_bound_gang_whose_room_was_taken_meanwhile_is_completed_when_there_is_room(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=2)
    async with world.crash(after_binds=1):
        await world.pods("a-1", "a-2", gang="a", cpu=1)
    (first,) = [name for name in ("a-1", "a-2") if node_of(world.pod(name))]
    (free,) = {"n1", "n2"} - {node_of(world.pod(first))}
    second = "a-2" if first == "a-1" else "a-1"
    await world.bind_elsewhere("other", free, cpu=1)
    world.observer.excused.add(f"{world.namespace}/{second}")
    await world.start()
    await world.says(second, "Insufficient cpu")
    await world.delete("other")
    await world.bound("a-1", "a-2")


async def test_a_pending_gang_is_taken_up_by_a_new_scheduler(world: World) -> None:
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", gang="a")
    await world.says("a-1", "is incomplete")
    await world.stop()
    await world.pods("a-2", gang="a")
    await world.nodes(1)
    await world.start()
    await world.bound("a-1", "a-2")


async def test_a_gang_that_waited_waits_again_after_a_restart(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.restart()
    await world.pods("other", cpu=1)
    await world.pending(*members("a", 3), "other")
    await world.node("n3", cpu=1)
    await world.bound(*members("a", 3))


async def test_a_killed_scheduler_leaves_nothing_held(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    async with world.crash(after_binds=0):
        await world.pods("urgent", cpu=1, priority=1000)
    await world.delete(*members("a", 3), "urgent")
    await world.start()
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")


async def test_a_bind_that_keeps_failing_costs_only_its_own_pod(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    world.fails("bind", pod="a-2", status=500, times=None)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.bound("a-1", "a-3")
    await world.pending("a-2")
    world.heals()
    await world.bound("a-2")


@pytest.mark.parametrize("policy", ["waiting-and-running", "only-waiting"])
async def test_a_pod_whose_bind_failed_follows_its_gang_whatever_the_match_policy(world: World, policy: str) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3, annotations=gang(policy=policy))
    world.fails("bind", pod="a-2", status=500, times=None)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.bound("a-1", "a-3")
    await world.pending("a-2")
    world.heals()
    await world.bound("a-2")


async def test_a_gang_none_of_whose_binds_arrived_is_still_a_gang(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    refused = world.fails("bind", status=403, times=None)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.until(lambda: refused.hits == 3, "no bind is under way")
    await world.delete("a-3")
    world.heals()
    world.observer.excused.clear()
    await world.says("a-1", "gang {ns}/a is incomplete: 2 of 3 members")
    await world.pending("a-1", "a-2")
    await world.pods("a-4", gang="a", cpu=1)
    await world.bound("a-1", "a-2", "a-4")


@pytest.mark.parametrize("status", [409, 429, 500, 0])
async def test_binds_that_fail_for_a_moment_are_made_good(world: World, status: int) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    fault = world.fails("bind", status=status, times=2)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.bound(*members("a", 3))
    assert fault.hits == 2


@pytest.mark.parametrize("status", [0, 409])
async def test_binds_whose_answers_are_lost_count(world: World, status: int) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    fault = world.loses_answer("bind", status=status, times=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.bound(*members("a", 3))
    assert fault.hits == 3


async def test_a_member_deleted_while_it_is_being_bound_does_not_stop_the_others(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    world.delays("bind", pod="a-2", seconds=0.5)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.until(lambda: node_of(world.pod("a-1")) and node_of(world.pod("a-3")), "the others are bound")
    world.observer.excused.update(f"{world.namespace}/{name}" for name in members("a", 3))
    await world.delete("a-2")
    await world.pods("a-2", gang="a", cpu=1)
    await world.bound(*members("a", 3))


async def test_a_stop_in_the_middle_of_binding_lets_the_binds_arrive(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    fault = world.delays("bind", seconds=0.3, times=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.until(lambda: fault.hits == 3, "all binds are under way")
    await world.stop()
    await world.some_bound(3, *members("a", 3))


async def test_lost_watches_do_not_lose_members(world: World) -> None:
    for resource in ("pods", "nodes", "podgroups"):
        world.cuts_watches(resource, times=3)
    await world.restart()
    await world.nodes(2, cpu=2)
    await world.pod_group("a", minimum=4)
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.bound(*members("a", 4))


async def test_a_condition_that_cannot_be_written_at_once_is_written_later(world: World) -> None:
    world.fails("condition", status=500, times=6)
    await world.pod_group("a", minimum=3)
    await world.pods("a-1", "a-2", gang="a")
    await world.all_say("gang {ns}/a is incomplete: 2 of 3 members", "a-1", "a-2")


async def test_events_that_are_refused_cost_nobody_a_bind(world: World) -> None:
    world.fails("event", status=403, times=None)
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")


async def test_what_runs_is_counted_as_usage_after_a_restart(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.restart()
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1)
    await world.says("b-1", "gang {ns}/b: 1 of 2 members fit")
    await world.pending("b-1", "b-2")


async def test_an_api_server_that_goes_and_comes_back_is_waited_for(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pod_group("a", minimum=4)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "2 of 4 members")
    async with world.outage():
        await world.pods("a-3", "a-4", gang="a", cpu=1)
        await world.pending(*members("a", 4))
    await world.bound(*members("a", 4))


async def test_an_outage_in_the_middle_of_binding_leaves_no_gang_in_part(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pod_group("a", minimum=4)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    world.delays("bind", seconds=0.2, times=2)
    async with world.outage(after_binds=2):
        await world.pods("a-4", gang="a", cpu=1)
        await world.until(lambda: len([n for n in world.node_names(*members("a", 4)) if n]) == 2, "two are bound")
    await world.bound(*members("a", 4))


async def test_a_leader_that_lost_its_lease_binds_nothing_and_goes_on_when_it_leads_again(world: World) -> None:
    await world.lead()
    await world.nodes(3, cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3), cpu=1, gated=True)
    await world.lose_lease()
    await world.ungate(*members("a", 3))
    await world.pending(*members("a", 3))
    await world.regain_lease()
    await world.bound(*members("a", 3))


async def test_a_gang_that_waited_when_the_lease_was_lost_waits_again_when_it_is_back(world: World) -> None:
    await world.lead()
    await world.nodes(2, cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.lose_lease()
    await world.bind_elsewhere("other", "n1", cpu=1)
    await world.node("n3", cpu=1)
    await world.regain_lease()
    await world.pending(*members("a", 3))
    await world.delete("other")
    await world.bound(*members("a", 3))
