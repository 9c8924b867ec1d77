"""What becomes of bound pods after they were made: they start, some are being deleted, are resized, or have finished.

The API server takes none of this when a pod is created, so it is a request of its own, and kube-scheduler tells of it.
"""

from random import Random
from typing import Any

from tests.controlplane.client import Client
from tests.differential.features import Features

Json = dict[str, Any]

# The fate, which is also its feature, and how kube-scheduler's log tells of it. A finished pod is none to it any more.
UPDATED, GONE = "Update event for scheduled pod", "Delete event for scheduled pod"
TOLD = {
    "terminating": [UPDATED],
    "resized": [UPDATED],
    "finished": [GONE],
    "preempted": [UPDATED, UPDATED],
}
STARTED = "started"  # befalls all pods where it matters: who began first is worth more
PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "by a test"}


def draw(pods: list[Json], rng: Random, features: Features) -> dict[str, list[str]]:
    """What happens to each pod, by name, in order."""
    fates: dict[str, list[str]] = {}
    for pod in pods:
        fate, chance = rng.choice(sorted(TOLD)), rng.random()
        happens = [STARTED] if "preemption" in features else []
        # Where two pods have one host port, kube-scheduler takes it for free as soon as one of them is gone.
        is_missed = fate == "finished" and "hostPort" in str(pod["spec"])
        if fate in features and chance < _chance(features) and not is_missed:
            happens.append(fate)
        fates[pod["metadata"]["name"]] = happens
    return fates


def _chance(features: Features) -> float:
    """Where somebody may have to leave, there should be somebody who is not leaving already."""
    return 0.25 if "preemption" in features else 0.6


def told(happens: list[str]) -> list[str]:
    return [event for fate in happens for event in TOLD.get(fate, [UPDATED])]


async def carry_out(client: Client, pod: Json, fate: str) -> Json:
    """Let it happen; returns the pod as it is then."""
    meta = pod["metadata"]
    if fate == "terminating":  # it stays until a kubelet lets go of it, and there is none
        return (await client.delete("pods", meta["name"], namespace=meta["namespace"])).ok()
    status = _resized(pod)
    if fate == STARTED:
        status = {"phase": "Running", "startTime": _begun(meta["name"])}
    elif fate == "finished":
        status = {"phase": "Succeeded"}
    elif fate == "preempted":
        status = {"conditions": [*pod["status"].get("conditions", ()), PREEMPTED]}
    reply = await client.patch(
        "pods", meta["name"], {"status": status}, namespace=meta["namespace"], subresource="status"
    )
    return await carry_out(client, reply.ok(), "terminating") if fate == "preempted" else reply.ok()


def _begun(name: str) -> str:
    """No two pods begin in the same second, but for a rare chance: which of them is worth more would be left open."""
    day = Random(f"start of {name}").randrange(86_400)
    return f"2026-01-01T{day // 3600:02}:{day // 60 % 60:02}:{day % 60:02}Z"


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
