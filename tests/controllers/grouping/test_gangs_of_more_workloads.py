"""The other kinds, each with owners and pods as its operator makes them."""

from __future__ import annotations

import pytest

from tests.controllers.grouping.test_gangs_of_workloads import KUBEFLOW, RAY, ray_labels

SPECS = {"TFJob": "tfReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs", "JAXJob": "jaxReplicaSpecs"}


@pytest.mark.parametrize("kind", SPECS)
async def test_other_jobs_of_the_training_operator_are_gangs_of_all_their_replicas(world, kind):
    roles = {"Worker": {"replicas": 2}} | ({"Master": {"replicas": 1}} if kind == "XGBoostJob" else {})
    async with world.grouper():
        owner = await world.owner(kind, "train", {SPECS[kind]: roles})
        labels = {
            f"{KUBEFLOW}/job-name": "train",
            f"{KUBEFLOW}/replica-type": "worker",
            f"{KUBEFLOW}/replica-index": "0",
        }
        await world.pod("train-worker-0", owner, labels=labels)
        spec = await world.spec_becomes("train-worker-0", minMember=sum(each["replicas"] for each in roles.values()))
    assert "subGroups" not in spec


async def test_a_notebook_is_a_group_of_its_own_for_building(world):
    """The notebook controller makes a StatefulSet of one pod."""
    await world.priority_class("build", 100)
    async with world.grouper():
        owner = await world.owner("Notebook", "lab", {})
        one = await world.owner("StatefulSet", "lab", owner=owner)
        await world.pod("lab-0", one, labels={"notebook-name": "lab", "statefulset": "lab"})
        group = await world.group_of("lab-0")
    assert group["metadata"]["name"] == f"pg-lab-{owner['metadata']['uid']}"
    assert (group["spec"]["minMember"], group["spec"]["priorityClassName"]) == (1, "build")


async def test_a_rayservice_is_a_gang_of_the_cluster_that_serves(world):
    async with world.grouper():
        service = await world.owner("RayService", "chat", {})
        cluster = await world.owner("RayCluster", "chat-1", RAY, owner=service)
        await world.pod("chat-1-head", cluster, labels=ray_labels("chat-1", "head", "headgroup"))
        group = await world.group_of("chat-1-head")
        assert group["metadata"]["name"] == f"pg-chat-{service['metadata']['uid']}"
        assert group["spec"]["minMember"] == 3
        larger = RAY["workerGroupSpecs"][0] | {"replicas": 5, "minReplicas": 5}
        await world.change("RayCluster", "chat-1", {"spec": {"workerGroupSpecs": [larger]}})
        await world.spec_becomes("chat-1-head", minMember=6)  # of the owner below: it is followed, too


async def test_a_knative_service_is_a_gang_of_the_pods_that_a_revision_keeps(world):
    """Pod, ReplicaSet, Deployment, Revision, Configuration, Service: each controls the one before."""
    async with world.grouper():
        service = await world.owner("Service", "api", {}, labels={"kai.scheduler/queue": "serving"})
        configuration = await world.owner("Configuration", "api", {}, owner=service)
        kept = {"autoscaling.knative.dev/min-scale": "2"}
        revision = await world.owner("Revision", "api-1", {}, owner=configuration, annotations=kept)
        deployment = await world.owner("Deployment", "api-1-deployment", owner=revision)
        replicas = await world.owner("ReplicaSet", "api-1-deployment-x", owner=deployment)
        await world.pod("api-1-deployment-x-y", replicas, labels={"serving.knative.dev/revision": "api-1"})
        group = await world.group_of("api-1-deployment-x-y")
    assert group["metadata"]["name"] == f"pg-api-1-{revision['metadata']['uid']}"
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (2, "serving")


async def test_a_statefulset_is_a_group_and_a_daemonset_only_with_a_queue(world):
    async with world.grouper():
        database = await world.owner("StatefulSet", "db")
        await world.pod("db-0", database)
        assert (await world.group_of("db-0"))["metadata"]["name"] == f"pg-db-{database['metadata']['uid']}"
        agents = await world.owner("DaemonSet", "agent")
        await world.pod("agent-x", agents)
        await world.stays_ungrouped("agent-x")
        await world.change("DaemonSet", "agent", {"metadata": {"labels": {"kai.scheduler/queue": "system"}}})
        await world.spec_becomes("agent-x", queue="system")


async def test_the_jobs_of_an_experiment_are_gangs_of_their_own(world):
    """An owner that nobody knows, above a gang kind: a hyperparameter search, a platform's own job."""
    async with world.grouper():
        experiment = await world.owner("Simulation", "search", {})
        spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}
        names = set()
        for trial in ("a", "b"):
            job = await world.owner("PyTorchJob", trial, spec, owner=experiment)
            await world.pod(f"{trial}-worker-0", job, labels={f"{KUBEFLOW}/replica-type": "worker"})
            group = await world.group_of(f"{trial}-worker-0")
            assert group["spec"]["minMember"] == 2
            names.add(group["metadata"]["name"])
    assert len(names) == 2
