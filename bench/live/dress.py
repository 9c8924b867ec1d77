"""How a gang is said to each scheduler: labels, annotations, PodGroups. A workload knows only gangs.

Each is said in the way that costs its scheduler least. Every scheduler is run under the same name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from bench.live.objects import Gang, Json

SCHEDULER_NAME = "koord-scheduler"
_GANG = "gang.scheduling.koordinator.sh"
GANG_NAME, GANG_MINIMUM = f"{_GANG}/name", f"{_GANG}/min-available"
SIGS_PODGROUPS = "apis/scheduling.x-k8s.io/v1alpha1/podgroups"
VOLCANO_PODGROUPS = "apis/scheduling.volcano.sh/v1beta1/podgroups"


@dataclass(frozen=True)
class Dressed:
    """A gang as one scheduler understands it."""

    objects: tuple[tuple[str, Json], ...]  # (resource, object), to be made before the pods
    pods: tuple[Json, ...]


Dresser = Callable[[Gang, str], Dressed]  # the gang, and the namespace it is made in


def singly(gang: Gang, _: str) -> Dressed:
    """For a scheduler that knows no gangs: pods."""
    return Dressed((), _pods(gang))


def koordinator(gang: Gang, namespace: str) -> Dressed:
    """Annotations on the pods alone: no PodGroup, whose status somebody would have to write."""
    if not gang.together:
        return singly(gang, namespace)
    annotations = {GANG_NAME: gang.name, GANG_MINIMUM: str(gang.size)}
    if gang.group:
        annotations[f"{_GANG}/groups"] = json.dumps([f"{namespace}/{name}" for name in gang.group])
    if gang.gather:
        strategy = [{"layer": layer, "strategy": "PreferGather"} for layer in gang.gather]
        annotations[f"{_GANG}/network-topology-spec"] = json.dumps({"gatherStrategy": strategy})
    return Dressed((), _pods(gang, annotations=annotations))


def sigs(gang: Gang, namespace: str) -> Dressed:
    """The PodGroup of scheduler-plugins, named by a label. It knows no groups of gangs: each is by itself."""
    if not gang.together:
        return singly(gang, namespace)
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": gang.name},
        "spec": {"minMember": gang.size},
    }
    return Dressed(((SIGS_PODGROUPS, group),), _pods(gang, labels={"scheduling.x-k8s.io/pod-group": gang.name}))


def volcano(gang: Gang, _: str) -> Dressed:
    """Volcano schedules nothing without a PodGroup: an app has one with a minimum of one, as its controller makes them.

    Pods are no victims unless they say that they may be. Groups of gangs it does not know either.
    """
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": gang.name},
        "spec": {
            "minMember": gang.size if gang.together else 1,
            "queue": "default",
            **({"priorityClassName": gang.priority_class} if gang.priority_class else {}),
        },
        "status": {"phase": "Pending"},
    }
    annotations = {"scheduling.k8s.io/group-name": gang.name, "volcano.sh/preemptable": "true"}
    return Dressed(((VOLCANO_PODGROUPS, group),), _pods(gang, annotations=annotations))


def _pods(
    gang: Gang, *, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None
) -> tuple[Json, ...]:
    pods = tuple(gang.members())
    for pod in pods:
        pod["metadata"]["labels"] |= labels or {}
        pod["metadata"]["annotations"] |= annotations or {}
        pod["spec"]["schedulerName"] = SCHEDULER_NAME
    return pods
