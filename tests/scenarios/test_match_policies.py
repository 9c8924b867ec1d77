"""After a gang has started: what counts, under each match policy."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import SIGS, gang
from tests.scenarios.world import World


async def started(world: World, *names: str, policy: str | None, minimum: int) -> None:
    await world.nodes(2)
    await world.pod_group("a", minimum=minimum, annotations=gang(policy=policy))
    await world.pods(*names, gang="a")
    await world.bound(*names)


async def test_once_satisfied_later_pods_are_ordinary_pods(world: World) -> None:
    await started(world, "a-1", "a-2", "a-3", policy=None, minimum=3)
    await world.delete("a-1", "a-2")
    await world.pods("a-4", gang="a")
    await world.bound("a-4")


async def test_once_satisfied_is_remembered_by_what_runs_and_not_by_the_process(world: World) -> None:
    await started(world, "a-1", "a-2", policy="once-satisfied", minimum=2)
    await world.restart()
    await world.delete("a-1")
    await world.pods("a-3", gang="a")
    await world.bound("a-3")


async def test_once_satisfied_later_pods_do_not_wait_for_each_other(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.delete("a-1")
    await world.pods("a-3", "a-4", gang="a", cpu=1)
    await world.some_bound(1, "a-3", "a-4")


async def test_waiting_and_running_members_count_together(world: World) -> None:
    await started(world, "a-1", "a-2", policy="waiting-and-running", minimum=2)
    await world.delete("a-2")
    await world.pods("a-3", gang="a")
    await world.bound("a-3")


async def test_waiting_and_running_a_gang_that_lost_too_many_waits_again(world: World) -> None:
    await started(world, "a-1", "a-2", "a-3", policy="waiting-and-running", minimum=3)
    await world.delete("a-2", "a-3")
    await world.pods("a-4", gang="a")
    await world.says("a-4", "gang {ns}/a is incomplete: 2 of 3 members")
    await world.pending("a-4")
    await world.pods("a-5", gang="a")
    await world.bound("a-4", "a-5")


async def test_waiting_and_running_members_on_their_way_out_do_not_count(world: World) -> None:
    await started(world, "a-1", "a-2", policy="waiting-and-running", minimum=2)
    await world.terminate("a-1", "a-2")
    await world.pods("a-3", gang="a")
    await world.says("a-3", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-3")
    await world.pods("a-4", gang="a")
    await world.bound("a-3", "a-4")


async def test_waiting_and_running_survives_a_restart(world: World) -> None:
    await started(world, "a-1", "a-2", "a-3", policy="waiting-and-running", minimum=3)
    await world.delete("a-2", "a-3")
    await world.restart()
    await world.pods("a-4", gang="a")
    await world.pending("a-4")
    await world.pods("a-5", gang="a")
    await world.bound("a-4", "a-5")


async def test_only_waiting_running_members_do_not_count(world: World) -> None:
    await started(world, "a-1", "a-2", policy="only-waiting", minimum=2)
    await world.delete("a-2")
    await world.pods("a-3", gang="a")
    await world.says("a-3", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-3")
    await world.pods("a-4", gang="a")
    await world.bound("a-3", "a-4")


async def test_only_waiting_a_later_batch_starts_together_or_not_at_all(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gang(policy="only-waiting"))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.pods("a-3", "a-4", gang="a", cpu=1)
    await world.says("a-3", "Insufficient cpu")
    await world.pending("a-3", "a-4")
    await world.node("n4", cpu=1)
    await world.bound("a-3", "a-4")


async def test_members_that_succeeded_count_while_waiting_and_running(world: World) -> None:
    await started(world, "a-1", "a-2", policy="waiting-and-running", minimum=2)
    await world.finish("a-1")
    await world.delete("a-2")
    await world.pods("a-3", gang="a")
    await world.bound("a-3")


async def test_members_that_succeeded_count_after_a_restart(world: World) -> None:
    await started(world, "a-1", "a-2", policy="waiting-and-running", minimum=2)
    await world.finish("a-1")
    await world.delete("a-2")
    await world.restart()
    await world.pods("a-3", gang="a")
    await world.bound("a-3")


async def test_members_that_succeeded_make_their_gang_satisfied_once_and_for_all(world: World) -> None:
    await started(world, "a-1", "a-2", policy="once-satisfied", minimum=2)
    await world.finish("a-1", "a-2")
    await world.restart()
    await world.pods("a-3", gang="a")
    await world.bound("a-3")


async def test_members_that_failed_do_not_count_while_waiting_and_running(world: World) -> None:
    await started(world, "a-1", "a-2", policy="waiting-and-running", minimum=2)
    await world.finish("a-1", "a-2", phase="Failed")
    await world.pods("a-3", gang="a")
    await world.says("a-3", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-3")
    await world.pods("a-4", gang="a")
    await world.bound("a-3", "a-4")


async def test_members_that_succeeded_do_not_count_as_waiting(world: World) -> None:
    await started(world, "a-1", "a-2", policy="only-waiting", minimum=2)
    await world.finish("a-1", "a-2")
    await world.pods("a-3", gang="a")
    await world.says("a-3", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-3")


@pytest.mark.parametrize("policy", ["once-satisfied", "waiting-and-running"])
async def test_a_job_that_is_finishing_is_not_mistaken_for_a_broken_one(world: World, policy: str) -> None:
    await started(world, "a-1", "a-2", "a-3", policy=policy, minimum=3)
    await world.finish("a-1", "a-2")
    await world.restart()
    await world.stays(lambda: not world.events("FailedScheduling", pod_group="a"), "nothing is wrong with it")
    await world.finish("a-3")
    await world.at_rest()


async def test_the_default_match_policy_comes_from_the_configuration(world: World) -> None:
    await world.restart(defaultMatchPolicy="only-waiting")
    await started(world, "a-1", "a-2", policy=None, minimum=2)
    await world.pods("a-3", gang="a")
    await world.pending("a-3")


async def test_once_satisfied_holds_for_all_gangs_of_the_group(world: World) -> None:
    await world.nodes(1)
    both = world.group("a", "b")
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=both))
    await world.pods("b-1", annotations=gang("b", minimum=1, groups=both))
    await world.bound("a-1", "b-1")
    await world.delete("b-1")
    await world.pods("a-2", annotations=gang("a", minimum=1, groups=both))
    await world.bound("a-2")


async def test_a_running_member_made_again_under_its_name_is_a_new_member(world: World) -> None:
    await started(world, "a-1", "a-2", policy="only-waiting", minimum=2)
    await world.delete("a-1")
    await world.pods("a-1", gang="a")
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-1")


async def test_a_gang_that_is_gone_and_made_again_is_a_new_gang(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2))
    await world.bound("a-1", "a-2")
    await world.delete("a-1", "a-2")
    await world.pods("a-1", annotations=gang("a", minimum=2))
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-1")


async def test_running_members_of_a_satisfied_gang_terminate_without_disturbing_others(world: World) -> None:
    await started(world, "a-1", "a-2", policy="waiting-and-running", minimum=2)
    await world.terminate("a-1")
    await world.pods("b-1", labels={SIGS: "b"})
    await world.pod_group("b", minimum=1)
    await world.bound("b-1")
    await world.unreserve("a-1")
    await world.at_rest()


async def test_waiting_and_running_a_member_beyond_the_minimum_starts_by_itself(world: World) -> None:
    await started(world, "a-1", "a-2", policy="waiting-and-running", minimum=2)
    await world.pods("a-3", gang="a")
    await world.bound("a-3")
