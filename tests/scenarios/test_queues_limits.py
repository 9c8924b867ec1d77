"""Limits at several levels and in several resources, and work that is not preemptible, on both API servers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.objects import members
from tests.scenarios.queueing import LABEL
from tests.scenarios.world import World


def block(quota: float = 0, limit: float = -1, weight: float = 1) -> dict[str, Any]:
    return {"quota": quota, "limit": limit, "overQuotaWeight": weight}


async def test_the_limit_of_a_grandparent_is_named(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("top", limit=1)
    await world.queue("middle", parent="top", limit=4)
    await world.queue("a", parent="middle", limit=4)
    await world.jobs_of("a", 1)
    await world.have(a=1)
    await world.in_queue("a", "more")
    await world.says("more", "queue top has no room below its limit of cpu: limit 1, allocated 1, asked for 1")


async def test_a_gang_over_the_limit_takes_nothing_at_all(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=3)
    await world.kai("g", 4, queue="a")
    await world.kai_pods(*members("g", 4), gang="g")
    await world.says("g-1", "limit 3, allocated 0, asked for 4; it asks for more than that at once")
    await world.in_queue("a", "single")
    await world.bound("single")


async def test_surplus_stops_at_the_limit(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=3)
    await world.kai("g", 2, queue="a")
    await world.kai_pods(*members("g", 5), gang="g")
    await world.some_bound(3, *members("g", 5))


async def test_memory_is_counted_in_millions_of_bytes(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", resources={"memory": block(limit=1000)})
    await world.in_queue("a", "fits", memory="1G")
    await world.bound("fits")
    await world.in_queue("a", "more", memory="1M")
    await world.says("more", "queue a has no room below its limit of memory: limit 1G, allocated 1G, asked for 1M")


async def test_gpus_of_every_name_count_together(world: World) -> None:
    await world.node("n1", cpu=8, nvidia__com_gpu=4, amd__com_gpu=4)
    await world.queue("a", resources={"gpu": block(limit=2)})
    await world.in_queue("a", "nvidia", nvidia__com_gpu=1)
    await world.in_queue("a", "amd", amd__com_gpu=1)
    await world.bound("nvidia", "amd")
    await world.in_queue("a", "more", nvidia__com_gpu=1)
    await world.says("more", "queue a has no room below its limit of gpu: limit 2, allocated 2, asked for 1")


async def test_which_resources_are_gpus_can_be_configured(world: World) -> None:
    await world.restart(koordpy={"queues": {"gpuResources": ["example.com/accelerator"]}})
    await world.node("n1", cpu=8, nvidia__com_gpu=4, example__com_accelerator=4)
    await world.queue("a", resources={"gpu": block(limit=1)})
    await world.in_queue("a", "free", nvidia__com_gpu=2)
    await world.bound("free")
    await world.in_queue("a", "counted", example__com_accelerator=2)
    await world.says("counted", "limit of gpu: limit 1, allocated 0, asked for 2")


async def test_a_block_that_is_absent_is_not_counted(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", resources={"gpu": block(limit=0)})
    await world.jobs_of("a", 8)
    await world.have(a=8)


async def test_in_a_block_that_is_there_nothing_said_means_no_quota_and_no_limit(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", resources={"cpu": {}})
    await world.jobs_of("a", 3)
    await world.have(a=3)
    await world.in_queue("a", "fixed", priority=100)
    await world.says("fixed", "queue a has no room below its quota of cpu: quota 0")


async def test_a_quota_of_minus_one_is_unlimited(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", quota=-1)
    await world.queue("b", quota=4)
    await world.jobs_of("a", 4, priority=100)
    await world.have(a=4)


async def test_a_queue_without_any_limit_of_its_own_is_held_to_its_parents(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("top", limit=2)
    await world.queue("a", parent="top", resources={})
    names = await world.jobs_of("a", 4)
    await world.some_bound(2, *names)


async def test_pods_that_request_nothing_pass_a_limit_of_zero(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=0)
    await world.in_queue("a", "tiny", cpu=None)
    await world.bound("tiny")


async def test_a_pod_of_one_resource_is_not_held_up_by_the_limit_of_another(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", resources={"cpu": block(limit=1000), "memory": block(limit=100)})
    await world.jobs_of("a", 1)
    await world.have(a=1)
    await world.in_queue("a", "memory-only", cpu=None, memory="100M")
    await world.bound("memory-only")


# --- work that is not preemptible ---


async def test_the_quota_of_a_parent_holds_for_work_that_is_not_preemptible(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("top", quota=1)
    await world.queue("a", parent="top", quota=4)
    await world.in_queue("a", "one", priority=100)
    await world.bound("one")
    await world.in_queue("a", "two", priority=100)
    await world.says("two", "queue top has no room below its quota of cpu: quota 1, non-preemptible work has 1")


async def test_what_others_have_over_quota_does_not_count_against_non_preemptible_work(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", quota=1)
    await world.jobs_of("a", 4)
    await world.have(a=4)
    await world.in_queue("a", "fixed", priority=100)
    await world.bound("fixed")


@pytest.mark.parametrize("said", ["scheduling.koordinator.sh/disable-preemptible", "quota.scheduling.koordinator.sh"])
async def test_labels_that_protect_a_pod_make_it_non_preemptible(world: World, said: str) -> None:
    labels = {said: "true"} if "disable" in said else {f"{said}/preemptible": "false"}
    await world.nodes(1, cpu=8)
    await world.queue("a", quota=0)
    await world.in_queue("a", "safe", labels=labels)
    await world.says("safe", "queue a has no room below its quota of cpu: quota 0")


async def test_a_pod_group_says_whether_it_is_preemptible(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", quota=0)
    await world.kai("fixed", 1, queue="a", preemptibility="non-preemptible")
    await world.kai_pods("fixed-1", gang="fixed")
    await world.says("fixed-1", "queue a has no room below its quota of cpu: quota 0")
    await world.kai("loose", 1, queue="a", preemptibility="preemptible")
    await world.kai_pods("loose-1", gang="loose", priority=100)
    await world.bound("loose-1")


async def test_the_class_of_a_pod_group_says_whether_it_is_preemptible(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.classes(building=100, training=50)
    await world.queue("a", quota=0)
    await world.kai("fixed", 1, queue="a", priorityClassName="building")
    await world.kai_pods("fixed-1", gang="fixed")
    await world.says("fixed-1", "queue a has no room below its quota of cpu: quota 0")
    await world.kai("loose", 1, queue="a", priorityClassName="training")
    await world.kai_pods("loose-1", gang="loose", priority=100)
    await world.bound("loose-1")


async def test_non_preemptible_surplus_stops_at_the_quota(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", quota=2)
    await world.kai("g", 1, queue="a", preemptibility="non-preemptible")
    await world.kai_pods(*members("g", 4), gang="g")
    await world.some_bound(2, *members("g", 4))


async def test_limits_hold_for_pods_that_others_bound_by_hand(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.queue("a", limit=2)
    await world.pods("manual", cpu=2, labels={LABEL: "a"}, gated=True)
    await world.settled()
    await world.stop()
    await world.ungate("manual")
    await world.bind("manual", "n1")
    await world.start()
    await world.in_queue("a", "p")
    await world.says("p", "limit 2, allocated 2")
