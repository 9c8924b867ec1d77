"""Gangs by kube-arbitrator's SchedulingSpecs, on both API servers: pods of one controller."""

from __future__ import annotations

from tests.scenarios.objects import members
from tests.scenarios.world import World

GROUPER = {"app.kubernetes.io/managed-by": "koordpy-podgrouper"}


async def test_pods_of_an_owner_with_a_spec_start_together(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.spec("job", 3)
    await world.owned_pods("j-1", "j-2", owner="job")
    await world.all_say("gang {ns}/job is incomplete: 2 of 3 members", "j-1", "j-2")
    await world.pending("j-1", "j-2")
    await world.owned_pods("j-3", owner="job")
    await world.bound(*members("j", 3))


async def test_a_spec_that_comes_after_its_pods_makes_them_a_gang(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.bind_elsewhere("filler", "n1", cpu=8)
    await world.owned_pods("j-1", "j-2", owner="job")
    await world.says("j-1", "Insufficient cpu")
    await world.spec("job", 3)
    await world.all_say("gang {ns}/job is incomplete: 2 of 3 members", "j-1", "j-2")
    await world.delete("filler")
    await world.pending("j-1", "j-2")
    await world.owned_pods("j-3", owner="job")
    await world.bound(*members("j", 3))


async def test_pods_of_an_owner_without_a_spec_start_one_by_one(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.owned_pods("j-1", "j-2", owner="job")
    await world.some_bound(1, "j-1", "j-2")


async def test_pods_of_a_queue_job_wait_for_their_spec(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.owned_pods("q-1", "q-2", owner="qj", kind="QueueJob")
    await world.says("q-1", "the pods of {ns}/qj wait for their SchedulingSpec, which does not exist")
    await world.pending("q-1", "q-2")
    await world.spec("qj", 2, kind="QueueJob")
    await world.bound("q-1", "q-2")


async def test_pods_of_a_spec_that_is_removed_are_ordinary_pods_again(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.spec("job", 2)
    await world.owned_pods("j-1", "j-2", owner="job")
    await world.says("j-1", "Insufficient cpu")
    await world.pending("j-1", "j-2")
    await world.delete_spec("job")
    await world.some_bound(1, "j-1", "j-2")


async def test_an_owner_that_is_made_again_is_another_job(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.spec("job", 2, uid="first")
    await world.owned_pods("j-1", "j-2", owner="job", uid="first")
    await world.bound("j-1", "j-2")
    await world.delete_spec("job")
    await world.delete("j-2")
    await world.spec("job", 2, uid="second")
    await world.owned_pods("k-1", owner="job", uid="second")
    await world.says("k-1", "gang {ns}/job is incomplete: 1 of 2 members")
    await world.pending("k-1")
    await world.owned_pods("k-2", owner="job", uid="second")
    await world.bound("k-1", "k-2")


async def test_the_node_selector_of_a_spec_narrows_that_of_every_member(world: World) -> None:
    await world.node("slow", cpu=8)
    await world.node("fast", cpu=2, labels={"disk": "ssd", "zone": "a"})
    await world.node("far", cpu=2, labels={"disk": "ssd", "zone": "b"})
    await world.spec("job", 2, nodeSelector={"disk": "ssd"})
    await world.owned_pods("j-1", "j-2", owner="job", node_selector={"zone": "b"})
    await world.bound("j-1", "j-2")
    assert world.node_names("j-1", "j-2") == ["far", "far"]


async def test_selectors_that_exclude_each_other_say_so_until_one_is_mended(world: World) -> None:
    await world.node("fast", cpu=2, labels={"disk": "ssd"})
    await world.spec("job", 1, nodeSelector={"disk": "ssd"})
    await world.owned_pods("j-1", owner="job", node_selector={"disk": "tape"})
    await world.says(
        "j-1", "its nodeSelector disk=tape and that of SchedulingSpec {ns}/job, disk=ssd, exclude each other"
    )
    await world.owned_pods("j-2", owner="job")
    await world.bound("j-2")
    await world.pending("j-1")
    await world.node("tape", cpu=1, labels={"disk": "tape"})
    await world.pending("j-1")
    await world.change_spec("job", nodeSelector=None)
    await world.bound("j-1")


async def test_the_priority_of_a_spec_orders_its_job(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.bind_elsewhere("filler", "n1", cpu=1)
    await world.spec("low", 1, priority=1)
    await world.owned_pods("low-1", owner="low", priority=10)
    await world.spec("high", 1, priority=5)
    await world.owned_pods("high-1", owner="high")
    await world.all_say("Insufficient cpu", "low-1", "high-1")
    await world.delete("filler")
    await world.bound("high-1")
    await world.pending("low-1")


async def test_the_class_of_a_spec_comes_before_its_number(world: World) -> None:
    await world.classes(urgent=100)
    await world.nodes(1, cpu=1)
    await world.bind_elsewhere("filler", "n1", cpu=1)
    await world.spec("number", 1, priority=50)
    await world.owned_pods("number-1", owner="number")
    await world.spec("class", 1, priorityClassName="urgent", priority=1)
    await world.owned_pods("class-1", owner="class")
    await world.all_say("Insufficient cpu", "number-1", "class-1")
    await world.delete("filler")
    await world.bound("class-1")
    await world.pending("number-1")


async def test_a_profile_may_ask_for_a_spec_of_every_pod_with_a_controller(world: World) -> None:
    await world.restart(koordpy={"requireSchedulingSpec": True})
    await world.nodes(1, cpu=8)
    await world.owned_pods("j-1", owner="job")
    await world.pods("bare", cpu=1)
    await world.bound("bare")
    await world.says("j-1", "the pods of {ns}/job wait for their SchedulingSpec")
    await world.pending("j-1")
    await world.spec("job", 1)
    await world.bound("j-1")


async def test_members_that_finished_count_after_a_restart(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.spec("job", 3)
    await world.owned_pods(*members("j", 3), owner="job")
    await world.bound(*members("j", 3))
    await world.finish("j-1", "j-2")
    await world.stop()
    await world.delete("j-3")
    await world.start()
    await world.owned_pods("j-3", owner="job")
    await world.bound("j-3")


async def test_members_that_a_raised_minimum_lacks_start_together_or_not_at_all(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.spec("job", 1)
    await world.owned_pods("j-1", owner="job")
    await world.bound("j-1")
    await world.change_spec("job", minAvailable=3)
    await world.owned_pods("j-2", "j-3", owner="job")
    await world.says("j-2", "Insufficient cpu")
    await world.pending("j-2", "j-3")
    await world.node("more", cpu=1)
    await world.bound("j-2", "j-3")


async def test_a_pod_group_of_our_own_grouper_never_outranks_a_spec(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.kai("pg-job", 1, labels=GROUPER)
    await world.spec("job", 2)
    await world.owned_pods("j-1", owner="job", annotations={"pod-group-name": "pg-job"})
    await world.says("j-1", "gang {ns}/job is incomplete: 1 of 2 members")
    await world.pending("j-1")
    assert not world.events("ConflictingGangs", pod="j-1")
    await world.owned_pods("j-2", owner="job", annotations={"pod-group-name": "pg-job"})
    await world.bound("j-1", "j-2")


async def test_a_pod_group_of_a_user_outranks_a_spec_and_the_pod_is_told(world: World) -> None:
    await world.nodes(1)
    await world.kai("mine", 1)
    await world.spec("job", 2)
    await world.owned_pods("j-1", owner="job", annotations={"pod-group-name": "mine"})
    await world.bound("j-1")
    await world.event("ConflictingGangs", pod="j-1", text="{ns}/job")
