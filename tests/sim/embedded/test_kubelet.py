"""Simulated kubelets, in virtual time."""

import asyncio

import pytest

from koordpy.sim.embedded.kubelet import EXIT_CODE, RUN_SECONDS, Timing
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedCluster
from tests.sim.embedded.inprocess import NODES, PODS, call, pod

pytestmark = [pytest.mark.looptime]
TIMING = Timing(start=2.0, termination=5.0)


def _cluster(**options: object) -> EmbeddedCluster:
    return EmbeddedCluster([simulated_node("n", extended={"nvidia.com/gpu": "8"})], timing=TIMING, **options)


async def _phase(cluster: EmbeddedCluster, name: str = "a") -> str:
    return (await call(cluster, "GET", f"{PODS}/{name}"))["status"]["phase"]


async def test_a_bound_pod_runs_after_the_start_delay_and_not_before():
    async with _cluster() as cluster:
        await cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(1.9)
        assert await _phase(cluster) == "Pending"
        await asyncio.sleep(0.2)
        assert await _phase(cluster) == "Running"


async def test_a_running_pod_is_ready_and_has_an_address():
    async with _cluster() as cluster:
        await cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(3)
        status = (await call(cluster, "GET", f"{PODS}/a"))["status"]
        ready = {c["type"] for c in status["conditions"] if c["status"] == "True"}
        assert ready == {"PodScheduled", "Initialized", "ContainersReady", "Ready"}
        assert status["podIP"].startswith("10.")
        assert status["containerStatuses"][0]["ready"]


async def test_two_running_pods_have_different_addresses():
    async with _cluster() as cluster:
        for name in ("a", "b"):
            await cluster.create(PODS, pod(name, node="n"))
        await asyncio.sleep(3)
        listed = await call(cluster, "GET", PODS)
        assert len({item["status"]["podIP"] for item in listed["items"]}) == 2


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
async def test_a_pod_ends_after_its_run_time_as_its_exit_code_says(code, phase):
    async with _cluster() as cluster:
        await cluster.create(PODS, pod("a", node="n", annotations={RUN_SECONDS: "30", EXIT_CODE: code}))
        await asyncio.sleep(31.5)
        assert await _phase(cluster) == "Running"
        await asyncio.sleep(1)
        assert await _phase(cluster) == phase


async def test_a_run_time_that_is_no_number_is_ignored():
    async with _cluster() as cluster:
        await cluster.create(PODS, pod("a", node="n", annotations={RUN_SECONDS: "soon"}))
        await asyncio.sleep(100)
        assert await _phase(cluster) == "Running"


async def test_a_deleted_pod_ends_before_it_goes_for_whoever_holds_it():
    async with _cluster() as cluster:
        held = pod("a", node="n")
        held["metadata"]["finalizers"] = ["example.com/counted"]
        await cluster.create(PODS, held)
        await asyncio.sleep(3)
        await call(cluster, "DELETE", f"{PODS}/a")
        await asyncio.sleep(6)
        status = (await call(cluster, "GET", f"{PODS}/a"))["status"]
        assert status["phase"] == "Failed"
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_deleted_pod_takes_no_longer_than_its_grace_period():
    async with _cluster() as cluster:
        await cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(3)
        await call(cluster, "DELETE", f"{PODS}/a", {"gracePeriodSeconds": 2})
        await asyncio.sleep(2.1)
        assert (await call(cluster, "GET", f"{PODS}/a"))["httpStatus"] == 404


async def test_a_deleted_pod_terminates_for_a_while_and_goes():
    async with _cluster() as cluster:
        await cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(3)
        await call(cluster, "DELETE", f"{PODS}/a")
        await asyncio.sleep(4.9)
        assert "deletionTimestamp" in (await call(cluster, "GET", f"{PODS}/a"))["metadata"]
        await asyncio.sleep(0.2)
        assert (await call(cluster, "GET", f"{PODS}/a"))["httpStatus"] == 404


async def test_a_finalizer_outlives_the_kubelet():
    async with _cluster() as cluster:
        await cluster.create(PODS, pod("a", node="n", finalizers=["x.io/held"]))
        await call(cluster, "DELETE", f"{PODS}/a")
        await asyncio.sleep(60)
        assert (await call(cluster, "GET", f"{PODS}/a"))["metadata"]["deletionGracePeriodSeconds"] == 0
        await call(cluster, "PATCH", f"{PODS}/a", {"metadata": {"finalizers": None}}, "merge-patch+json")
        assert (await call(cluster, "GET", f"{PODS}/a"))["httpStatus"] == 404


async def test_a_pod_on_a_node_that_does_not_exist_never_starts():
    async with _cluster(quarantine_s=None) as cluster:
        await cluster.create(PODS, pod("a", node="absent"))
        await asyncio.sleep(60)
        assert await _phase(cluster) == "Pending"


async def test_a_pod_recreated_under_its_name_is_not_started_by_the_plan_for_the_old_one():
    async with _cluster() as cluster:
        await cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(1)
        await call(cluster, "DELETE", f"{PODS}/a?gracePeriodSeconds=0")
        await cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(1.5)
        assert await _phase(cluster) == "Pending"


async def test_without_kubelets_a_bound_pod_stays_pending():
    async with _cluster(kubelets=False) as cluster:
        await cluster.create(PODS, pod("a", node="n"))
        await asyncio.sleep(60)
        assert await _phase(cluster) == "Pending"


async def test_a_simulated_node_offers_its_extended_resources_and_is_ready():
    async with _cluster() as cluster:
        node = await call(cluster, "GET", f"{NODES}/n")
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "n"
        assert {"type": "Ready", "status": "True", "reason": "KubeletReady"} in node["status"]["conditions"]


async def test_a_namespace_goes_with_its_last_terminating_pod():
    async with _cluster() as cluster:
        await cluster.create("/api/v1/namespaces", {"metadata": {"name": "x"}})
        await cluster.create("/api/v1/namespaces/x/pods", pod("a", node="n"))
        await call(cluster, "DELETE", "/api/v1/namespaces/x")
        assert (await call(cluster, "GET", "/api/v1/namespaces/x"))["status"]["phase"] == "Terminating"
        await asyncio.sleep(10)
        assert (await call(cluster, "GET", "/api/v1/namespaces/x"))["httpStatus"] == 404


async def test_a_node_that_comes_back_goes_on_with_the_pods_that_it_had():
    async with _cluster(quarantine_s=None) as cluster:
        await cluster.create(PODS, pod("leaves", node="n"))
        await asyncio.sleep(3)
        await cluster.create(PODS, pod("starts", node="n"))
        await call(cluster, "DELETE", f"{PODS}/leaves")
        await call(cluster, "DELETE", f"{NODES}/n")
        await asyncio.sleep(60)
        left = (await call(cluster, "GET", PODS))["items"]
        assert [each["metadata"]["name"] for each in left] == ["leaves", "starts"]
        await cluster.create(NODES, simulated_node("n"))
        await asyncio.sleep(6)
        left = (await call(cluster, "GET", PODS))["items"]
        assert [(each["metadata"]["name"], each["status"]["phase"]) for each in left] == [("starts", "Running")]
