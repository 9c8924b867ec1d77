"""Gangs by PodGroups of Kubernetes itself, on both API servers."""

from __future__ import annotations

from tests.scenarios.ground import Json
from tests.scenarios.mirror import NATIVE_GROUPS
from tests.scenarios.network import SPINE
from tests.scenarios.objects import gang, members, priority_class
from tests.scenarios.world import World


def scheduled(world: World, name: str) -> Json:
    conditions = world.status_of(NATIVE_GROUPS, name).get("conditions") or ()
    return next((each for each in conditions if each["type"] == "PodGroupScheduled"), {})


async def test_as_many_as_min_count_start_together(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.native("a", 3)
    await world.native_pods("a-1", "a-2", gang="a")
    await world.all_say("gang {ns}/a is incomplete: 2 of 3 members", "a-1", "a-2")
    await world.pending("a-1", "a-2")
    await world.native_pods("a-3", gang="a")
    await world.bound(*members("a", 3))


async def test_pods_wait_for_their_pod_group(world: World) -> None:
    await world.nodes(1)
    await world.native_pods("a-1", "a-2", gang="a")
    await world.says("a-1", "gang {ns}/a waits for PodGroup {ns}/a, which does not exist")
    await world.native("a", 2)
    await world.bound("a-1", "a-2")


async def test_the_basic_policy_starts_what_fits(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.native("a")
    await world.native_pods(*members("a", 3), gang="a")
    await world.some_bound(2, *members("a", 3))


async def test_nothing_starts_while_min_count_does_not_fit(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.native("a", 3)
    await world.native_pods(*members("a", 3), gang="a")
    await world.says("a-1", "Insufficient cpu")
    await world.pending(*members("a", 3))
    await world.restart()
    await world.pending(*members("a", 3))
    await world.node("more", cpu=1)
    await world.bound(*members("a", 3))


async def test_a_pod_that_names_a_group_of_kai_too_belongs_to_kubernetes_own(world: World) -> None:
    await world.nodes(1)
    await world.native("mine", 1)
    await world.kai("theirs", 2)
    await world.native_pods("p", gang="mine", annotations={"pod-group-name": "theirs"})
    await world.bound("p")
    await world.event("ConflictingGangs", pod="p", text="{ns}/theirs")


async def test_pods_of_another_priority_than_their_group_are_refused_as_a_whole(world: World) -> None:
    await world.nodes(1)
    await world.native("a", 2)
    await world.native_pods("a-1", gang="a")
    await world.native_pods("a-2", gang="a", priority=6)
    await world.all_say("should have the same priority as the pod group's priority, got 6 and 0", "a-1", "a-2")
    await world.pending("a-1", "a-2")
    await world.delete("a-2")
    await world.native_pods("a-3", gang="a")
    await world.bound("a-1", "a-3")


async def test_the_priority_of_a_group_orders_its_job(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.bind_elsewhere("filler", "n1", cpu=1)
    await world.pods("first", cpu=1)
    await world.pods("needs-the-class", priority=50, cpu=9)
    await world.native("a", 1, priorityClassName=priority_class(50, preempts=False))
    await world.native_pods("a-1", gang="a", priority=50)
    await world.all_say("Insufficient cpu", "first", "a-1")
    await world.delete("filler")
    await world.bound("a-1")
    await world.pending("first")


async def test_a_topology_key_gathers_the_gang_in_one_domain(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s1/b2": "n2", "s2/b3": "n3 n4 n5"}, cpu=1)
    await world.native("a", 3, schedulingConstraints={"topology": [{"key": SPINE}]})
    await world.native_pods(*members("a", 3), gang="a")
    await world.bound(*members("a", 3))
    assert set(world.spines(*members("a", 3))) == {"s2"}


async def test_a_group_that_is_disrupted_as_one_goes_whole(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.native("a", 2, disruptionMode="PodGroup")
    await world.native_pods(*members("a", 3), gang="a")
    await world.bound(*members("a", 3))
    await world.urgent("u", cpu=1)
    await world.evicted(*members("a", 3))
    await world.gone(*members("a", 3))
    await world.bound("u")


async def test_a_group_that_is_disrupted_pod_by_pod_loses_one(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.native("a", 2, disruptionMode="Pod")
    await world.native_pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")
    await world.urgent("u", cpu=1)
    (victim,) = await world.evicted_some(1, "a-1", "a-2")
    await world.gone(victim)
    await world.bound("u")


async def test_annotations_of_koordinator_count_on_its_pods(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.native("a", 3)
    await world.native_pods("a-1", "a-2", gang="a", annotations=gang(minimum=2))
    await world.bound("a-1", "a-2")


async def test_its_condition_says_why_not_and_then_that_it_is_scheduled_for_good(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.native("a", 3)
    async with world.controllers():
        await world.native_pods(*members("a", 3), gang="a")
        told = await world.until(lambda: scheduled(world, "a"), "a condition")
        assert (told["status"], told["reason"]) == ("False", "Unschedulable")
        await world.until(lambda: "Insufficient cpu" in scheduled(world, "a")["message"], "its message")
        await world.node("more", cpu=1)
        await world.bound(*members("a", 3))
        await world.until(lambda: scheduled(world, "a")["status"] == "True", "it is scheduled")
        assert scheduled(world, "a")["reason"] == "Scheduled"
        await world.delete("a-3")
        await world.stays(lambda: scheduled(world, "a")["status"] == "True", "it stays scheduled")


async def test_pods_that_disagree_are_an_error_in_its_condition(world: World) -> None:
    await world.nodes(1)
    await world.native("a", 1)
    async with world.controllers():
        await world.native_pods("a-1", gang="a", priority=6)
        told = await world.until(lambda: scheduled(world, "a"), "a condition")
        assert (told["status"], told["reason"]) == ("False", "SchedulerError")
        assert "should have the same priority" in told["message"]
