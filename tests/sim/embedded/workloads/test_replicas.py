"""ReplicaSets and Deployments of the embedded cluster, in virtual time."""

import asyncio

import pytest

from tests.sim.embedded.inprocess import PODS, call
from tests.sim.embedded.workloads.world import conditions, replicated, template, world

pytestmark = [pytest.mark.looptime]

NEW = {"spec": {"template": template(image="none:2")}}


def images(pods: list[dict]) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in pods}


async def test_a_replica_set_makes_as_many_pods_as_it_asks_for_and_says_so():
    async with world() as w:
        await w.create("replicasets", replicated())
        await asyncio.sleep(2)
        assert len(w.living()) == 3
        assert await w.status("replicasets") == {
            "replicas": 3,
            "fullyLabeledReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "terminatingReplicas": 0,
            "observedGeneration": 1,
        }


async def test_a_deleted_pod_is_replaced():
    async with world() as w:
        await w.create("replicasets", replicated())
        await asyncio.sleep(2)
        await call(w.cluster, "DELETE", f"{PODS}/{w.names()[0]}")
        await asyncio.sleep(2)
        assert len(w.living()) == 3


async def test_pods_that_are_not_placed_go_first():
    async with world(binds=False) as w:
        await w.create("replicasets", replicated())
        await asyncio.sleep(1)
        kept = w.names()[0]
        await call(w.cluster, "POST", f"{PODS}/{kept}/binding", {"target": {"name": "n"}})
        await w.patch("replicasets", "x/scale", {"spec": {"replicas": 1}})
        await asyncio.sleep(1)
        assert w.names() == [kept]


async def test_a_pod_counts_as_available_after_min_ready_seconds():
    async with world() as w:
        await w.create("replicasets", replicated(minReadySeconds=30))
        await asyncio.sleep(10)
        assert "availableReplicas" not in await w.status("replicasets")
        await asyncio.sleep(30)
        assert (await w.status("replicasets"))["availableReplicas"] == 3


async def test_the_pods_of_a_deployment_carry_the_hash_of_its_template():
    async with world() as w:
        await w.create("deployments", replicated())
        await asyncio.sleep(2)
        (name,) = w.names("replicasets.apps")
        short = name.removeprefix("x-")
        assert {pod["metadata"]["labels"]["pod-template-hash"] for pod in w.all()} == {short}
        assert all(pod["metadata"]["name"].startswith(f"{name}-") for pod in w.all())
        (replica_set,) = w.all("replicasets.apps")
        assert replica_set["spec"]["selector"]["matchLabels"] == {"app": "x", "pod-template-hash": short}
        assert replica_set["metadata"]["ownerReferences"][0]["kind"] == "Deployment"


async def test_a_deployment_says_how_far_it_is():
    async with world() as w:
        await w.create("deployments", replicated())
        await asyncio.sleep(2)
        status = await w.status("deployments")
        counts = {key: status[key] for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")}
        assert set(counts.values()) == {3}
        assert "unavailableReplicas" not in status
        assert conditions(status) == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }


async def test_a_rollout_keeps_within_its_limits_and_ends_with_the_new_template_only():
    async with world() as w:
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
        await w.create("deployments", replicated(replicas=4, strategy=rolling))
        await asyncio.sleep(2)
        await w.patch("deployments", "x", NEW)
        most, least = 0, 4
        for _ in range(200):
            await asyncio.sleep(0.05)
            most = max(most, len(w.living()))
            ready = [p for p in w.living() if p["status"]["phase"] == "Running"]
            least = min(least, len(ready))
        assert (most, least) == (5, 3)
        assert images(w.all()) == {"none:2"}
        assert sorted(s["spec"]["replicas"] for s in w.all("replicasets.apps")) == [0, 4]


async def test_recreate_starts_nothing_new_before_the_old_pods_are_gone():
    async with world() as w:
        await w.create("deployments", replicated(strategy={"type": "Recreate"}))
        await asyncio.sleep(2)
        await w.patch("deployments", "x", NEW)
        for _ in range(200):
            await asyncio.sleep(0.02)
            assert len(images(w.all())) <= 1
        assert images(w.all()) == {"none:2"}
        assert len(w.living()) == 3


async def test_going_back_to_an_old_template_uses_its_replica_set_under_a_new_revision():
    async with world() as w:
        await w.create("deployments", replicated())
        await asyncio.sleep(2)
        (first,) = w.names("replicasets.apps")
        await w.patch("deployments", "x", NEW)
        await asyncio.sleep(5)
        await w.patch("deployments", "x", {"spec": {"template": template()}})
        await asyncio.sleep(5)
        sets = {s["metadata"]["name"]: s for s in w.all("replicasets.apps")}
        assert len(sets) == 2
        assert sets[first]["spec"]["replicas"] == 3
        key = "deployment.kubernetes.io/revision"
        assert sets[first]["metadata"]["annotations"][key] == "3"
        assert (await w.get("deployments"))["metadata"]["annotations"][key] == "3"


async def test_old_replica_sets_beyond_the_history_limit_go():
    async with world() as w:
        await w.create("deployments", replicated(replicas=1, revisionHistoryLimit=1))
        for number in range(4):
            await asyncio.sleep(5)
            await w.patch("deployments", "x", {"spec": {"template": template(image=f"none:{number + 2}")}})
        await asyncio.sleep(5)
        assert len(w.all("replicasets.apps")) == 2


async def test_a_rollout_that_stands_still_is_told_after_its_deadline():
    async with world(binds=False) as w:
        await w.create("deployments", replicated(progressDeadlineSeconds=60))
        await asyncio.sleep(50)
        assert conditions(await w.status("deployments"))["Progressing"] == ("True", "ReplicaSetUpdated")
        await asyncio.sleep(20)
        assert conditions(await w.status("deployments"))["Progressing"] == ("False", "ProgressDeadlineExceeded")


async def test_a_paused_deployment_is_scaled_and_not_rolled_out():
    async with world() as w:
        await w.create("deployments", replicated())
        await asyncio.sleep(2)
        await w.patch(
            "deployments", "x", {"spec": {"paused": True, "replicas": 5, "template": template(image="none:2")}}
        )
        await asyncio.sleep(5)
        assert images(w.all()) == {"none:1"}
        assert len(w.living()) == 5


async def test_nothing_happens_while_nothing_changes():
    async with world() as w:
        await w.create("deployments", replicated())
        await asyncio.sleep(5)
        before = w.cluster.store.rv
        await asyncio.sleep(120)
        assert w.cluster.store.rv == before
