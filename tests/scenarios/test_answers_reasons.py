"""Where a job stands and what is in its way, in the words of the answers, on both API servers."""

from __future__ import annotations

import pytest

from tests.plan.constraints import HOSTNAME
from tests.scenarios.objects import condition, gang, members
from tests.scenarios.questions import JOBS, explained, in_the_way, jobs, state
from tests.scenarios.queueing import LABEL
from tests.scenarios.test_backfill import big_waits
from tests.scenarios.world import World

pytestmark = pytest.mark.usefixtures("patient")

# --- states ---


async def test_a_gang_that_keeps_part_of_its_members_is_holding(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-3", "2 of 3 members")
    assert await state(world, "a") == ("Holding", "Resources")


async def test_a_gang_that_holds_is_in_the_way_of_others(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-3", "2 of 3 members")
    await world.pods("other", cpu=2)
    await world.says("other", "Insufficient cpu")
    obstacles = await in_the_way(world, "other", "Job")
    (waiting,) = (each for each in obstacles if each["name"] == f"{world.namespace}/a")
    assert waiting["nodes"] == ["n1"]
    assert "waits for 1 more member" in waiting["message"]


async def test_a_job_whose_victims_are_terminating_is_preempting(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("low", cpu=1)
    await world.bound("low")
    await world.urgent("high", cpu=1)
    await world.evicted("low")
    assert await state(world, "high") == ("Preempting", "Victims")
    await world.gone("low")
    await world.bound("high")
    assert await state(world, "high") == ("Running", None)


async def test_a_gang_whose_time_was_up_has_timed_out(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.busy_node()
    said = gang("a", minimum=3, mode="NonStrict", wait="1s")
    await world.pods(*members("a", 3), annotations=said, cpu=1)
    await world.timed_out(*members("a", 3))
    await world.settled()
    assert await state(world, "a") == ("TimedOut", "TimedOut")
    answer = await explained(world, "a")
    assert answer["job"]["members"]["pending"] == 3
    assert "annotation gang.scheduling.koordinator.sh/timeout is removed" in answer["job"]["expectedStart"]["message"]
    (obstacle,) = (each for each in answer["inTheWay"] if each["kind"] == "Member")
    assert obstacle["message"].startswith("3 members of it waited in vain")


# --- reasons: constraints ---


async def test_a_port_that_is_taken_is_a_constraint(world: World) -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    await world.nodes(1, cpu=2)
    await world.pods("first", host_ports=ports, cpu=1)
    await world.bound("first")
    await world.pods("second", host_ports=ports, cpu=1)
    await world.says("second", "free ports")
    answer = await explained(world, "second")
    assert answer["job"]["reason"] == "Constraints"
    assert {"kind": "JobEnds", "job": f"{world.namespace}/first"}.items() <= answer["changes"][0].items()


async def test_a_claim_that_does_not_exist_is_a_constraint(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("a", claim="nowhere", cpu=1)
    await world.says("a", '"nowhere" not found')
    assert await state(world, "a") == ("Pending", "Constraints")


async def test_pods_that_keep_each_other_away_are_a_constraint(world: World) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": HOSTNAME}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    await world.nodes(1, cpu=4)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2), labels={"app": "x"}, affinity=apart, cpu=1)
    await world.says("a-1", "anti-affinity")
    answer = await explained(world, "a")
    assert answer["job"]["reason"] == "Constraints"
    assert {"kind": "NodeAdded", "like": "n1", "count": 1}.items() <= answer["changes"][-1].items()


# --- reasons: queues ---


async def test_a_queue_that_is_named_and_missing(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("a")
    await world.in_queue("nowhere", "p")
    await world.says("p", "queue nowhere does not exist")
    assert await state(world, "p") == ("Pending", "QueueMissing")


async def test_a_queue_that_has_queues_below_it(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("top")
    await world.queue("leaf", parent="top")
    await world.in_queue("top", "p")
    await world.says("p", "takes no jobs")
    assert await state(world, "p") == ("Pending", "QueueNotLeaf")


async def test_a_queue_whose_parent_is_missing(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.queue("orphan", parent="gone")
    await world.in_queue("orphan", "p")
    await world.says("p", "parent queue gone does not exist")
    assert await state(world, "p") == ("Pending", "QueueBroken")
    (obstacle,) = await in_the_way(world, "p", "Queue")
    assert obstacle["name"] == "orphan"


async def test_a_limit_is_in_the_way_with_what_the_queue_has(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", limit=2)
    await world.jobs_of("a", 2)
    await world.have(a=2)
    await world.in_queue("a", "p")
    await world.says("p", "no room below its limit")
    assert await state(world, "p") == ("Pending", "QueueLimit")
    (obstacle,) = await in_the_way(world, "p", "Queue")
    assert (obstacle["name"], obstacle["holds"]) == ("a", {"cpu": "2"})


async def test_a_quota_is_in_the_way_of_work_that_is_not_preemptible(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.queue("a", quota=1)
    await world.in_queue("a", "p", cpu=2, priority=100)
    await world.says("p", "no room below its quota")
    assert await state(world, "p") == ("Pending", "QueueQuota")


async def test_what_a_gang_holds_that_waits_is_said_in_what_the_job_lacks(world: World) -> None:
    """Its members ask for CPUs as well, of which there are enough."""
    await world.node("n1", cpu=8, nvidia__com_gpu=2)
    await world.runs("other", "n1", cpu=1, nvidia__com_gpu=1)
    await world.pod_group("hold", minimum=2, annotations=gang(mode="NonStrict"))
    await world.pods("hold-1", "hold-2", gang="hold", cpu=1, nvidia__com_gpu=1)
    await world.says("hold-1", "1 of 2 members fit")
    await world.pods("p", cpu=1, nvidia__com_gpu=1)
    text = f"1 nvidia.com/gpu is held by gang {world.namespace}/hold"
    await world.says("p", text)
    held = [each["message"] for each in await in_the_way(world, "p", "Job") if "held" in each["message"]]
    assert [message.startswith(text) for message in held] == [True]


async def test_the_gang_of_a_surplus_member_is_not_in_its_way(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.says("a-3", "Insufficient cpu")
    answer = await explained(world, "a-3")
    assert not [each for each in answer["changes"] if each["kind"] == "JobEnds"]
    assert not [each for each in answer["inTheWay"] if each["kind"] == "Job"]


# --- reservations ---


async def test_a_job_that_waits_for_a_reserved_one_says_for_whom_and_until_when(world: World) -> None:
    await big_waits(world)
    at = await world.reserved(gang="big", within=600)
    await world.timed("long", seconds=900)
    await world.says("long", "nodes are reserved for {ns}/big")
    assert await state(world, "long") == ("Pending", "Reservation")
    (obstacle,) = await in_the_way(world, "long", "Reservation")
    assert (obstacle["name"], obstacle["until"]) == (f"{world.namespace}/big", at)


async def test_who_is_in_the_way_says_until_when_if_it_has_declared_that(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.timed("busy", seconds=600)
    await world.starts_now("busy")
    await world.timed("next", seconds=100)
    at = await world.reserved(pod="next", within=600)
    (obstacle,) = await in_the_way(world, "next", "Job")
    assert (obstacle["name"], obstacle["holds"], obstacle["until"]) == (f"{world.namespace}/busy", {"cpu": "1"}, at)


async def test_the_end_of_who_declares_nothing_is_not_known(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("busy", cpu=1)
    await world.bound("busy")
    await world.pods("next", cpu=1)
    await world.says("next", "Insufficient cpu")
    (obstacle,) = await in_the_way(world, "next", "Job")
    assert (obstacle["nodes"], obstacle["until"]) == (["n1"], None)


# --- the order, and what a job is called ---


async def test_with_queues_the_list_is_in_the_order_of_their_turns(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a", priority=100)
    await world.queue("b", priority=200)
    await world.in_queue("a", "a-1", "a-2", cpu=4)
    await world.in_queue("b", "b-1", cpu=4)
    for name in ("a-1", "a-2", "b-1"):
        await world.says(name, "Insufficient cpu")
    listed = await jobs(world)
    assert [(job["position"], job["name"], job["queue"]) for job in listed] == [
        (1, "b-1", "b"),
        (2, "a-1", "a"),
        (3, "a-2", "a"),
    ]


async def test_who_comes_later_is_behind_those_of_its_priority(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("z", cpu=2)
    await world.another_second()
    await world.pods("a", cpu=2)
    await world.says("a", "Insufficient cpu")
    assert [job["name"] for job in await jobs(world)] == ["z", "a"]


async def test_a_job_waits_since_the_last_object_came_that_it_needed(world: World) -> None:
    await world.nodes(1, cpu=1)
    said = gang("a", minimum=2)
    await world.pods("a-1", annotations=said, cpu=1)
    await world.another_second()
    await world.pods("a-2", annotations=said, cpu=1)
    await world.says("a-1", "1 of 2 members fit")
    (job,) = await jobs(world)
    assert job["since"] == world.pod("a-2")["metadata"]["creationTimestamp"]


async def test_gangs_that_start_together_are_one_job_and_found_by_each_of_them(world: World) -> None:
    await world.nodes(1, cpu=1)
    for name in ("older", "younger"):
        await world.pod_group(name, minimum=1, annotations=gang(groups=world.group("older", "younger")))
        await world.another_second()
        await world.pods(f"{name}-1", gang=name, cpu=1)
    await world.says("younger-1", "gang {ns}/younger: 0 of 1 members fit")
    (job,) = await jobs(world)
    assert (job["type"], job["name"]) == ("GangGroup", "older")
    assert sorted(job["gangs"]) == world.group("older", "younger")
    assert job["members"]["minimum"] == 2
    for name in ("younger", "younger-1"):
        assert (await explained(world, name))["job"]["name"] == "older"


async def test_a_gang_counts_before_a_pod_of_the_same_name(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("a", cpu=2)
    await world.pods("a-1", annotations=gang("a", minimum=1), cpu=3)
    await world.says("a", "Insufficient cpu")
    await world.says("a-1", "Insufficient cpu")
    assert (await explained(world, "a"))["job"]["type"] == "Gang"


async def test_a_workload_that_was_grouped_gives_the_job_its_name(world: World) -> None:
    await world.nodes(1, cpu=1)
    async with world.controllers():
        owner = await world.workload("PyTorchJob", "train", {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}})
        role = {"training.kubeflow.org/replica-type": "master"}
        await world.workload_pods("m", of=owner, labels=role, cpu=2)
        group = (await world.grouped("m"))["metadata"]["name"]
        await world.says("m", "Insufficient cpu")
        (job,) = await jobs(world)
        assert (job["name"], job["gangs"]) == ("train", [f"{world.namespace}/{group}"])
        for name in ("train", group, "m"):
            assert (await explained(world, name))["job"]["name"] == "train"


async def test_pods_of_other_schedulers_are_not_listed(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("theirs", scheduler="default-scheduler", cpu=2)
    await world.pods("ours", cpu=2)
    await world.says("ours", "Insufficient cpu")
    assert [job["name"] for job in await jobs(world)] == ["ours"]


# --- one source ---


@pytest.mark.parametrize("what", ["pod", "gang", "queue"])
async def test_the_condition_the_event_and_the_answer_say_the_same(world: World, what: str) -> None:
    await world.nodes(1, cpu=1)
    await world.queue("a", limit=0)
    given = {"gang": gang("p", minimum=1)} if what == "gang" else {}
    labels = {LABEL: "a"} if what == "queue" else {}
    await world.pods("p", annotations=given.get("gang"), labels=labels, cpu=2)
    await world.says("p", "no room below" if what == "queue" else "Insufficient cpu")
    message = (await explained(world, "p"))["job"]["message"]
    assert message == condition(world.pod("p"))["message"]
    await world.event("FailedScheduling", pod="p", text=message)


async def test_every_document_says_what_it_is_and_when(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("p", cpu=2)
    await world.says("p", "Insufficient cpu")
    for path, kind in ((JOBS, "JobList"), (f"{JOBS}/{world.namespace}/p", "Explanation")):
        _, answer = await world.http(path)
        assert (answer["apiVersion"], answer["kind"]) == ("koordpy.io/v1alpha1", kind)
        assert answer["asOf"].endswith("Z")


async def test_a_refusal_that_was_shown_is_proved(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pods("p", cpu=2)
    await world.says("p", "Insufficient cpu")
    assert (await explained(world, "p"))["proved"] is True
