"""What users can see of a gang: conditions and events, on every member and on the PodGroup."""

from __future__ import annotations

import structlog

from tests.scenarios.objects import condition, gang, members
from tests.scenarios.world import World


async def test_every_member_has_its_own_scheduled_event(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a")
    for name in members("a", 3):
        await world.event("Scheduled", pod=name, text=f"Successfully assigned {{ns}}/{name} to n1")


async def test_the_pod_group_is_told_that_its_gang_was_scheduled(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a")
    told = await world.event("Scheduled", pod_group="a")
    assert told["type"] == "Normal"
    assert told["regarding"]["apiVersion"] == "scheduling.sigs.k8s.io/v1alpha1"


async def test_the_log_says_that_a_gang_was_started_with_how_many_and_after_how_long(virtual: World) -> None:
    with structlog.testing.capture_logs() as entries:
        await virtual.pod_group("a", minimum=3)
        await virtual.pods(*members("a", 3), gang="a", cpu=1)
        await virtual.says("a-1", "no nodes available")
        await virtual.nodes(2, cpu=2)
        await virtual.bound(*members("a", 3))
        await virtual.event("Scheduled", pod_group="a")
    (said,) = [entry for entry in entries if entry["event"] == "gang_started"]
    assert (said["log_level"], said["gang"], said["members"], said["nodes"]) == ("info", "scenario/a", 3, 2)
    assert said["waited_s"] > 0


async def test_the_pod_group_of_the_other_api_group_is_told_too(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=1, api_group="x-k8s")
    await world.pods("a-1", gang="a")
    told = await world.event("Scheduled", pod_group="a")
    assert told["regarding"]["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"


async def test_the_pod_group_is_told_why_its_gang_is_not_scheduled(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    told = await world.event("FailedScheduling", pod_group="a", text="gang {ns}/a: 2 of 3 members fit")
    assert told["type"] == "Warning"


async def test_the_message_names_the_member_that_does_not_fit_and_why(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.pod_group("a", minimum=3)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.pods("a-3", gang="a", cpu=1, node_selector={"disk": "ssd"})
    text = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    await world.all_say(text, *members("a", 3))
    await world.all_say("gang {ns}/a: 2 of 3 members fit, {ns}/a-3 does not beside these 2.", *members("a", 3))


async def test_the_message_of_a_group_names_the_gang_that_does_not_fit(world: World) -> None:
    await world.nodes(2, cpu=1)
    both = world.group("a", "b")
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=both), cpu=1)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2, groups=both), cpu=1)
    await world.all_say("Insufficient cpu", "a-1", "b-1", "b-2")
    await world.all_say("does not.", "a-1", "b-1", "b-2")


async def test_a_gang_that_stays_pending_for_the_same_reason_is_not_written_to(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.all_say("; would start if ", *members("a", 3))  # added to the message after some seconds, once
    versions = _versions(world, *members("a", 3))
    for number in range(5):
        await world.change_node("n1", labels={"number": str(number)})
    await world.stays(lambda: _versions(world, *members("a", 3)) == versions, "nobody writes to them")


async def test_nor_is_it_after_a_restart(world: World) -> None:
    await world.pod_group("a", minimum=3)
    await world.pods("a-1", "a-2", gang="a")
    await world.all_say("2 of 3 members", "a-1", "a-2")
    versions = _versions(world, "a-1", "a-2")
    await world.restart()
    await world.stays(lambda: _versions(world, "a-1", "a-2") == versions, "nobody writes to them")
    assert world.writes("condition") == 0


async def test_a_failing_gang_is_not_retried_in_a_storm(world: World) -> None:
    """Writes are what users pay for; one message per member and reason is enough."""
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.all_say("2 of 3 members fit", *members("a", 3))
    await world.pending(*members("a", 3))
    assert world.writes("condition") <= 3 * 3, "a member says: incomplete as they arrive, then that it does not fit"


async def test_the_condition_is_cleared_by_the_bind(world: World) -> None:
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a")
    await world.says("a-1", "no nodes available")
    await world.nodes(1)
    await world.bound("a-1", "a-2")
    await world.stays(lambda: condition(world.pod("a-1")).get("status") == "True", "PodScheduled is True")


async def test_what_is_missing_changes_and_so_does_the_message(world: World) -> None:
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "waits for PodGroup")
    await world.pod_group("a", minimum=3)
    await world.all_say("2 of 3 members", "a-1", "a-2")
    await world.pods("a-3", gang="a", cpu=1)
    await world.all_say("no nodes available to schedule pods", *members("a", 3))
    await world.node("n1", cpu=3, cordoned=True)
    await world.all_say("1 node(s) were unschedulable", *members("a", 3))
    await world.change_node("n1", unschedulable=None)
    await world.bound(*members("a", 3))


def _versions(world: World, *names: str) -> list[str]:
    return [world.pod(name)["metadata"]["resourceVersion"] for name in names]
