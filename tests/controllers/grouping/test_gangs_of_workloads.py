"""A user submits a workload and gets a gang: each kind with owners and pods as its operator makes them."""

from __future__ import annotations

import pytest

from koordpy.controllers.grouping.expansion import expanded
from tests.controllers.grouping.world import SPECS, Json, World

KUBEFLOW = "training.kubeflow.org"
_POD: Json = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}


def pytorch_labels(job: str, role: str, index: int) -> dict[str, str]:
    """training-operator, pkg/controller.v1/common/pod.go and job_controller.go (GenLabels)."""
    labels = {
        f"{KUBEFLOW}/operator-name": "pytorchjob-controller",
        f"{KUBEFLOW}/job-name": job,
        f"{KUBEFLOW}/replica-type": role,
        f"{KUBEFLOW}/replica-index": str(index),
    }
    return labels | ({f"{KUBEFLOW}/job-role": "master"} if role == "master" else {})


async def pytorchjob(world: World, workers: int, **given: Json) -> Json:
    roles = {"Master": {"replicas": 1}, "Worker": {"replicas": workers}}
    owner = await world.owner("PyTorchJob", "train", {"pytorchReplicaSpecs": roles, **given})
    await world.pod("train-master-0", owner, labels=pytorch_labels("train", "master", 0))
    for index in range(workers):
        await world.pod(f"train-worker-{index}", owner, labels=pytorch_labels("train", "worker", index))
    return owner


async def test_a_pytorchjob_is_a_gang_of_its_master_and_workers(world):
    async with world.grouper():
        owner = await pytorchjob(world, workers=3)
        group = await world.group_of("train-worker-2")
    meta = owner["metadata"]
    assert group["metadata"]["name"] == f"pg-train-{meta['uid']}"
    (reference,) = group["metadata"]["ownerReferences"]
    assert reference == {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train", "uid": meta["uid"]}
    assert group["spec"]["minMember"] == 4
    assert group["spec"]["subGroups"] == [{"name": "master", "minMember": 1}, {"name": "worker", "minMember": 3}]
    assert await world.subgroup_of("train-master-0") == "master"
    assert await world.subgroup_of("train-worker-0") == "worker"


async def test_a_job_is_a_gang_of_its_minimum(world):
    async with world.grouper():
        owner = await world.owner("Job", "batch", annotations={"kai.scheduler/batch-min-member": "2"})
        for index in range(3):
            await world.pod(f"batch-{index}", owner)
        groups = [await world.group_of(f"batch-{index}") for index in range(3)]
    assert {group["metadata"]["name"] for group in groups} == {f"pg-batch-{owner['metadata']['uid']}"}
    assert groups[0]["spec"]["minMember"] == 2


def mpi_labels(role: str, index: int | None = None) -> dict[str, str]:
    """mpi-operator, pkg/controller/mpi_job_controller.go (defaultLabels, newWorker)."""
    labels = {f"{KUBEFLOW}/operator-name": "mpi-operator", f"{KUBEFLOW}/job-name": "mpi", f"{KUBEFLOW}/job-role": role}
    return labels | ({f"{KUBEFLOW}/replica-index": str(index)} if index is not None else {})


async def test_an_mpijob_whose_launcher_comes_later_is_raised_when_it_does(world):
    roles = {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}
    spec = {"mpiReplicaSpecs": roles, "launcherCreationPolicy": "WaitForWorkersReady"}
    async with world.grouper():
        owner = await world.owner("MPIJob", "mpi", spec)
        for index in range(2):
            await world.pod(f"mpi-worker-{index}", owner, labels=mpi_labels("worker", index))
        first = await world.group_of("mpi-worker-1")
        assert first["spec"]["minMember"] == 2
        launcher = await world.owner("Job", "mpi-launcher", owner=owner)  # the launcher is the pod of a Job
        await world.pod("mpi-launcher-x", launcher, labels=mpi_labels("launcher"))
        second = await world.group_of("mpi-launcher-x")
    assert second["metadata"]["name"] == first["metadata"]["name"]
    assert second["spec"]["minMember"] == 3


def mpi_labels_of_v1(role: str) -> dict[str, str]:
    """training-operator, pkg/controller.v1/mpi/mpijob_controller.go (newLauncher, newWorker)."""
    labels = {
        f"{KUBEFLOW}/operator-name": "mpijob-controller",
        f"{KUBEFLOW}/job-name": "mpi",
        f"{KUBEFLOW}/replica-type": role,
    }
    return labels | ({f"{KUBEFLOW}/job-role": "master"} if role == "launcher" else {})


async def test_an_mpijob_of_v1_is_a_gang_of_its_launcher_and_workers(world):
    """Its operator makes the launcher with the workers, as a pod that the MPIJob itself controls (ReconcilePods)."""
    roles = {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}
    async with world.grouper():
        owner = await world.owner("MPIJob", "mpi", {"mpiReplicaSpecs": roles}, version="v1")
        for index in range(2):
            await world.pod(f"mpi-worker-{index}", owner, labels=mpi_labels_of_v1("worker"))
        await world.pod("mpi-launcher", owner, labels=mpi_labels_of_v1("launcher"))
        groups = [await world.group_of(pod) for pod in ("mpi-worker-0", "mpi-worker-1", "mpi-launcher")]
    assert {group["metadata"]["name"] for group in groups} == {f"pg-mpi-{owner['metadata']['uid']}"}
    assert groups[0]["spec"]["minMember"] == 3
    (reference,) = groups[0]["metadata"]["ownerReferences"]
    assert reference["apiVersion"] == "kubeflow.org/v1"


def ray_labels(cluster: str, kind: str, group: str) -> dict[str, str]:
    """kuberay, ray-operator/controllers/ray/common/pod.go (labelPod)."""
    return {
        "ray.io/is-ray-node": "yes",
        "ray.io/cluster": cluster,
        "ray.io/node-type": kind,
        "ray.io/group": group,
        "ray.io/identifier": f"{cluster}-{kind}",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }


RAY = {
    "headGroupSpec": {},
    "workerGroupSpecs": [{"groupName": "gpu", "minReplicas": 2, "replicas": 2, "maxReplicas": 9}],
}


async def test_a_rayjob_is_a_gang_of_its_cluster_and_the_submitter_comes_along(world):
    async with world.grouper():
        job = await world.owner("RayJob", "ray", {})
        cluster = await world.owner("RayCluster", "ray-abc", RAY, owner=job)
        await world.pod("ray-abc-head", cluster, labels=ray_labels("ray-abc", "head", "headgroup"))
        for index in range(2):
            await world.pod(f"ray-abc-gpu-worker-{index}", cluster, labels=ray_labels("ray-abc", "worker", "gpu"))
        await world.spec_becomes("ray-abc-gpu-worker-1", minMember=3)
        submitter = await world.owner("Job", "ray", owner=job)
        await world.pod("ray-submit", submitter, labels={"app.kubernetes.io/created-by": "kuberay-operator"})
        group = await world.group_of("ray-submit")
    assert group["metadata"]["name"] == f"pg-ray-{job['metadata']['uid']}"
    assert {each["name"]: each["minMember"] for each in group["spec"]["subGroups"]} == {
        "headgroup": 1, "gpu": 2, "others": 0,
    }  # fmt: skip
    assert await world.subgroup_of("ray-abc-head") == "headgroup"
    assert await world.subgroup_of("ray-submit") == "others"


def jobset_labels(job: str, index: int) -> dict[str, str]:
    """jobset, pkg/controllers/jobset_controller.go (labelAndAnnotateObject)."""
    prefix = "jobset.sigs.k8s.io"
    return {f"{prefix}/jobset-name": "set", f"{prefix}/replicatedjob-name": job, f"{prefix}/job-index": str(index)}


async def test_a_jobset_is_one_gang_of_all_its_jobs(world):
    template = {"spec": {"parallelism": 2, "completions": 2}}
    jobs = [{"name": "driver", "replicas": 1, "template": {}}, {"name": "workers", "replicas": 2, "template": template}]
    async with world.grouper():
        train = await world.owner("TrainJob", "train", {}, labels={"kai.scheduler/queue": "team"})
        owner = await world.owner("JobSet", "set", {"replicatedJobs": jobs}, owner=train)
        for name, index in (("driver", 0), ("workers", 0), ("workers", 1)):
            job = await world.owner("Job", f"set-{name}-{index}", owner=owner)
            await world.pod(f"set-{name}-{index}-0-x", job, labels=jobset_labels(name, index))
        group = await world.group_of("set-workers-1-0-x")
        assert await world.subgroup_of("set-workers-1-0-x") == "workers-replica-1"
        assert (await world.group_of("set-driver-0-0-x"))["metadata"]["uid"] == group["metadata"]["uid"]
    assert group["metadata"]["name"] == f"pg-set-{owner['metadata']['uid']}"
    assert (group["spec"]["minSubGroup"], group["spec"]["queue"]) == (2, "team")
    assert {"name": "workers-replica-1", "minMember": 2, "parent": "workers"} in group["spec"]["subGroups"]


async def test_the_replicated_jobs_of_a_jobset_in_order_are_awaited_as_they_begin(world):
    jobs = [{"name": name, "replicas": 1, "template": {}} for name in ("first", "second")]
    spec = {"replicatedJobs": jobs, "startupPolicy": {"startupPolicyOrder": "InOrder"}}
    async with world.grouper():
        owner = await world.owner("JobSet", "set", spec)
        for number, name in enumerate(("first", "second"), start=1):
            job = await world.owner("Job", f"set-{name}-0", owner=owner)
            await world.pod(f"set-{name}-0-0-x", job, labels=jobset_labels(name, 0))
            await world.spec_becomes(f"set-{name}-0-0-x", minSubGroup=number)


async def test_the_replicated_jobs_of_a_trainjob_with_initializers_are_awaited_as_they_begin(world):
    """A chain, as the runtimes of Kubeflow's trainer have it: each Job is made when the one before it has completed."""
    names = ("dataset-initializer", "model-initializer", "node")
    jobs = [{"name": name, "replicas": 1, "template": {}} for name in names]
    for before, job in zip(names, jobs[1:], strict=False):
        job["dependsOn"] = [{"name": before, "status": "Complete"}]
    async with world.grouper():
        train = await world.owner("TrainJob", "set", {})
        owner = await world.owner("JobSet", "set", {"replicatedJobs": jobs}, owner=train)
        for number, name in enumerate(names, start=1):
            job = await world.owner("Job", f"set-{name}-0", owner=owner)
            await world.pod(f"set-{name}-0-0-x", job, labels=jobset_labels(name, 0))
            spec = await world.spec_becomes(f"set-{name}-0-0-x", minSubGroup=number)
            assert [part["name"] for part in spec["subGroups"] if "parent" not in part] == list(names[:number])
            assert await world.subgroup_of(f"set-{name}-0-0-x") == f"{name}-replica-0"


async def test_each_group_of_a_leaderworkerset_is_a_gang_of_its_leader_and_workers(world):
    """The workers of a group are those of a StatefulSet that its leader pod owns (lws, pod_controller.go)."""
    lws = "leaderworkerset.sigs.k8s.io"
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3}, "startupPolicy": "LeaderReady"}
    async with world.grouper():
        owner = await world.owner("LeaderWorkerSet", "serve", spec)
        leaders = await world.owner("StatefulSet", "serve", owner=owner)
        labels = {f"{lws}/name": "serve", f"{lws}/group-index": "1"}
        leader = await world.pod("serve-1", leaders, labels=labels | {f"{lws}/worker-index": "0"})
        group = await world.group_of("serve-1")
        assert group["metadata"]["name"] == f"pg-serve-{owner['metadata']['uid']}-group-1"
        assert group["spec"]["minMember"] == 1  # until the leader has a node
        await world.bind("serve-1")
        await world.spec_becomes("serve-1", minMember=3)
        workers = await world.owner("StatefulSet", "serve-1", owner=leader | {"apiVersion": "v1", "kind": "Pod"})
        await world.pod("serve-1-1", workers, labels=labels | {f"{lws}/worker-index": "1"})
        assert (await world.group_of("serve-1-1"))["metadata"]["uid"] == group["metadata"]["uid"]
        assert await world.subgroup_of("serve-1-1") == "workers"


async def test_driver_and_executors_of_spark_are_one_group_named_by_spark(world):
    """The driver is a pod without owner, and owns its executors."""
    labels = {"spark-app-name": "pi", "spark-app-selector": "spark-0123"}
    async with world.grouper():
        driver = await world.pod("pi-driver", labels=labels | {"spark-role": "driver"})
        await world.group_of("pi-driver")
        as_owner = driver | {"apiVersion": "v1", "kind": "Pod"}
        await world.pod("pi-exec-1", as_owner, labels=labels | {"spark-role": "executor"})
        group = await world.group_of("pi-exec-1")
    assert (group["metadata"]["name"], group["spec"]["minMember"]) == ("spark-0123", 1)
    assert group["metadata"]["ownerReferences"][0]["uid"] == driver["metadata"]["uid"]


async def test_the_pods_of_a_cronjob_are_grouped_by_their_job(world):
    async with world.grouper():
        schedule = {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": (await _template())}}}
        cron = await world.owner("CronJob", "nightly", schedule)
        job = await world.owner("Job", "nightly-1", owner=cron)
        await world.pod("nightly-1-x", job)
        group = await world.group_of("nightly-1-x")
    assert group["metadata"]["name"] == f"pg-nightly-1-{job['metadata']['uid']}"


async def _template() -> Json:
    return {"spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}}


async def test_the_pods_of_an_argo_workflow_are_groups_of_one_each(world):
    async with world.grouper():
        owner = await world.owner("Workflow", "flow", {})
        names = [(await _named(world, f"flow-{index}", owner)) for index in range(2)]
    assert len(set(names)) == 2


async def _named(world: World, pod: str, owner: Json) -> str:
    await world.pod(pod, owner)
    return (await world.group_of(pod))["metadata"]["name"]


async def test_bare_pods_and_pods_of_deployments_get_no_group_unless_a_queue_is_named(world):
    async with world.grouper():
        deployment = await world.owner("Deployment", "web")
        replicas = await world.owner("ReplicaSet", "web-1", owner=deployment)
        await world.pod("bare")
        await world.pod("web-1-x", replicas)
        await world.stays_ungrouped("bare", "web-1-x")
        assert await world.pod_groups() == []
        await world.change("Deployment", "web", {"metadata": {"labels": {"kai.scheduler/queue": "serving"}}})
        await world.pod("queued", labels={"kai.scheduler/queue": "team"})
        queues = [(await world.group_of(name))["spec"]["queue"] for name in ("queued", "web-1-x")]
    assert queues == ["team", "serving"]


async def test_a_kind_that_nobody_told_us_about_is_one_group_with_a_minimum_of_one(world):
    async with world.grouper():
        owner = await world.owner("Simulation", "sim", {"workers": 3})
        for index in range(2):
            await world.pod(f"sim-{index}", owner)
        groups = [await world.group_of(f"sim-{index}") for index in range(2)]
    assert groups[0]["metadata"]["name"] == groups[1]["metadata"]["name"] == f"pg-sim-{owner['metadata']['uid']}"
    assert groups[0]["spec"]["minMember"] == 1


_REPLICAS = {"replicas": 2, "template": _POD}
_LIKE_WHAT_IF: dict[str, Json] = {
    "Job": {"parallelism": 2, "template": _POD},
    "StatefulSet": {"replicas": 2, "template": _POD},
    "PyTorchJob": {"pytorchReplicaSpecs": {"Master": _REPLICAS | {"replicas": 1}, "Worker": _REPLICAS}},
    "RayCluster": {"headGroupSpec": {"template": _POD}, "workerGroupSpecs": [{"groupName": "w", **_REPLICAS}]},
}


@pytest.mark.parametrize("kind", list(_LIKE_WHAT_IF))
async def test_what_if_makes_the_pod_group_that_the_grouper_makes(embedded, kind):
    """Of the pods that what-if supposes, without what the grouper is to tell them."""
    async with embedded.grouper():
        owner = await embedded.owner(kind, "w", SPECS.get(kind), labels={"kai.scheduler/queue": "team"})
        made = [each for each in expanded(owner | {"spec": _LIKE_WHAT_IF[kind]}) or () if each is not None]
        await embedded.change(kind, "w", {"spec": _LIKE_WHAT_IF[kind]})
        group, *pods = made
        for pod in pods:
            labels = {key: value for key, value in pod["metadata"]["labels"].items() if "subgroup" not in key}
            await embedded.pod(pod["metadata"]["name"], owner, labels=labels)
        found = await embedded.spec_becomes(pods[-1]["metadata"]["name"], minMember=group["spec"].get("minMember"))
        assert found == group["spec"]
        assert (await embedded.group_of(pods[0]["metadata"]["name"]))["metadata"]["name"] == group["metadata"]["name"]
