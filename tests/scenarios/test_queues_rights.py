"""Whose turn it is, what a queue may take from whom, and why it has to wait, on both API servers."""

from __future__ import annotations

import pytest

from tests.scenarios import api
from tests.scenarios.api import MERGE
from tests.scenarios.mirror import QUEUES
from tests.scenarios.objects import members
from tests.scenarios.questions import explained, in_the_way
from tests.scenarios.queueing import LABEL
from tests.scenarios.test_queues_laws import queue_line
from tests.scenarios.test_queues_limits import block
from tests.scenarios.test_queues_reclaim import full_of_a
from tests.scenarios.test_queues_tree import event_about
from tests.scenarios.world import World

pytestmark = pytest.mark.usefixtures("patient")

# --- which queue a job is in ---


async def test_without_any_queue_object_labels_mean_nothing(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.in_queue("nowhere", "p")
    await world.bound("p")


async def test_the_label_of_a_pod_group_of_coscheduling_names_the_queue(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=0)
    await world.pod_group("g", minimum=1)
    path = api.pod_groups("scheduling.sigs.k8s.io", world.namespace, "g")
    await world.api.ask("PATCH", path, {"metadata": {"labels": {LABEL: "a"}}}, MERGE)
    await world.settled()
    await world.pods("g-1", gang="g", cpu=1)
    await world.says("g-1", "queue a has no room below its limit")


async def test_a_gang_whose_object_names_another_queue_is_there_from_its_next_start(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=2)
    await world.queue("b", limit=2)
    await world.kai("g", 2, queue="a")
    await world.kai_pods(*members("g", 2), gang="g")
    await world.bound(*members("g", 2))
    await world.change_kai("g", queue="b")
    await world.settled()
    await world.in_queue("a", "still-full")
    await world.says("still-full", "limit 2, allocated 2")
    await world.delete(*members("g", 2))
    await world.bound("still-full")
    await world.kai_pods(*members("g", 2), gang="g")
    await world.bound(*members("g", 2))
    await world.in_queue("b", "now-full")
    await world.says("now-full", "limit 2, allocated 2")


async def test_a_cycle_is_an_event_on_the_queue(world: World) -> None:
    async with world.controllers():
        await world.queue("a", parent="b")
        await world.queue("b", parent="a")
        await event_about(world, "a", "its own ancestor")


# --- what is divided ---


async def test_a_node_that_is_not_ready_is_not_divided(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.node("down", cpu=4)
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    await world.api.ask("PATCH", api.nodes("down", "status"), status, MERGE)
    await world.change_node("down", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    await world.settled()
    await world.queues("a", "b")
    await world.jobs_of("a", 4)
    await world.have(a=4)
    await world.jobs_of("b", 4)
    await world.victims_gone()
    await world.have(a=2, b=2)


async def test_our_own_pods_outside_queues_lessen_what_is_divided(world: World) -> None:
    await world.nodes(1, cpu=6)
    await world.queue("a", quota=1)
    await world.pods("outside", cpu=4)
    await world.bound("outside")
    names = await world.jobs_of("a", 6)
    await world.some_bound(2, *names)
    assert (await queue_line(world, "a"))["fairShare"]["cpu"] == "2"


async def test_a_fair_share_ends_at_the_limit_and_the_rest_is_the_others(world: World) -> None:
    await world.stop()
    await world.queue("a", limit=1)
    await world.queue("b")
    await world.jobs_of("a", 4)
    await world.jobs_of("b", 4)
    await world.nodes(1, cpu=4)
    await world.start()
    await world.have(a=1, b=3)
    assert (await queue_line(world, "a"))["fairShare"]["cpu"] == "1"
    assert (await queue_line(world, "b"))["fairShare"]["cpu"] == "3"


# --- turns ---


async def test_a_turn_is_counted_with_the_next_job_in(world: World) -> None:
    """Nobody has anything yet: whose job is smaller is further from its share."""
    await world.stop()
    await world.queue("a")
    await world.another_second()
    await world.queue("b")
    await world.in_queue("a", "large", cpu=3)
    await world.in_queue("b", "small", cpu=1)
    await world.nodes(1, cpu=3)
    await world.start()
    await world.bound("small")
    await world.pending("large")


async def test_a_queue_with_no_share_comes_last(world: World) -> None:
    await world.stop()
    await world.queue("a", weight=0)
    await world.another_second()
    await world.queue("b")
    await world.jobs_of("a", 2)
    await world.jobs_of("b", 2)
    await world.nodes(1, cpu=3)
    await world.start()
    await world.have(a=1, b=2)


async def test_queues_that_are_equal_in_everything_go_by_name(virtual: World) -> None:
    await virtual.stop()
    await virtual.queue("z")
    await virtual.queue("a")
    stamps = {each["metadata"]["creationTimestamp"] for each in virtual.mirror.all(QUEUES)}
    assert len(stamps) == 1
    await virtual.jobs_of("z", 1)
    await virtual.jobs_of("a", 1)
    await virtual.nodes(1, cpu=1)
    await virtual.start()
    await virtual.bound("a-1")
    await virtual.pending("z-1")


async def test_the_tree_lists_siblings_in_the_order_of_their_turn(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("top")
    await world.queue("low", parent="top", priority=50)
    await world.queue("high", parent="top", priority=150)
    await world.caught_up()
    await world.settled()
    _, answer = await world.http("/apis/koordpy.io/v1alpha1/queues")
    assert [each["name"] for each in answer["items"]] == ["top", "high", "low"]


# --- limits ---


async def test_preemption_inside_a_queue_cures_its_limit(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", quota=1, limit=1)
    await world.in_queue("a", "low", priority=1)
    await world.bound("low")
    await world.in_queue("a", "high", priority=50, preempts=True)
    await world.evicted("low")
    await world.gone("low")
    await world.bound("high")


async def test_of_several_limits_the_one_in_the_way_is_named(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", resources={"cpu": block(limit=4000), "memory": block(limit=1000)})
    await world.in_queue("a", "p", memory="2G")
    await world.says("p", "queue a has no room below its limit of memory: limit 1G, allocated 0, asked for 2G")


# --- who may take from whom ---


async def test_a_queued_job_takes_nothing_from_one_outside_that_is_as_important(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a", quota=1)
    await world.pods("outside", cpu=1, priority=50)
    await world.bound("outside")
    await world.in_queue("a", "mine", priority=50, preempts=True)
    await world.says("mine", "Insufficient cpu")
    await world.nobody_evicted()


async def test_reclaim_is_tried_before_preemption_in_the_own_queue(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.queue("a", quota=1)
    await world.queue("b", quota=2)
    await world.jobs_of("a", 2)
    await world.in_queue("b", "own", priority=1)
    await world.bound("a-1", "a-2", "own")
    await world.in_queue("b", "high", priority=50, preempts=True)
    await world.evicted_some(1, "a-1", "a-2")


async def test_by_its_share_a_queue_does_not_take_what_leaves_the_other_worse_off(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.queues("a", "b")
    await world.in_queue("a", "large", cpu=3)
    await world.bound("large")
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    await world.nobody_evicted()


async def test_by_its_quota_a_queue_takes_even_what_crosses_the_line(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.queue("a", quota=2)
    await world.queue("b", quota=1)
    await world.in_queue("a", "large", cpu=3)
    await world.bound("large")
    await world.jobs_of("b", 1)
    await world.evicted("large")


async def test_who_crosses_the_line_is_the_last_that_is_taken_from_a_queue(world: World) -> None:
    """One gang takes queue a below its quota, so that the other stays; and one alone does not help."""
    await world.nodes(1, cpu=4)
    await world.queue("a", quota=3)
    await world.queue("b", quota=3)
    for name in ("g", "h"):
        await world.kai(name, 2, queue="a")
        await world.kai_pods(*members(name, 2), gang=name)
        await world.bound(*members(name, 2))
    await world.kai("big", 3, queue="b")
    await world.kai_pods(*members("big", 3), gang="big")
    await world.says("big-1", "Insufficient cpu")
    await world.nobody_evicted()
    await world.kai("small", 2, queue="b")
    await world.kai_pods(*members("small", 2), gang="small")
    await world.until(lambda: len(world.observer.evictions.names) == 2, "one of the gangs leaves")


async def test_a_minimum_run_time_counts_from_the_latest_start_of_a_gang(virtual: World) -> None:
    await virtual.nodes(1, cpu=2)
    await virtual.queue("a", quota=0, reclaimMinRuntime="100s")
    await virtual.queue("b", quota=1)
    await virtual.kai("g", 2, queue="a")
    await virtual.kai_pods(*members("g", 2), gang="g")
    await virtual.starts_now("g-1")
    await virtual.let_pass(60)
    await virtual.starts_now("g-2")
    await virtual.jobs_of("b", 1)
    await virtual.let_pass(60)
    assert not virtual.observer.evictions.names
    await virtual.let_pass(60)
    await virtual.evicted(*members("g", 2))


# --- why a quota is not reached ---


async def test_that_others_are_within_their_quotas_is_explained(world: World) -> None:
    await full_of_a(world, a=4, b=4)
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    assert "queue a is within its quota" in (await in_the_way(world, "b-1", "Job"))[0]["message"]


async def test_that_work_is_not_preemptible_is_explained(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("a", quota=2)
    await world.queue("b", quota=2)
    await world.jobs_of("a", 2, priority=100)
    await world.have(a=2)
    await world.change_queue("a", quota=0)
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    assert "it is not preemptible" in (await in_the_way(world, "b-1", "Job"))[0]["message"]


async def test_that_a_minimum_run_time_protects_is_explained(world: World) -> None:
    await full_of_a(world, reclaimMinRuntime="1h")
    await world.starts_now(*(f"a-{number}" for number in range(1, 5)))
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    assert "the minimum run time of queue a protects it" in (await in_the_way(world, "b-1", "Job"))[0]["message"]


async def test_that_pods_outside_have_the_room_is_explained(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("b", quota=2)
    await world.pods("outside", cpu=2, priority=50)
    await world.bound("outside")
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    (obstacle,) = await in_the_way(world, "b-1", "Job")
    assert obstacle["name"] == f"{world.namespace}/outside"
    assert "it is outside of queues" in obstacle["message"]


async def test_that_what_is_free_lies_in_pieces_is_explained(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.queue("b", quota=2)
    await world.in_queue("b", "whole", cpu=2)
    await world.says("whole", "Insufficient cpu")
    (missing,) = (await explained(world, "whole"))["missing"]
    assert (missing["asked"], missing["free"], missing["slots"]) == ("2", "2", 0)


# --- what is seen ---


async def test_gpus_are_in_the_status_under_their_own_names(world: World) -> None:
    async with world.controllers():
        await world.node("n1", cpu=8, nvidia__com_gpu=4)
        await world.queue("a", resources={"gpu": block()})
        await world.in_queue("a", "p", nvidia__com_gpu=2)
        await world.bound("p")

        def told() -> bool:
            status = (world.mirror.find(QUEUES, "", "a") or {}).get("status") or {}
            return (status.get("allocated") or {}).get("nvidia.com/gpu") == "2"

        await world.until(told, "2 of nvidia.com/gpu")


async def test_metrics_tell_what_each_queue_has_wants_and_is_due(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("metered", quota=1)
    names = await world.jobs_of("metered", 3)
    await world.some_bound(2, *names)
    await world.caught_up()
    of = {"queue": "metered", "resource": "cpu"}
    figures = [await world.metric(f"koordpy_queue_{what}", **of) for what in ("allocated", "requested", "fair_share")]
    assert figures == [2.0, 3.0, 2.0]
    assert await world.metric("koordpy_queue_pending_pods", queue="metered") == 1.0
