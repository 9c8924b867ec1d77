"""StatefulSets of the embedded cluster, in virtual time."""

import asyncio

import pytest

from tests.sim.embedded.inprocess import PODS, call
from tests.sim.embedded.workloads.world import replicated, template, world

pytestmark = [pytest.mark.looptime]


async def test_pods_are_named_by_their_ordinal_and_made_in_that_order():
    async with world() as w:
        await w.create("statefulsets", replicated(serviceName="s"))
        seen = []
        for _ in range(100):
            await asyncio.sleep(0.05)
            ready = {p["metadata"]["name"] for p in w.all() if p["status"]["phase"] == "Running"}
            for name in w.names():
                if name not in seen:
                    assert set(seen) <= ready
                    seen.append(name)
        assert seen == ["x-0", "x-1", "x-2"]
        pod = w.all()[1]
        assert pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "x-1"
        assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("x-1", "s")


async def test_parallel_makes_all_pods_at_once():
    async with world(binds=False) as w:
        await w.create("statefulsets", replicated(podManagementPolicy="Parallel"))
        await asyncio.sleep(1)
        assert w.names() == ["x-0", "x-1", "x-2"]


async def test_scaling_down_takes_the_highest_ordinals():
    async with world() as w:
        await w.create("statefulsets", replicated())
        await asyncio.sleep(5)
        await w.patch("statefulsets", "x/scale", {"spec": {"replicas": 1}})
        await asyncio.sleep(5)
        assert w.names() == ["x-0"]


async def test_a_deleted_pod_comes_back_under_its_name():
    async with world() as w:
        await w.create("statefulsets", replicated())
        await asyncio.sleep(5)
        before = w.all()[1]["metadata"]["uid"]
        await call(w.cluster, "DELETE", f"{PODS}/x-1")
        await asyncio.sleep(5)
        assert w.names() == ["x-0", "x-1", "x-2"]
        assert w.all()[1]["metadata"]["uid"] != before


async def test_an_update_replaces_pods_from_the_highest_ordinal_down_to_the_partition():
    async with world() as w:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        await w.create("statefulsets", replicated(updateStrategy=strategy))
        await asyncio.sleep(5)
        await w.patch("statefulsets", "x", {"spec": {"template": template(image="none:2")}})
        await asyncio.sleep(10)
        images = {p["metadata"]["name"]: p["spec"]["containers"][0]["image"] for p in w.all()}
        assert images == {"x-0": "none:1", "x-1": "none:2", "x-2": "none:2"}
        status = await w.status("statefulsets")
        assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 2)
        assert status["currentRevision"] != status["updateRevision"]


async def test_a_pod_below_the_partition_comes_back_from_the_old_template():
    async with world() as w:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}
        await w.create("statefulsets", replicated(updateStrategy=strategy))
        await asyncio.sleep(5)
        await w.patch("statefulsets", "x", {"spec": {"template": template(image="none:2")}})
        await call(w.cluster, "DELETE", f"{PODS}/x-1")
        await asyncio.sleep(5)
        assert {p["spec"]["containers"][0]["image"] for p in w.all()} == {"none:1"}


async def test_an_update_that_has_ended_is_the_current_revision():
    async with world() as w:
        await w.create("statefulsets", replicated())
        await asyncio.sleep(5)
        await w.patch("statefulsets", "x", {"spec": {"template": template(image="none:2")}})
        await asyncio.sleep(10)
        status = await w.status("statefulsets")
        assert status["currentRevision"] == status["updateRevision"]
        assert (status["currentReplicas"], status["updatedReplicas"], status["readyReplicas"]) == (3, 3, 3)
        assert len(w.all("controllerrevisions.apps")) == 2


async def test_each_pod_has_a_claim_of_its_own_that_outlives_it():
    async with world() as w:
        claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
        await w.create("statefulsets", replicated(replicas=2, volumeClaimTemplates=[claim]))
        await asyncio.sleep(5)
        volumes = [p["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for p in w.all()]
        assert volumes == ["data-x-0", "data-x-1"]
        await w.delete("statefulsets")
        await asyncio.sleep(5)
        assert w.all() == []
        assert w.names("persistentvolumeclaims") == ["data-x-0", "data-x-1"]
