"""What becomes of the things that a deleted object owned, in virtual time."""

import asyncio

import pytest

from tests.sim.embedded.inprocess import PODS, call, pod
from tests.sim.embedded.workloads.world import World, job, replicated, world

pytestmark = [pytest.mark.looptime]
MAPS = "/api/v1/namespaces/default/configmaps"


def owned_by(*owners: dict) -> list[dict]:
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
        for o in owners
    ]


async def config_map(w: World, name: str, *owners: dict) -> dict:
    return await w.cluster.create(MAPS, {"metadata": {"name": name, "ownerReferences": owned_by(*owners)}})


async def test_what_an_object_owned_goes_after_it_and_so_on():
    async with world() as w:
        await w.create("deployments", replicated())
        await asyncio.sleep(2)
        await w.delete("deployments")
        await asyncio.sleep(2)
        assert (w.all("replicasets.apps"), w.all()) == ([], [])


async def test_what_has_another_owner_stays_and_forgets_the_first():
    async with world() as w:
        first, second = await config_map(w, "a"), await config_map(w, "b")
        await config_map(w, "c", first, second)
        await call(w.cluster, "DELETE", f"{MAPS}/a")
        await asyncio.sleep(1)
        kept = await call(w.cluster, "GET", f"{MAPS}/c")
        assert [owner["name"] for owner in kept["metadata"]["ownerReferences"]] == ["b"]


async def test_a_pod_of_an_owner_that_never_was_is_left_alone():
    async with world() as w:
        ghost = {"metadata": {"name": "ghost", "uid": "0"}}
        await w.cluster.create(PODS, pod("a", ownerReferences=owned_by(ghost)))
        await asyncio.sleep(60)
        assert w.names() == ["a"]


async def test_foreground_deletion_lets_an_owner_go_last():
    async with world() as w:
        await w.create("deployments", replicated())
        await asyncio.sleep(2)
        await w.delete("deployments", propagationPolicy="Foreground")
        left = []
        for _ in range(100):
            await asyncio.sleep(0.02)
            here = (len(w.all()) > 0, len(w.all("replicasets.apps")) > 0, len(w.all("deployments.apps")) > 0)
            if here not in left:
                left.append(here)
        assert left[0] == (True, True, True)
        assert left[-1] == (False, False, False)
        assert all(pods <= sets <= deployments for pods, sets, deployments in left)


@pytest.mark.parametrize("resource", ["deployments", "jobs"])
async def test_orphans_stay_and_forget_their_owner(resource: str):
    async with world() as w:
        await w.create(resource, replicated() if resource == "deployments" else job())
        await asyncio.sleep(2)
        await w.delete(resource, propagationPolicy="Orphan")
        await asyncio.sleep(2)
        assert (await w.get(resource))["httpStatus"] == 404
        left = w.all("replicasets.apps") if resource == "deployments" else w.all()
        assert len(left) == 1
        assert "ownerReferences" not in left[0]["metadata"]


async def test_a_job_that_is_deleted_without_a_word_about_its_pods_leaves_them():
    async with world() as w:
        await w.create("jobs", job())
        await asyncio.sleep(1)
        await w.delete("jobs")
        await asyncio.sleep(1)
        assert w.names("jobs.batch") == []
        assert len(w.all()) == 1
        assert "finalizers" not in w.all()[0]["metadata"]


async def test_a_deleted_namespace_goes_with_its_workloads_and_their_pods():
    async with world() as w:
        await w.cluster.create("/api/v1/namespaces", {"metadata": {"name": "y"}})
        await w.cluster.create(w.path("jobs", namespace="y"), job(parallelism=2, completions=2))
        await w.cluster.create(w.path("deployments", namespace="y"), replicated())
        await asyncio.sleep(2)
        await call(w.cluster, "DELETE", "/api/v1/namespaces/y")
        await asyncio.sleep(5)
        assert [(stored.storage, stored.key) for stored in w.cluster.store.in_namespace("y")] == []
        assert "y" not in w.names("namespaces")
