"""The operators that the embedded cluster plays: pods with the names, labels, owners and order of the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from koordpy.sim.embedded.columns import at_path
from koordpy.sim.embedded.workloads.operators.definitions import PATH, definitions
from tests.sim.embedded.inprocess import call
from tests.sim.embedded.workloads.world import World, template, world

pytestmark = pytest.mark.looptime

PYTORCHJOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
MPIJOBS = "/apis/kubeflow.org/v2beta1/namespaces/default/mpijobs"
RAYCLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
KUBEFLOW = "training.kubeflow.org"


@asynccontextmanager
async def operated(*, binds: bool = True) -> AsyncIterator[World]:
    async with world(binds=binds) as w:
        for definition in definitions():
            await w.cluster.create(PATH, definition)
        yield w


async def create(w: World, path: str, name: str, **spec: Any) -> dict[str, Any]:
    return await w.cluster.create(path, {"metadata": {"name": name}, "spec": spec})


async def condition(w: World, path: str) -> str:
    found = await call(w.cluster, "GET", path)
    return next(each["type"] for each in reversed(found["status"]["conditions"]) if each["status"] == "True")


def role(replicas: int, runs: str = "") -> dict[str, Any]:
    annotations = {"embedded.koordpy.io/run-seconds": runs, "embedded.koordpy.io/exit-code": "0"} if runs else {}
    return {"replicas": replicas, "template": template(restart="Never", annotations=annotations)}


async def test_a_pytorchjob_makes_its_master_and_workers_with_their_roles_and_indexes():
    async with operated(binds=False) as w:
        made = await create(w, PYTORCHJOBS, "t", pytorchReplicaSpecs={"Master": role(1), "Worker": role(2)})
        await asyncio.sleep(1)
        assert sorted(w.names()) == ["t-master-0", "t-worker-0", "t-worker-1"]
        worker = next(pod for pod in w.all() if pod["metadata"]["name"] == "t-worker-1")
        assert worker["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
        assert worker["metadata"]["ownerReferences"][0]["apiVersion"] == "kubeflow.org/v1"
        assert worker["metadata"]["labels"] == {
            "app": "x",
            f"{KUBEFLOW}/operator-name": "pytorchjob-controller",
            f"{KUBEFLOW}/job-name": "t",
            f"{KUBEFLOW}/replica-type": "worker",
            f"{KUBEFLOW}/replica-index": "1",
        }


async def test_a_pytorchjob_follows_its_replicas():
    async with operated() as w:
        await create(w, PYTORCHJOBS, "t", pytorchReplicaSpecs={"Worker": role(3)})
        await asyncio.sleep(2)
        change = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}}
        await call(w.cluster, "PATCH", f"{PYTORCHJOBS}/t", change, "merge-patch+json")
        await asyncio.sleep(40)
        assert [pod["metadata"]["name"] for pod in w.living()] == ["t-worker-0"]


async def test_a_pytorchjob_has_succeeded_when_its_master_has():
    async with operated() as w:
        roles = {"Master": role(1, runs="5") | {"restartPolicy": "Never"}, "Worker": role(1)}
        await create(w, PYTORCHJOBS, "t", pytorchReplicaSpecs=roles)
        await asyncio.sleep(2)
        assert await condition(w, f"{PYTORCHJOBS}/t") == "Running"
        await asyncio.sleep(10)
        assert await condition(w, f"{PYTORCHJOBS}/t") == "Succeeded"


@pytest.mark.parametrize("policy", [{}, {"launcherCreationPolicy": "AtStartup"}])
async def test_an_mpijob_makes_its_workers_and_a_job_that_launches(policy):
    async with operated(binds=False) as w:
        await create(w, MPIJOBS, "m", mpiReplicaSpecs={"Launcher": role(1), "Worker": role(2)}, **policy)
        await asyncio.sleep(1)
        assert w.names("jobs.batch") == ["m-launcher"]
        by_role = sorted(pod["metadata"]["labels"][f"{KUBEFLOW}/job-role"] for pod in w.all())
        assert by_role == ["launcher", "worker", "worker"]
        launcher = next(pod for pod in w.all() if pod["metadata"]["labels"][f"{KUBEFLOW}/job-role"] == "launcher")
        assert launcher["metadata"]["ownerReferences"][0]["kind"] == "Job"


async def test_a_launcher_that_waits_comes_when_all_workers_are_ready():
    late = {"launcherCreationPolicy": "WaitForWorkersReady"}
    async with operated(binds=False) as w:
        await create(w, MPIJOBS, "m", mpiReplicaSpecs={"Launcher": role(1), "Worker": role(2)}, **late)
        await asyncio.sleep(5)
        assert sorted(w.names()) == ["m-worker-0", "m-worker-1"]
        for name in w.names():
            await call(w.cluster, "POST", w.path("pods", f"{name}/binding"), {"target": {"name": "n"}})
        await asyncio.sleep(5)
        assert w.names("jobs.batch") == ["m-launcher"]


async def test_an_mpijob_ends_as_its_launcher_does():
    async with operated() as w:
        await create(w, MPIJOBS, "m", mpiReplicaSpecs={"Launcher": role(1, runs="5"), "Worker": role(1)})
        await asyncio.sleep(20)
        assert await condition(w, f"{MPIJOBS}/m") == "Succeeded"


async def test_a_raycluster_makes_its_head_and_the_workers_of_each_group():
    groups = [{"groupName": "a", "replicas": 1, "numOfHosts": 2, "template": template()}]
    groups.append({"groupName": "b", "replicas": 5, "maxReplicas": 3, "template": template()})
    groups.append({"groupName": "c", "replicas": 4, "suspend": True, "template": template()})
    async with operated() as w:
        await create(w, RAYCLUSTERS, "r", headGroupSpec={"template": template()}, workerGroupSpecs=groups)
        await asyncio.sleep(3)
        assert sorted(pod["metadata"]["labels"]["ray.io/group"] for pod in w.all()) == [
            "a",
            "a",
            "b",
            "b",
            "b",
            "headgroup",
        ]
        assert "r-head" in w.names()
        assert sum(name.startswith("r-a-worker-") for name in w.names()) == 2
        found = await call(w.cluster, "GET", f"{RAYCLUSTERS}/r")
        assert found["status"] == {"desiredWorkerReplicas": 5, "availableWorkerReplicas": 5, "state": "ready"}


async def test_a_pod_of_a_raycluster_that_is_deleted_is_made_again():
    async with operated() as w:
        await create(w, RAYCLUSTERS, "r", headGroupSpec={"template": template()}, workerGroupSpecs=[])
        await asyncio.sleep(2)
        (before,) = w.all()
        await w.delete("pods", "r-head", gracePeriodSeconds=0)
        await asyncio.sleep(2)
        (after,) = w.all()
        assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_the_last_condition_of_a_job_is_its_state_in_a_table():
    async with operated() as w:
        await create(w, PYTORCHJOBS, "t", pytorchReplicaSpecs={"Worker": role(1)})
        await asyncio.sleep(2)
        found = (await call(w.cluster, "GET", f"{PYTORCHJOBS}/t"))["status"]
        assert at_path({"status": found}, ".status.conditions[-1:].type") == "Running"
        assert at_path({"status": {"conditions": []}}, ".status.conditions[-1:].type") is None
