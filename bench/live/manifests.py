"""The manifests of a gang for each scheduler: labels, annotations, PodGroups. A workload knows only gangs.

Each scheduler gets the manifests that cost it least. All schedulers run under the same name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from bench.live import jobs
from bench.live.objects import Gang, Json
from bench.live.queues import LABEL

SCHEDULER_NAME = "koord-scheduler"
_GANG = "gang.scheduling.koordinator.sh"
GANG_NAME, GANG_MINIMUM = f"{_GANG}/name", f"{_GANG}/min-available"
KAI_DEFAULT_QUEUE = "default-queue"
SIGS_PODGROUPS = "apis/scheduling.x-k8s.io/v1alpha1/podgroups"
RUNAI_PODGROUPS = "apis/scheduling.run.ai/v2alpha2/podgroups"
VOLCANO_PODGROUPS = "apis/scheduling.volcano.sh/v1beta1/podgroups"


@dataclass(frozen=True)
class Manifests:
    """The objects of one gang for one scheduler."""

    objects: tuple[tuple[str, Json], ...]  # (resource, object), to be created before the pods
    pods: tuple[Json, ...]


ManifestsOf = Callable[[Gang, str], Manifests]  # of the gang, in this namespace


def plain_pods(gang: Gang, _: str) -> Manifests:
    """Pods alone, for a scheduler without gangs."""
    return Manifests((), _pods(gang))


def koordinator(gang: Gang, namespace: str) -> Manifests:
    """Annotations on the pods and no PodGroup, whose status a controller would have to write."""
    if gang.job:
        return _job(gang)
    if not gang.all_or_nothing:
        return plain_pods(gang, namespace)
    annotations = {GANG_NAME: gang.name, GANG_MINIMUM: str(gang.size)}
    if gang.group:
        annotations[f"{_GANG}/groups"] = json.dumps([f"{namespace}/{name}" for name in gang.group])
    if gang.gather:
        strategy = [{"layer": layer, "strategy": "PreferGather"} for layer in gang.gather]
        annotations[f"{_GANG}/network-topology-spec"] = json.dumps({"gatherStrategy": strategy})
    return Manifests((), _pods(gang, annotations=annotations, labels={LABEL: gang.queue} if gang.queue else {}))


def sigs(gang: Gang, namespace: str) -> Manifests:
    """The PodGroup of scheduler-plugins, named by a label. There are no groups of gangs: each gang starts by itself."""
    if not gang.all_or_nothing:
        return plain_pods(gang, namespace)
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": gang.name},
        "spec": {"minMember": gang.size},
    }
    return Manifests(((SIGS_PODGROUPS, group),), _pods(gang, labels={"scheduling.x-k8s.io/pod-group": gang.name}))


def volcano(gang: Gang, _: str) -> Manifests:
    """Volcano schedules no pod without a PodGroup: an app has one with a minimum of one, as from its controller.

    Only pods with an annotation may be victims. There are no groups of gangs.
    """
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": gang.name},
        "spec": {
            "minMember": gang.size if gang.all_or_nothing else 1,
            "queue": gang.queue or "default",
            **({"priorityClassName": gang.priority_class} if gang.priority_class else {}),
        },
        "status": {"phase": "Pending"},
    }
    annotations = {"scheduling.k8s.io/group-name": gang.name, "volcano.sh/preemptable": "true"}
    return Manifests(((VOLCANO_PODGROUPS, group),), _pods(gang, annotations=annotations))


def kai(gang: Gang, _: str) -> Manifests:
    """The PodGroup that KAI's pod-grouper would make: pods without an owner that name one are left alone by it.

    KAI schedules no pod without a PodGroup and a queue.
    """
    if gang.job:
        return _job(gang)
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": gang.name},
        "spec": {
            "minMember": gang.size if gang.all_or_nothing else 1,
            "queue": gang.queue or KAI_DEFAULT_QUEUE,
            **({"priorityClassName": gang.priority_class} if gang.priority_class else {}),
        },
    }
    return Manifests(((RUNAI_PODGROUPS, group),), _pods(gang, annotations={"pod-group-name": gang.name}))


def _job(gang: Gang) -> Manifests:
    """A training job, of which a grouper has to make a gang."""
    pods = _pods(gang)
    jobs.make_owned(gang, pods)
    return Manifests(((jobs.RESOURCE, jobs.job(gang)),), pods)


def _pods(
    gang: Gang, *, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None
) -> tuple[Json, ...]:
    pods = tuple(gang.members())
    for pod in pods:
        pod["metadata"]["labels"] |= labels or {}
        pod["metadata"]["annotations"] |= annotations or {}
        pod["spec"]["schedulerName"] = SCHEDULER_NAME
    return pods
