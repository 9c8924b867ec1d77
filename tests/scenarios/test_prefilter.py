"""Jobs that are not attempted: they hold nothing, and say what is missing."""

from __future__ import annotations

from tests.scenarios.objects import condition, gang
from tests.scenarios.world import World


async def test_every_member_of_an_incomplete_gang_says_so(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=4)
    await world.pods("a-1", "a-2", "a-3", gang="a")
    await world.all_say("gang {ns}/a is incomplete: 3 of 4 members", "a-1", "a-2", "a-3")
    assert condition(world.pod("a-1"))["reason"] == "Unschedulable"
    for name in ("a-1", "a-2", "a-3"):
        await world.event("FailedScheduling", pod=name, text="gang {ns}/a is incomplete: 3 of 4 members")


async def test_an_incomplete_gang_holds_nothing(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "is incomplete")
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")


async def test_pods_wait_for_their_pod_group_and_start_when_it_arrives(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", "a-2", gang="a")
    await world.all_say("gang {ns}/a waits for PodGroup {ns}/a, which does not exist", "a-1", "a-2")
    await world.pending("a-1", "a-2")
    await world.pod_group("a", minimum=2)
    await world.bound("a-1", "a-2")


async def test_pods_without_their_pod_group_hold_nothing(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("a-1", gang="a", cpu=1)
    await world.says("a-1", "which does not exist")
    await world.pods("other", cpu=1)
    await world.bound("other")


async def test_a_minimum_on_the_pods_does_not_replace_the_pod_group_they_name(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", gang="a", annotations=gang(minimum=1))
    await world.says("a-1", "gang {ns}/a waits for PodGroup {ns}/a, which does not exist")
    await world.pending("a-1")


async def test_the_message_counts_again_with_every_member(world: World) -> None:
    await world.pod_group("a", minimum=4)
    await world.pods("a-1", gang="a")
    await world.says("a-1", "1 of 4 members")
    await world.pods("a-2", gang="a")
    await world.all_say("2 of 4 members", "a-1", "a-2")
    await world.delete("a-2")
    await world.says("a-1", "1 of 4 members")


async def test_min_resources_that_are_not_free_keep_a_gang_from_being_attempted(world: World) -> None:
    await world.nodes(4, cpu=8)
    await world.pod_group("a", minimum=2, resources={"cpu": "40"})
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.all_say("gang {ns}/a: minResources asks for cpu 40, and 32 are free", "a-1", "a-2")
    await world.pending("a-1", "a-2")
    await world.node("more", cpu=8)
    await world.bound("a-1", "a-2")


async def test_what_other_pods_hold_is_not_free(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.bind_elsewhere("other", "n1", cpu=2)
    await world.pod_group("a", minimum=1, resources={"cpu": "3"})
    await world.pods("a-1", gang="a", cpu=1)
    await world.says("a-1", "minResources asks for cpu 3, and 2 are free")
    await world.delete("other")
    await world.bound("a-1")


async def test_what_the_gangs_own_members_hold_counts_as_free(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pod_group("a", minimum=2, resources={"cpu": "4"}, annotations=gang(policy="waiting-and-running"))
    await world.pods("a-1", "a-2", gang="a", cpu=2)
    await world.bound("a-1", "a-2")
    await world.delete("a-2")
    await world.pods("a-3", gang="a", cpu=2)
    await world.bound("a-3")


async def test_min_resources_that_no_node_has_are_named(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=1, resources={"example.com/gpu": "8"})
    await world.pods("a-1", gang="a")
    await world.says("a-1", "minResources asks for example.com/gpu 8, and 0 are free")


async def test_gated_pods_of_a_gang_have_no_condition_of_ours(world: World) -> None:
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", gang="a")
    await world.pods("a-2", gang="a", gated=True)
    await world.says("a-1", "(gated: a-2)")
    await world.stays(lambda: "gang" not in condition(world.pod("a-2")).get("message", ""), "a-2 is left alone")
