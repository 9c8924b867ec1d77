"""What becomes of bound pods after they were made: some are being deleted, are resized, or have finished.

The API server takes none of this when a pod is created, so it is a request of its own, and kube-scheduler tells of it.
"""

from random import Random
from typing import Any

from tests.controlplane.client import Client
from tests.differential.features import Features

Json = dict[str, Any]

# The fate, which is also its feature, and how kube-scheduler's log tells of it. A finished pod is none to it any more.
TOLD = {
    "terminating": "Update event for scheduled pod",
    "resized": "Update event for scheduled pod",
    "finished": "Delete event for scheduled pod",
}


def draw(pods: list[Json], rng: Random, features: Features) -> dict[str, str]:
    """The fate of each pod, by name, that has one."""
    fates = {}
    for pod in pods:
        fate, chance = rng.choice(sorted(TOLD)), rng.random()
        # Where two pods have one host port, kube-scheduler takes it for free as soon as one of them is gone.
        if fate == "finished" and "hostPort" in str(pod["spec"]):
            continue
        if fate in features and chance < 0.6:
            fates[pod["metadata"]["name"]] = fate
    return fates


async def carry_out(client: Client, pod: Json, fate: str) -> Json:
    """Let it happen; returns the pod as it is then."""
    meta = pod["metadata"]
    if fate == "terminating":  # it stays until a kubelet lets go of it, and there is none
        return (await client.delete("pods", meta["name"], namespace=meta["namespace"])).ok()
    status = {"phase": "Succeeded"} if fate == "finished" else _resized(pod)
    reply = await client.patch(
        "pods", meta["name"], {"status": status}, namespace=meta["namespace"], subresource="status"
    )
    return reply.ok()


def _resized(pod: Json) -> Json:
    """Promised and present resources that differ from those asked for, as in the middle of a resize in place."""
    rng = Random(f"resize {pod['metadata']['name']}")
    status: Json = {"phase": "Running"}
    for containers, statuses in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
        status[statuses] = [_container_status(each, rng) for each in pod["spec"].get(containers, ())]
    if "resources" in pod["spec"]:
        status |= _given(rng)
    if rng.random() < 0.4:
        reason = rng.choice(["Infeasible", "Deferred"])
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return status


def _container_status(container: Json, rng: Random) -> Json:
    status = {"name": container["name"], "image": container["image"], "imageID": "", "ready": True, "restartCount": 0}
    return status | _given(rng)


def _given(rng: Random) -> Json:
    """What the node has promised and given, to a container or to the pod as a whole; it may say nothing of either."""
    given: Json = {}
    if rng.random() < 0.7:
        given["allocatedResources"] = _amounts(rng)
    if rng.random() < 0.7:
        given["resources"] = {"requests": _amounts(rng)}
    return given


def _amounts(rng: Random) -> Json:
    return {"cpu": rng.choice(["50m", "500m", "2"]), "memory": rng.choice(["64Mi", "512Mi", "2Gi"])}
