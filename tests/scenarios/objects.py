"""Gangs as users write them: the keys spelled out once more, so that a slip in koordpy's own list is found."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]

KOORDINATOR = "gang.scheduling.koordinator.sh"
SIGS = "pod-group.scheduling.sigs.k8s.io"
X_K8S = "scheduling.x-k8s.io/pod-group"
TIMED_OUT = f"{KOORDINATOR}/timeout"
OURS = "koord-scheduler"

POD_GROUP_APIS = {"sigs": "scheduling.sigs.k8s.io", "x-k8s": "scheduling.x-k8s.io"}


def gang(
    name: str | None = None,
    *,
    minimum: int | str | None = None,
    total: int | str | None = None,
    mode: str | None = None,
    groups: list[str] | str | None = None,
    wait: str | None = None,
    policy: str | None = None,
) -> dict[str, str]:
    """The annotations of a member, or of a PodGroup (then without the name)."""
    said = {
        "name": name,
        "min-available": minimum,
        "total-number": total,
        "mode": mode,
        "groups": json.dumps(groups) if isinstance(groups, list) else groups,
        "waiting-time": wait,
        "match-policy": policy,
    }
    return {f"{KOORDINATOR}/{key}": str(value) for key, value in said.items() if value is not None}


def pod_group_json(
    name: str,
    namespace: str,
    *,
    minimum: int | None,
    api: str,
    annotations: dict[str, str],
    timeout_s: int | None,
    resources: dict[str, str] | None,
) -> Json:
    spec = {"minMember": minimum, "scheduleTimeoutSeconds": timeout_s, "minResources": resources}
    return {
        "apiVersion": f"{POD_GROUP_APIS[api]}/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {field: value for field, value in spec.items() if value is not None},
    }


def priority_class_json(value: int, *, preempts: bool) -> Json:
    """By default a class that never preempts: what most stories tell must stay true when preemption is on."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority_class(value, preempts=preempts)},
        "value": value,
        "preemptionPolicy": "PreemptLowerPriority" if preempts else "Never",
    }


def priority_class(value: int, *, preempts: bool) -> str:
    return f"scenario-{value}-preempting" if preempts else f"scenario-{value}"


def condition(pod: Json, kind: str = "PodScheduled") -> Json:
    return next((c for c in pod.get("status", {}).get("conditions") or () if c["type"] == kind), {})


def node_of(pod: Json) -> str:
    return pod["spec"].get("nodeName", "")


def is_finished(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def members(gang_name: str, count: int) -> list[str]:
    """a-1, a-2, ..."""
    return [f"{gang_name}-{number}" for number in range(1, count + 1)]
