"""What becomes of pods whose node is gone, in virtual time."""

import asyncio

import pytest

from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.workloads.podgc import QUARANTINE_S
from tests.sim.embedded.inprocess import NODES, PODS, call, pod
from tests.sim.embedded.workloads.test_failure_policy import IGNORE_DISRUPTIONS, policy
from tests.sim.embedded.workloads.world import World, conditions, job, world

pytestmark = [pytest.mark.looptime]


async def lose_node(w: World, name: str = "n") -> None:
    assert (await call(w.cluster, "DELETE", f"{NODES}/{name}"))["httpStatus"] == 200


async def test_a_pod_whose_node_is_gone_stays_for_a_while_and_goes():
    async with world() as w:
        await w.cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(1)
        await lose_node(w)
        await asyncio.sleep(QUARANTINE_S - 0.1)
        assert w.names() == ["a"]
        await asyncio.sleep(0.2)
        assert w.names() == []


async def test_a_pod_that_is_deleted_when_its_node_is_gone_goes_too():
    async with world() as w:
        await w.cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(1)
        await lose_node(w)
        await w.delete("pods", "a")
        await asyncio.sleep(QUARANTINE_S + 0.1)
        assert w.names() == []


async def test_a_pod_that_is_created_on_a_node_that_never_was_goes_too():
    async with world() as w:
        await w.cluster.create(PODS, pod("a", node="absent"))
        await asyncio.sleep(QUARANTINE_S + 0.1)
        assert w.names() == []


async def test_whoever_holds_such_a_pod_sees_it_failed_and_why():
    async with world() as w:
        await w.cluster.create(PODS, pod("a", node="n", finalizers=["example.com/counted"]))
        await asyncio.sleep(1)
        await lose_node(w)
        await asyncio.sleep(QUARANTINE_S + 0.1)
        status = await w.status("pods", "a")
        assert status["phase"] == "Failed"
        assert conditions(status)["DisruptionTarget"] == ("True", "DeletionByPodGC")


async def test_a_pod_that_had_succeeded_before_its_node_was_gone_has_not_failed():
    async with world() as w:
        runs = {"embedded.koordpy.io/run-seconds": "1"}
        await w.cluster.create(PODS, pod("a", node="n", annotations=runs, finalizers=["example.com/counted"]))
        await asyncio.sleep(2)
        await lose_node(w)
        await asyncio.sleep(QUARANTINE_S + 0.1)
        found = await w.get("pods", "a")
        assert "deletionTimestamp" in found["metadata"]
        assert found["status"]["phase"] == "Succeeded"


async def test_a_node_that_is_back_in_time_keeps_its_pods():
    async with world() as w:
        await w.cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(1)
        await lose_node(w)
        await asyncio.sleep(QUARANTINE_S - 1)
        await w.cluster.create(NODES, simulated_node("n"))
        await asyncio.sleep(60)
        assert (await w.status("pods", "a"))["phase"] == "Running"


async def test_a_node_that_goes_a_second_time_has_its_full_quarantine_again():
    async with world() as w:
        await w.cluster.create(PODS, pod("a", node="n"))
        await lose_node(w)
        await asyncio.sleep(QUARANTINE_S - 1)
        await w.cluster.create(NODES, simulated_node("n"))
        await asyncio.sleep(1)
        await lose_node(w)
        await asyncio.sleep(QUARANTINE_S - 1)
        assert w.names() == ["a"]


async def test_pods_of_other_nodes_stay():
    async with world() as w:
        await w.cluster.create(NODES, simulated_node("other"))
        await w.cluster.create(PODS, pod("a", node="n"))
        await w.cluster.create(PODS, pod("b", node="other"))
        await lose_node(w)
        await asyncio.sleep(60)
        assert w.names() == ["b"]


@pytest.mark.parametrize("forced", [False, True])
async def test_a_job_with_a_policy_makes_a_pod_anew_whose_node_is_gone(forced: bool):
    """It waits for the end of a pod, which nobody else would ever see; and the end is no failure of its own."""
    async with world() as w:
        await w.create("jobs", job(backoffLimit=0, **policy(IGNORE_DISRUPTIONS)))
        await asyncio.sleep(1)
        (first,) = w.names()
        await lose_node(w)
        if forced:
            await w.delete("pods", first, gracePeriodSeconds=0)
        await asyncio.sleep(QUARANTINE_S + 0.2)
        assert first not in w.names()
        await w.cluster.create(NODES, simulated_node("n"))
        await asyncio.sleep(15)  # the pause after a failure
        assert len(w.living()) == 1
        assert "failed" not in await w.status("jobs")


async def test_a_namespace_that_waits_for_such_a_pod_goes_with_it():
    async with world() as w:
        await w.cluster.create("/api/v1/namespaces", {"metadata": {"name": "y"}})
        await w.cluster.create("/api/v1/namespaces/y/pods", pod("a", node="n"))
        await asyncio.sleep(1)
        await lose_node(w)
        await call(w.cluster, "DELETE", "/api/v1/namespaces/y")
        await asyncio.sleep(QUARANTINE_S + 0.1)
        assert "y" not in w.names("namespaces")


async def test_pods_on_a_server_that_has_no_kubelets_are_left_alone():
    async with world(kubelets=False) as w:
        await w.cluster.create(PODS, pod("a", node="absent"))
        await asyncio.sleep(60)
        assert w.names() == ["a"]
