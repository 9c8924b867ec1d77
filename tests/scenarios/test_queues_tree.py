"""Trees of queues that are wrong or change, and which queue a job is in, on both API servers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.scenarios.api import Refused
from tests.scenarios.mirror import QUEUES
from tests.scenarios.objects import gang, members
from tests.scenarios.queueing import LABEL
from tests.scenarios.world import World


async def ready(world: World, queue: str, status: str, reason: str) -> str:
    """The condition of a Queue says so; returns its message."""

    def told() -> str:
        found = (world.mirror.find(QUEUES, "", queue) or {}).get("status") or {}
        said = (each for each in found.get("conditions") or () if each["type"] == "Ready")
        return next((each["message"] for each in said if (each["status"], each["reason"]) == (status, reason)), "")

    message: str = await world.until(told, f"Queue {queue} is Ready={status}, {reason}")
    return message


async def event_about(world: World, queue: str, text: str) -> None:
    """Events about what has no namespace are in `default`, which the mirror does not follow."""
    async with asyncio.timeout(60):
        while True:
            found = (await world.api.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
            about = [each for each in found if each["regarding"].get("name") == queue and each["type"] == "Warning"]
            if any(text in each["note"] for each in about):
                return
            await asyncio.sleep(0.1)


# --- bad trees ---


async def test_queues_that_are_each_others_parent_take_no_jobs_and_others_go_on(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", parent="b")
    await world.queue("b", parent="a")
    await world.queue("fine")
    await world.in_queue("a", "in-a")
    await world.in_queue("fine", "in-fine")
    await world.bound("in-fine")
    await world.says("in-a", "queue a is not ready")


async def test_jobs_of_several_queues_that_cannot_be_used_all_hear_why_and_others_start(world: World) -> None:
    await world.stop()
    await world.nodes(1, cpu=4)
    await world.queue("a", parent="b")
    await world.queue("b", parent="a")
    await world.queue("orphan", parent="gone")
    for queue in ("a", "b", "orphan"):
        await world.in_queue(queue, f"in-{queue}")
    await world.start()
    for queue in ("a", "b", "orphan"):
        await world.says(f"in-{queue}", f"queue {queue} is not ready")
    await world.pods("outside", cpu=1)
    await world.bound("outside")


async def test_a_queue_and_one_below_it_that_both_have_jobs_do_not_hold_each_other_up(world: World) -> None:
    await world.stop()
    await world.nodes(1, cpu=4)
    await world.queue("top")
    await world.queue("leaf", parent="top")
    await world.in_queue("top", "above")
    await world.in_queue("leaf", "below")
    await world.start()
    await world.bound("below")
    await world.says("above", "queue top takes no jobs")


async def test_a_cycle_that_is_broken_up_takes_jobs(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", parent="b")
    await world.queue("b", parent="a")
    await world.in_queue("a", "p")
    await world.says("p", "queue a is not ready")
    await world.change_queue("b", parentQueue=None)
    await world.bound("p")


async def test_what_is_below_a_queue_without_its_parent_takes_no_jobs_either(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("middle", parent="gone")
    await world.queue("leaf", parent="middle")
    await world.in_queue("leaf", "p")
    await world.says("p", "parent queue gone does not exist")
    await world.queue("gone")
    await world.bound("p")


async def test_a_missing_parent_is_a_condition_and_an_event_on_the_queue(world: World) -> None:
    async with world.controllers():
        await world.queue("orphan", parent="gone")
        assert "gone" in await ready(world, "orphan", "False", "ParentMissing")
        await event_about(world, "orphan", "gone")
        await world.queue("gone")
        await ready(world, "orphan", "True", "Ready")


async def test_a_cycle_of_parents_is_a_condition_on_each_of_them(world: World) -> None:
    async with world.controllers():
        await world.queue("a", parent="b")
        await world.queue("b", parent="a")
        await ready(world, "a", "False", "ParentCycle")
        await ready(world, "b", "False", "ParentCycle")


@pytest.mark.parametrize("block", [{"limit": -2}, {"overQuotaWeight": -1}, {"quota": -5}])
async def test_numbers_that_make_no_sense_are_refused_by_the_definition(world: World, block: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        await world.queue("bad", resources={"cpu": block})


# --- which queue a job is in ---


async def test_the_label_of_the_gangs_object_counts_before_that_of_its_members(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=0)
    await world.queue("b")
    await world.kai("g", 1, labels={LABEL: "a"})
    await world.kai_pods("g-1", gang="g", labels={LABEL: "b"})
    await world.says("g-1", "queue a has no room below its limit of cpu")


async def test_spec_queue_counts_before_the_label_of_the_gangs_object(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=0)
    await world.queue("b")
    await world.kai("g", 1, queue="b", labels={LABEL: "a"})
    await world.kai_pods("g-1", gang="g")
    await world.bound("g-1")


async def test_of_members_that_disagree_the_oldest_names_the_queue(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=1)
    await world.queue("b")
    said = gang("g", minimum=2)
    await world.pods("g-1", annotations=said, labels={LABEL: "a"}, cpu=1)
    await world.another_second()
    await world.pods("g-2", annotations=said, labels={LABEL: "b"}, cpu=1)
    await world.says("g-1", "queue a has no room below its limit of cpu: limit 1, allocated 0, asked for 2")


async def test_gangs_that_start_together_wait_if_they_are_in_different_queues(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queues("a", "b")
    together = gang(groups=world.group("g", "h"))
    await world.kai("g", 1, queue="a", annotations=together)
    await world.kai("h", 1, queue="b", annotations=together)
    await world.kai_pods("g-1", gang="g")
    await world.kai_pods("h-1", gang="h")
    await world.says("g-1", "have to be in one queue: {ns}/g is in a, {ns}/h is in b")
    await world.change_kai("h", queue="a")
    await world.bound("g-1", "h-1")


async def test_a_label_that_is_changed_while_a_pod_runs_does_not_move_it(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=1)
    await world.queue("b", limit=1)
    await world.in_queue("a", "first")
    await world.bound("first")
    await world.label("first", labels={LABEL: "b"})
    await world.settled()
    await world.in_queue("a", "second")
    await world.says("second", "limit 1, allocated 1")
    await world.in_queue("b", "third")
    await world.bound("third")


async def test_a_label_that_is_changed_while_a_pod_waits_moves_it(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=0)
    await world.queue("b")
    await world.in_queue("a", "p")
    await world.says("p", "queue a has no room below its limit")
    await world.label("p", labels={LABEL: "b"})
    await world.bound("p")


async def test_the_default_queue_can_be_another_one(world: World) -> None:
    await world.restart(koordpy={"queues": {"default": "everybody"}})
    await world.nodes(1, cpu=4)
    await world.queue("everybody", limit=0)
    await world.pods("p", cpu=1)
    await world.says("p", "queue everybody has no room below its limit")


async def test_the_last_queue_that_is_deleted_leaves_a_cluster_without_queues(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=0)
    await world.in_queue("a", "p")
    await world.says("p", "queue a has no room below its limit")
    await world.delete_queue("a")
    await world.bound("p")


async def test_a_queue_that_was_deleted_and_made_again_has_its_pods_back(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=2)
    await world.queue("b")
    await world.jobs_of("a", 2)
    await world.have(a=2)
    await world.delete_queue("a")
    await world.queue("a", limit=2)
    await world.in_queue("a", "more")
    await world.says("more", "limit 2, allocated 2")


async def test_a_queue_may_move_to_another_parent_with_what_it_has(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("small", limit=2)
    await world.queue("large")
    await world.queue("a", parent="large")
    await world.jobs_of("a", 2)
    await world.have(a=2)
    await world.change_queue("a", parentQueue="small")
    await world.settled()
    await world.in_queue("a", "more")
    await world.says("more", "queue small has no room below its limit of cpu: limit 2, allocated 2, asked for 1")


async def test_finished_pods_of_a_queue_count_no_more(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=1)
    await world.jobs_of("a", 1)
    await world.have(a=1)
    await world.finish("a-1")
    await world.in_queue("a", "next")
    await world.bound("next")


async def test_terminating_pods_count_until_they_are_gone(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=1)
    await world.jobs_of("a", 1)
    await world.have(a=1)
    await world.terminate("a-1")
    await world.in_queue("a", "next")
    await world.says("next", "limit 1, allocated 1")
    await world.gone("a-1")
    await world.bound("next")


async def test_a_nonstrict_gang_counts_with_what_it_keeps_at_permit(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.busy_node()
    await world.queue("a", limit=4)
    await world.kai("g", 3, queue="a", annotations=gang(mode="NonStrict"))
    await world.kai_pods(*members("g", 3), gang="g")
    await world.says("g-3", "2 of 3 members")
    await world.node("later", cpu=2, labels={"for": "later"})
    await world.bound(*members("g", 3))
    await world.in_queue("a", "one")
    await world.bound("one")
    await world.in_queue("a", "two")
    await world.says("two", "limit 4, allocated 4")
