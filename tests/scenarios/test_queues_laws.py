"""What queues are due: YuniKorn's laws, KAI's documented examples, fair shares, and minimum run times."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import pod_json
from tests.scenarios import api
from tests.scenarios.mirror import KAI_GROUPS, QUEUES
from tests.scenarios.objects import members
from tests.scenarios.queueing import LABEL
from tests.scenarios.test_queues_limits import block
from tests.scenarios.test_queues_reclaim import full_of_a
from tests.scenarios.world import World

Json = dict[str, Any]


async def queue_line(world: World, name: str) -> Json:
    """What `koordpy queues` is told of one queue."""
    await world.caught_up()
    status, answer = await world.http("/apis/koordpy.io/v1alpha1/queues")
    assert status == 200, answer
    lines: list[Json] = answer["items"]
    (found,) = (each for each in lines if each["name"] == name)
    return found


# --- YuniKorn's laws ---


async def test_law_more_important_work_of_another_queue_is_taken_all_the_same(virtual: World) -> None:
    """Unlike there: priorities do not cross queues, and what is above a quota belongs to others."""
    await virtual.nodes(1, cpu=2)
    await virtual.queue("a", quota=0)
    await virtual.queue("b", quota=2)
    await virtual.jobs_of("a", 2, priority=90)
    await virtual.have(a=2)
    await virtual.jobs_of("b", 2)
    await virtual.victims_gone()
    await virtual.have(a=0, b=2)


async def test_law_the_least_important_of_a_queue_go_first(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.queue("a", quota=1)
    await world.queue("b", quota=1)
    await world.in_queue("a", "dear", priority=50)
    await world.in_queue("a", "cheap", priority=1)
    await world.in_queue("a", "middle", priority=20)
    await world.bound("dear", "cheap", "middle")
    await world.jobs_of("b", 1)
    await world.evicted("cheap")


async def test_law_nobody_is_taken_in_a_resource_that_does_not_help(world: World) -> None:
    await world.node("n1", cpu=8, nvidia__com_gpu=2)
    await world.queue("a", resources={"cpu": block(0), "gpu": block(0)})
    await world.queue("b", resources={"cpu": block(8000), "gpu": block(2)})
    await world.jobs_of("a", 4)
    await world.in_queue("a", "gpu-1", "gpu-2", nvidia__com_gpu=1)
    await world.have(a=6)
    await world.in_queue("b", "wants", nvidia__com_gpu=1)
    (victim,) = await world.evicted_some(1, "gpu-1", "gpu-2")
    await world.gone(victim)
    await world.bound("wants")


async def test_law_a_queue_is_guaranteed_what_it_has_at_each_level(world: World) -> None:
    """A child above its own quota is safe while its parent is within the parent's."""
    await world.nodes(1, cpu=4)
    await world.queue("department-1", quota=2)
    await world.queue("department-2", quota=4)
    await world.queue("a", parent="department-1", quota=0)
    await world.queue("b", parent="department-2", quota=4)
    await world.jobs_of("a", 2)
    await world.jobs_of("b", 2)
    await world.have(a=2, b=2)
    await world.in_queue("b", "more")
    await world.says("more", "Insufficient cpu")
    await world.nobody_evicted()


async def test_law_the_queue_furthest_above_its_share_loses_first(virtual: World) -> None:
    await virtual.nodes(1, cpu=6)
    await virtual.queue("a", quota=2)
    await virtual.queue("b", quota=2)
    await virtual.queue("c", quota=2)
    await virtual.jobs_of("a", 4)
    await virtual.jobs_of("b", 2)
    await virtual.have(a=4, b=2)
    await virtual.jobs_of("c", 2)
    await virtual.victims_gone()
    await virtual.have(a=2, b=2, c=2)


# --- KAI's documented examples ---


async def test_kai_priority_of_a_queue_decides_what_is_over_quota(world: World) -> None:
    await world.stop()
    await world.queue("a", quota=1, priority=200)
    await world.queue("b", quota=1, priority=100)
    await world.jobs_of("a", 6)
    await world.jobs_of("b", 6)
    await world.nodes(1, cpu=6)
    await world.start()
    await world.have(a=5, b=1)


async def test_kai_a_queue_of_higher_priority_reclaims_what_is_over_quota(virtual: World) -> None:
    await virtual.nodes(1, cpu=4)
    await virtual.queue("a", quota=1, priority=100)
    await virtual.queue("b", quota=1, priority=200)
    await virtual.jobs_of("a", 4)
    await virtual.have(a=4)
    await virtual.jobs_of("b", 4)
    await virtual.victims_gone()
    await virtual.have(a=1, b=3)


async def test_kai_a_weight_of_zero_gets_nothing_over_quota(virtual: World) -> None:
    await virtual.nodes(1, cpu=4)
    await virtual.queue("a", quota=1, weight=0)
    await virtual.queue("b", quota=1)
    await virtual.jobs_of("a", 4)
    await virtual.have(a=4)
    await virtual.jobs_of("b", 4)
    await virtual.victims_gone()
    await virtual.have(a=1, b=3)


async def test_kai_a_queue_that_asks_for_less_leaves_the_rest_to_others(world: World) -> None:
    await world.stop()
    await world.queue("a", weight=1)
    await world.queue("b", weight=3)
    await world.jobs_of("a", 6)
    await world.jobs_of("b", 1)
    await world.nodes(1, cpu=4)
    await world.start()
    await world.have(a=3, b=1)


async def test_kai_shares_of_departments_are_divided_among_their_teams(world: World) -> None:
    await world.stop()
    await world.queue("department-1")
    await world.queue("department-2")
    await world.queue("a", parent="department-1")
    await world.queue("b", parent="department-1")
    await world.queue("c", parent="department-2")
    for queue in "abc":
        await world.jobs_of(queue, 8)
    await world.nodes(1, cpu=8)
    await world.start()
    await world.have(a=2, b=2, c=4)


async def test_kai_fair_shares_are_those_of_the_documents(world: World) -> None:
    """Quota first, then in proportion to the weights; what a queue does not ask for goes to the others."""
    await world.stop()
    await world.queue("a", quota=2, weight=1)
    await world.queue("b", quota=2, weight=2)
    await world.queue("c", quota=2, weight=1)
    names = [*await world.jobs_of("a", 10), *await world.jobs_of("b", 10), *await world.jobs_of("c", 1)]
    await world.nodes(1, cpu=10)
    await world.start()
    await world.some_bound(10, *names)
    shares = {name: (await queue_line(world, name))["fairShare"]["cpu"] for name in "abc"}
    assert shares == {"a": "3667m", "b": "5333m", "c": "1"}


async def test_kai_work_that_is_not_preemptible_reclaims_its_quota(world: World) -> None:
    await full_of_a(world)
    await world.jobs_of("b", 2, priority=100, preempts=True)
    await world.victims_gone()
    await world.have(a=2, b=2)


async def test_kai_over_quota_work_of_the_own_queue_yields_to_what_is_not_preemptible(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("a", quota=2)
    await world.jobs_of("a", 2)
    await world.have(a=2)
    await world.in_queue("a", "fixed", priority=100, preempts=True)
    (victim,) = await world.evicted_some(1, "a-1", "a-2")
    await world.gone(victim)
    await world.bound("fixed")


# --- capacity ---


async def test_pods_outside_queues_lessen_what_is_divided(virtual: World) -> None:
    await virtual.nodes(1, cpu=6)
    await virtual.bind_elsewhere("other", "n1", cpu=2)
    await virtual.queues("a", "b")
    await virtual.jobs_of("a", 4)
    await virtual.have(a=4)
    await virtual.jobs_of("b", 4)
    await virtual.victims_gone()
    await virtual.have(a=2, b=2)


async def test_a_cordoned_node_and_what_is_on_it_are_not_divided(world: World) -> None:
    await world.node("closed", cpu=4)
    await world.bind_elsewhere("other", "closed", cpu=4)
    await world.change_node("closed", unschedulable=True)
    await world.nodes(1, cpu=4)
    await world.queues("a", "b")
    await world.jobs_of("a", 4)
    await world.have(a=4)
    await world.jobs_of("b", 4)
    await world.victims_gone()
    await world.have(a=2, b=2)


async def test_large_clusters_are_divided_as_a_whole(world: World) -> None:
    await world.nodes(2, cpu=8, memory="100Ti")
    await world.queue("a", resources={"memory": block(0)})
    await world.in_queue("a", "a-1", "a-2", memory="90Ti")
    await world.have(a=2)
    assert (await queue_line(world, "a"))["fairShare"]["memory"] == "180Ti"


async def test_a_cluster_of_memory_alone_is_shared(world: World) -> None:
    await world.nodes(1, cpu=100, memory="4G")
    await world.queue("a", resources={"memory": block(2000)})
    await world.queue("b", resources={"memory": block(2000)})
    await world.jobs_of("a", 4, memory="1G", cpu=None)
    await world.have(a=4)
    await world.jobs_of("b", 4, memory="1G", cpu=None)
    await world.victims_gone()
    await world.have(a=2, b=2)


async def test_in_a_resource_that_nobody_counts_nothing_is_taken(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("a", resources={"memory": block(0)})
    await world.queue("b", resources={"memory": block(8000)})
    await world.jobs_of("a", 2)
    await world.have(a=2)
    await world.jobs_of("b", 1)
    await world.says("b-1", "Insufficient cpu")
    await world.nobody_evicted()


async def test_the_dominant_resource_decides_whose_turn_it_is(world: World) -> None:
    both = {"cpu": block(), "memory": block()}
    await world.stop()
    await world.queue("cpu", resources=both)
    await world.queue("memory", resources=both)
    await world.jobs_of("cpu", 9, cpu=2, memory="1G")
    await world.jobs_of("memory", 9, cpu=1, memory="4G")
    await world.nodes(1, cpu=9, memory="18G")
    await world.start()
    await world.have(cpu=3, memory=3)


# --- turns ---


async def test_an_outside_job_of_the_same_priority_goes_first(world: World) -> None:
    await world.stop()
    await world.queue("a", quota=1)
    await world.jobs_of("a", 1)
    await world.another_second()
    await world.pods("outside", cpu=1)
    await world.nodes(1, cpu=1)
    await world.start()
    await world.bound("outside")
    await world.pending("a-1")


async def test_a_queued_job_of_higher_priority_goes_before_one_outside(world: World) -> None:
    await world.stop()
    await world.queue("a", quota=1)
    await world.pods("outside", cpu=1)
    await world.in_queue("a", "mine", priority=10)
    await world.nodes(1, cpu=1)
    await world.start()
    await world.bound("mine")
    await world.pending("outside")


async def test_inside_a_queue_the_more_important_goes_first_and_then_the_older(world: World) -> None:
    await world.stop()
    await world.queue("a")
    await world.in_queue("a", "old")
    await world.another_second()
    await world.in_queue("a", "young")
    await world.in_queue("a", "important", priority=10)
    await world.nodes(1, cpu=2)
    await world.start()
    await world.bound("old", "important")
    await world.pending("young")


async def test_of_equal_queues_the_older_one_is_first(world: World) -> None:
    await world.stop()
    await world.queue("z-old")
    await world.another_second()
    await world.queue("a-young")
    await world.jobs_of("a-young", 1)
    await world.jobs_of("z-old", 1)
    await world.nodes(1, cpu=1)
    await world.start()
    await world.bound("z-old-1")
    await world.pending("a-young-1")


async def test_critical_pods_outside_evict_queued_ones(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a", quota=1)
    await world.jobs_of("a", 1)
    await world.have(a=1)
    critical = pod_json("critical", namespace=world.namespace, cpu=1)
    critical["spec"] |= {"priorityClassName": "system-cluster-critical"}
    await world.api.ask("POST", api.pods(world.namespace), critical)
    await world.evicted("a-1")


async def test_outside_jobs_preempt_each_other_as_without_queues(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a")
    await world.pods("low", cpu=1)
    await world.bound("low")
    await world.urgent("high", cpu=1)
    await world.evicted("low")


# --- minimum run times, restarts ---


async def test_the_minimum_run_time_of_a_parent_holds_below_it(virtual: World) -> None:
    await virtual.nodes(1, cpu=2)
    await virtual.queue("top", quota=0, reclaimMinRuntime="60s")
    await virtual.queue("a", parent="top", quota=0)
    await virtual.queue("b", quota=2)
    await virtual.jobs_of("a", 2)
    await virtual.starts_now("a-1", "a-2")
    await virtual.jobs_of("b", 2)
    await virtual.nobody_evicted()
    await virtual.until(lambda: len(virtual.observer.evictions.names) == 2, "the time is over")


async def test_surplus_is_not_protected_by_a_minimum_run_time(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.queue("a", quota=0, reclaimMinRuntime="1h")
    await world.queue("b", quota=3)
    await world.kai("g", 1, queue="a")
    await world.kai_pods(*members("g", 3), gang="g", labels={LABEL: "a"})
    await world.bound(*members("g", 3))
    await world.starts_now(*members("g", 3))
    await world.jobs_of("b", 3)
    await world.victims_gone()
    await world.have(a=1, b=2)


async def test_a_minimum_run_time_inside_a_queue_protects_from_preemption(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a", quota=1, preemptMinRuntime="1h")
    await world.in_queue("a", "low", priority=1)
    await world.starts_now("low")
    await world.in_queue("a", "high", priority=50, preempts=True)
    await world.says("high", "Insufficient cpu")
    await world.nobody_evicted()


async def test_a_minimum_run_time_of_reclaim_does_not_keep_off_preemption(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a", quota=1, reclaimMinRuntime="1h")
    await world.in_queue("a", "low", priority=1)
    await world.starts_now("low")
    await world.in_queue("a", "high", priority=50, preempts=True)
    await world.evicted("low")


@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_a_crash_in_the_middle_of_a_reclaim_costs_nobody_else(virtual: World, number: int) -> None:
    await full_of_a(virtual)
    virtual.strike(number, "crash after")
    await virtual.jobs_of("b", 2)
    await virtual.come_back()
    await virtual.victims_gone()
    await virtual.have(a=2, b=2)
    assert len(virtual.observer.evictions.names) == 2


async def test_a_job_that_is_deleted_while_its_victims_leave_costs_no_more(virtual: World) -> None:
    await full_of_a(virtual)
    await virtual.jobs_of("b", 1)
    await virtual.until(lambda: len(virtual.observer.evictions.names) == 1, "one leaves")
    await virtual.delete("b-1")
    await virtual.victims_gone()
    assert len(virtual.observer.evictions.names) == 1


async def test_pods_with_a_protecting_label_are_not_taken_even_above_the_quota(world: World) -> None:
    protects = {"scheduling.koordinator.sh/disable-preemptible": "true"}
    await world.nodes(1, cpu=2)
    await world.queue("a", quota=2)
    await world.queue("b", quota=2)
    await world.in_queue("a", "safe", labels=protects)
    await world.in_queue("a", "loose")
    await world.bound("safe", "loose")
    await world.change_queue("a", quota=0)
    await world.jobs_of("b", 2)
    await world.evicted("loose")
    await world.gone("loose")
    await world.some_bound(1, "b-1", "b-2")


async def test_a_job_that_must_not_preempt_reclaims_nothing(world: World) -> None:
    await full_of_a(world)
    await world.in_queue("b", "modest", priority=1)
    await world.says("modest", "Insufficient cpu")
    await world.nobody_evicted()


# --- what is seen of it ---


async def test_the_status_of_a_queue_has_what_it_has_and_wants(world: World) -> None:
    async with world.controllers():
        await world.nodes(1, cpu=2)
        await world.queue("top", quota=1)
        await world.queue("a", parent="top", quota=1)
        await world.in_queue("a", "fixed", priority=100)
        await world.bound("fixed")
        await world.in_queue("a", "loose", "waits")
        await world.some_bound(1, "loose", "waits")
        wanted = {"allocated": "2", "allocatedNonPreemptible": "1", "requested": "3"}

        def told(name: str) -> bool:
            status = (world.mirror.find(QUEUES, "", name) or {}).get("status") or {}
            return all((status.get(field) or {}).get("cpu") == amount for field, amount in wanted.items())

        await world.until(lambda: told("a") and told("top"), f"statuses {wanted}")
        assert (world.mirror.find(QUEUES, "", "top") or {})["status"]["childQueues"] == ["a"]


async def test_the_tree_is_answered_with_shares_and_jobs(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("top", limit=4)
    await world.queue("a", parent="top", quota=1)
    names = await world.jobs_of("a", 3)
    await world.some_bound(2, *names)
    line = await queue_line(world, "a")
    assert (line["parent"], line["priority"], line["state"]) == ("top", 100, "Ready")
    assert (line["quota"]["cpu"], line["limit"]["cpu"], line["fairShare"]["cpu"]) == ("1", None, "2")
    assert (line["allocated"]["cpu"], line["requested"]["cpu"]) == ("2", "3")
    assert line["jobs"] == {"running": 2, "waiting": 1}
    top = await queue_line(world, "top")
    assert (top["parent"], top["limit"]["cpu"], top["allocated"]["cpu"]) == (None, "4", "2")


async def test_the_gang_that_was_taken_hears_by_whom_on_its_object(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("a", quota=0)
    await world.queue("b", quota=2)
    await world.kai("g", 2, queue="a")
    await world.kai_pods(*members("g", 2), gang="g")
    await world.bound(*members("g", 2))
    await world.jobs_of("b", 1)
    await world.evicted(*members("g", 2))
    await world.event("Preempted", pod_group="g", text="b-1")
    assert world.mirror.find(KAI_GROUPS, world.namespace, "g")
