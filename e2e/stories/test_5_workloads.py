"""Workloads become gangs by themselves: nothing in them speaks of gangs but a number."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.stories.cluster import Cluster, Json, node_of, phases, until
from e2e.stories.workloads import SLOTS, Workloads
from tests.controlplane.operators import pytorchjob

OPERATOR = "training.kubeflow.org"


@pytest.fixture
def training_operator(cluster: Cluster) -> Iterator[None]:
    """Its own definition; the stories play its part."""
    with cluster.with_definitions(pytorchjob()):
        yield


@pytest.mark.usefixtures("training_operator")
def test_a_pytorchjob_is_a_gang(story: Workloads) -> None:
    story.submit(_job(story, workers=2))
    job = story.cluster.get("pytorchjobs", "tune", story.namespace)
    pods = [_operators_pod(story, job, *which) for which in (("master", 0), ("worker", 0), ("worker", 1))]
    story.submit(*pods[:2])
    story.await_message("tune-worker-0", "is incomplete: 2 of 3 members")
    (group,) = story.cluster.list("podgroups.scheduling.run.ai", story.namespace)
    assert group["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    assert group["spec"]["minMember"] == 3
    assert {node_of(pod) for pod in story.pods()} == {""}
    story.submit(pods[2])
    until(lambda: phases(story.pods()) == ["Running"] * 3, "the master and its workers run")


def _job(story: Workloads, *, workers: int) -> Json:
    template = story.template(story.pod("tune"))
    template["spec"].pop("restartPolicy")  # the operator's to set
    template["spec"]["containers"][0]["name"] = "pytorch"  # by which the operator finds it
    roles = {
        role: {"replicas": count, "restartPolicy": "OnFailure", "template": template}
        for role, count in (("Master", 1), ("Worker", workers))
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "tune"},
        "spec": {"pytorchReplicaSpecs": roles},
    }


def _operators_pod(story: Workloads, job: Json, role: str, index: int) -> Json:
    """As training-operator makes it, `pkg/controller.v1/common/pod.go`."""
    name = job["metadata"]["name"]
    labels = {
        f"{OPERATOR}/operator-name": "pytorchjob-controller",
        f"{OPERATOR}/job-name": name,
        f"{OPERATOR}/replica-type": role,
        f"{OPERATOR}/replica-index": str(index),
    }
    pod = story.pod(f"{name}-{role}-{index}", labels=labels, restartPolicy="OnFailure")
    owner = {key: job["metadata"][key] for key in ("name", "uid")}
    owner |= {"apiVersion": job["apiVersion"], "kind": job["kind"], "controller": True, "blockOwnerDeletion": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


def test_a_job_with_a_minimum_is_a_gang(story: Workloads) -> None:
    members = SLOTS + 1
    story.submit(story.pod("before", slots=SLOTS))
    until(lambda: phases(story.pods()) == ["Running"], "somebody has a node")
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sweep", "annotations": {"kai.scheduler/batch-min-member": str(members)}},
        "spec": {
            "completions": members,
            "parallelism": members,
            "template": story.template(story.pod("sweep", program="print('done')")),
        },
    }
    story.submit(job)
    until(lambda: len(_of_job(story)) == members, "the Job has made its pods")
    (first, *_) = (pod["metadata"]["name"] for pod in _of_job(story))
    story.await_message(first, f"{SLOTS} of {members} members fit")
    assert {node_of(pod) for pod in _of_job(story)} == {""}
    story.delete("before")
    wait = ["wait", "job/sweep", "--for=condition=Complete", f"--namespace={story.namespace}", "--timeout=90s"]
    story.cluster.kubectl(*wait)


def _of_job(story: Workloads) -> list[Json]:
    return story.cluster.list("pods", story.namespace, "job-name=sweep")
