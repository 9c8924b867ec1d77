"""Declared run times, and who gets the reservation, on both API servers."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.times import instant_of_seconds, seconds_of_instant
from tests.builders import pod_json
from tests.scenarios import api
from tests.scenarios.api import STRATEGIC
from tests.scenarios.mirror import GROUPS
from tests.scenarios.network import gathering, must
from tests.scenarios.objects import gang as gang_keys
from tests.scenarios.objects import members
from tests.scenarios.queueing import LABEL, RESERVED, RUN_TIME
from tests.scenarios.test_backfill import BIG, big_waits, gang
from tests.scenarios.test_grouping import ROLE
from tests.scenarios.world import World


async def one_busy(world: World, *, seconds: int = 600) -> None:
    """A node that is free again by then."""
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=seconds)
    await world.starts_now("busy")


async def kubelet_says(world: World, name: str, seconds_from_now: float) -> None:
    """Its clock may be wrong."""
    await world.bound(name)
    status = {"status": {"phase": "Running", "startTime": instant_of_seconds(world._wall() + seconds_from_now)}}
    await world.api.ask("PATCH", api.pods(world.namespace, name, "status"), status, STRATEGIC)
    await world.until(lambda: world.pod(name)["status"].get("startTime"), f"{name} has started")
    await world.settled()


# --- what a job declares ---


async def test_the_pods_own_run_time_counts_before_that_of_its_gang(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.kai("two", 1, annotations={RUN_TIME: "60s"})
    await world.kai_pods("two-1", gang="two", annotations={RUN_TIME: "900s"})
    await world.says("two-1", "nodes are reserved for {ns}/big")


async def test_the_longest_of_its_members_counts_for_a_job(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.kai("two", 2)
    await world.kai_pods("two-1", gang="two", annotations={RUN_TIME: "60s"})
    await world.kai_pods("two-2", gang="two", annotations={RUN_TIME: "900s"})
    await world.says("two-1", "nodes are reserved for {ns}/big")
    await world.pending("two-1", "two-2")


async def test_a_deadline_is_a_declaration(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    pod = pod_json("short", namespace=world.namespace, cpu=1)
    pod["spec"] |= {"activeDeadlineSeconds": 60}
    await world.api.ask("POST", api.pods(world.namespace), pod)
    await world.until(lambda: world.mirror.pod(world.namespace, "short"), "short")
    await world.bound("short")


async def test_the_annotation_counts_before_the_deadline(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    pod = pod_json("long", namespace=world.namespace, cpu=1, annotations={RUN_TIME: "900s"})
    pod["spec"] |= {"activeDeadlineSeconds": 60}
    await world.api.ask("POST", api.pods(world.namespace), pod)
    await world.until(lambda: world.mirror.pod(world.namespace, "long"), "long")
    await world.says("long", "nodes are reserved for {ns}/big")


async def test_a_run_time_that_cannot_be_read_is_told_and_counts_as_none(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.timed("odd", annotations={RUN_TIME: "soon"})
    await world.event("InvalidGangSpec", pod="odd", text="soon")
    await world.says("odd", "it declares no run time")


async def test_the_run_time_of_an_owner_is_carried_over_by_the_grouper(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await world.starts_now("busy")
    async with world.controllers():
        spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}}
        owner = await world.workload("PyTorchJob", "train", spec, annotations={RUN_TIME: "100s"})
        await world.workload_pods("train-master-0", of=owner, labels={ROLE: "master"})
        group = (await world.grouped("train-master-0"))["metadata"]["name"]
        await world.reserved(gang=group, within=600)


# --- when running pods end ---


async def test_a_clock_that_is_ahead_does_not_make_an_end_later(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await kubelet_says(world, "busy", 3000)
    await world.timed("next", seconds=100)
    await world.reserved(pod="next", within=600)


async def test_a_clock_that_is_behind_does_not_make_an_end_earlier(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await kubelet_says(world, "busy", -500)
    await world.timed("next", seconds=100)
    at = await world.reserved(pod="next", within=600)
    assert seconds_of_instant(at) - world._wall() > 300


async def test_a_clock_that_is_behind_does_so_neither_after_a_restart(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await kubelet_says(world, "busy", -500)
    await world.restart()
    await world.timed("next", seconds=100)
    at = await world.reserved(pod="next", within=600)
    assert seconds_of_instant(at) - world._wall() > 300


async def test_of_a_pod_past_its_end_nothing_is_known(virtual: World) -> None:
    await one_busy(virtual, seconds=5)
    await virtual.let_pass(10)
    await virtual.timed("next", seconds=100)
    await virtual.says("next", "No start can be reserved: {ns}/busy should have ended by now")


# --- who gets it ---


async def test_a_job_that_declares_nothing_gets_no_reservation(world: World) -> None:
    await one_busy(world)
    await world.pods("next", cpu=1)
    await world.says("next", "Insufficient cpu")
    await world.timed("declared", seconds=100)
    await world.reserved(pod="declared", within=600)
    assert not world.reserved_start(pod="next")


async def test_an_incomplete_gang_gets_none_and_the_next_one_does(world: World) -> None:
    await one_busy(world)
    await world.kai("half", 2, annotations={RUN_TIME: "100s"})
    await world.kai_pods("half-1", gang="half")
    await world.says("half-1", "1 of 2 members")
    await world.timed("next", seconds=100)
    await world.reserved(pod="next", within=600)
    assert not world.reserved_start(gang="half")


async def test_a_gang_that_loses_a_member_gives_its_reservation_up(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await world.delete("big-4")
    await world.not_reserved(gang="big")


async def test_a_job_that_waits_for_its_queue_gets_none(world: World) -> None:
    await one_busy(world)
    await world.queue("a", limit=0)
    await world.timed("limited", seconds=100, labels={LABEL: "a"})
    await world.says("limited", "queue a has no room below its limit")
    await world.timed("next", seconds=100)
    await world.reserved(pod="next", within=600)
    assert not world.reserved_start(pod="limited")


async def test_a_reserved_job_that_its_queue_keeps_out_gives_its_reservation_up(world: World) -> None:
    await one_busy(world)
    await world.queue("a", limit=1)
    await world.timed("mine", seconds=100, labels={LABEL: "a"})
    await world.reserved(pod="mine", within=600)
    await world.change_queue("a", limit=0)
    await world.says("mine", "queue a has no room below its limit")
    await world.not_reserved(pod="mine")


async def test_with_queues_the_reservation_is_that_of_the_next_turn(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.queue("a")
    await world.queue("b", quota=1)
    await world.timed("a-busy-1", "a-busy-2", seconds=600, labels={LABEL: "a"}, priority=100)
    await world.says("a-busy-1", "queue a has no room below its quota")
    await world.change_queue("a", quota=2)
    await world.starts_now("a-busy-1", "a-busy-2")
    await world.stop()
    await world.timed("a-next", seconds=100, labels={LABEL: "a"})
    await world.another_second()
    await world.timed("b-next", seconds=100, labels={LABEL: "b"})
    await world.start()
    await world.reserved(pod="b-next", within=600)
    assert not world.reserved_start(pod="a-next")


async def test_a_more_important_job_takes_the_reservation_over(world: World) -> None:
    await one_busy(world)
    await world.timed("first", seconds=100)
    await world.reserved(pod="first", within=600)
    await world.timed("vip", seconds=100, priority=10)
    await world.reserved(pod="vip", within=600)
    await world.not_reserved(pod="first")


async def test_a_pod_that_can_never_fit_gets_none(world: World) -> None:
    await one_busy(world)
    await world.timed("huge", seconds=100, cpu=64)
    await world.says("huge", "even on an empty cluster")
    await world.timed("next", seconds=100)
    await world.reserved(pod="next", within=600)
    assert not world.reserved_start(pod="huge")


# --- where it is seen ---


async def test_without_an_object_it_is_on_every_pod_of_the_gang(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.timed("busy", seconds=600)
    await world.starts_now("busy")
    await world.timed("g-1", "g-2", seconds=100, annotations=gang_keys("g", minimum=2))
    at = await world.reserved(pod="g-1", within=600)
    await world.until(lambda: world.reserved_start(pod="g-2") == at, "the other one too")


async def test_it_is_on_a_pod_group_of_coscheduling(world: World) -> None:
    await one_busy(world)
    await world.pod_group("g", minimum=1, annotations={RUN_TIME: "100s"})
    await world.pods("g-1", gang="g", cpu=1)

    def told() -> str:
        found = world.mirror.find(GROUPS["sigs"], world.namespace, "g") or {"metadata": {}}
        text: str = (found["metadata"].get("annotations") or {}).get(RESERVED, "")
        return text

    await world.until(told, "a reservation")


async def test_a_promise_that_somebody_invented_is_no_promise(world: World) -> None:
    await one_busy(world)
    await world.timed("next", seconds=100, annotations={RESERVED: "tomorrow"})
    await world.says("next", "reserved to start at")
    at = await world.until(lambda: world.reserved_start(pod="next").replace("tomorrow", ""), "a reservation")
    assert seconds_of_instant(at) > world._wall()


# --- topology ---


async def test_a_gathered_gang_is_reserved_the_domain_that_is_free_first(world: World) -> None:
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    await world.topology()
    on = "kubernetes.io/hostname"
    await world.timed("late", seconds=5000, node_selector={on: "n1"})
    await world.timed("early", seconds=600, node_selector={on: "n3"})
    await world.starts_now("late", "early")
    await world.kai("g", 2, annotations={RUN_TIME: "100s", **gathering(must("SpineLayer"))})
    await world.kai_pods("g-1", "g-2", gang="g")
    await world.reserved(gang="g", within=600)
    await world.pods("unknown", cpu=1)
    await world.bound("unknown")
    assert world.node_names("unknown") == ["n2"]


# --- switched off, or not used ---


@pytest.mark.parametrize("off", ["Off", False])
async def test_backfill_can_be_switched_off_in_two_ways(virtual: World, off: object) -> None:
    await virtual.restart(koordpy={"backfill": off})
    await one_busy(virtual)
    await virtual.timed("next", seconds=100)
    await virtual.says("next", "Insufficient cpu")
    await asyncio.sleep(1)
    assert not virtual.reserved_start(pod="next")


async def test_without_any_declaration_everything_is_as_before(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods("busy", cpu=1)
    await world.bound("busy")
    await world.kai("g", 2)
    await world.kai_pods(*members("g", 2), gang="g")
    await world.says("g-1", "1 of 2 members fit")
    await world.pods("single", cpu=1)
    await world.bound("single")
    assert "reserve" not in world.pod("g-1")["status"]["conditions"][0]["message"]


async def test_reservations_are_told_of_in_the_message_of_every_member(world: World) -> None:
    await big_waits(world)
    at = await world.reserved(gang="big", within=600)
    await world.all_say(f"reserved to start at {at}", *BIG)


async def test_a_gang_that_is_backfilled_starts_as_a_whole_or_not_at_all(world: World) -> None:
    await big_waits(world)
    await world.reserved(gang="big", within=600)
    await gang(world, "three", 3, 60)
    await world.says("three-1", "Insufficient cpu")
    await gang(world, "two", 2, 60)
    await world.bound("two-1", "two-2")
    await world.pending(*members("three", 3))
