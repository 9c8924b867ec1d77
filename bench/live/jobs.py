"""Training jobs: a PyTorchJob, and its pods as the training operator makes them, which say nothing of a gang.

A Job would not do: KAI gives each of its pods a PodGroup of one.
"""

from __future__ import annotations

from bench.live.objects import Gang, Json
from tests.controlplane.operators import pytorchjob

RESOURCE = "apis/kubeflow.org/v1/pytorchjobs"
_KUBEFLOW = "training.kubeflow.org"
_OWNER = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "controller": True, "blockOwnerDeletion": True}


def definitions() -> list[Json]:
    """The CustomResourceDefinition of the training operator, which validates."""
    return pytorchjob()


def job(gang: Gang) -> Json:
    """A master and its workers."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "example.com/app:1"}]}}
    return {
        "apiVersion": _OWNER["apiVersion"],
        "kind": _OWNER["kind"],
        "metadata": {"name": gang.name},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": template},
                "Worker": {"replicas": gang.size - 1, "template": template},
            }
        },
    }


def make_owned(gang: Gang, pods: tuple[Json, ...]) -> None:
    """Labels and owner as from the operator. The UID of the owner is known when the API server has made it."""
    for number, pod in enumerate(pods):
        pod["metadata"]["labels"] |= {
            f"{_KUBEFLOW}/job-name": gang.name,
            f"{_KUBEFLOW}/operator-name": "pytorchjob-controller",
            f"{_KUBEFLOW}/replica-type": "worker" if number else "master",
            f"{_KUBEFLOW}/replica-index": str(max(0, number - 1)),
        }
        pod["metadata"]["ownerReferences"] = [_OWNER | {"name": gang.name}]
