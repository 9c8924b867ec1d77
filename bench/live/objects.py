"""Nodes, pods and what goes with them, as JSON: the same bytes in every run.

It knows nothing of schedulers: `manifests.py` adds what a scheduler needs to know of a gang.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
POOL = "example.com/pool"
ZONE = "topology.kubernetes.io/zone"
CPUS, MEMORY_GIB = 4, 32  # of a node that says nothing else


@dataclass(frozen=True)
class Gang:
    """Equal pods: a gang, or (an app) pods that are bound one by one."""

    name: str
    size: int
    all_or_nothing: bool = True
    requests: dict[str, str] = field(default_factory=lambda: {"cpu": "100m", "memory": "500Mi"})
    priority_class: str = ""
    gather: tuple[str, ...] = ()  # layers of the network, from the lowest, in which it prefers to be gathered
    group: tuple[str, ...] = ()  # names of the gangs of its group, its own included
    pool: str = ""  # of nodes; a node selector
    on: tuple[str, ...] = ()  # nodes of members that run before the scheduler starts
    at: float = 0.0  # seconds after the first gang, in a stream of gangs
    lasts: float = math.inf  # seconds from the last bind until its pods end
    queue: str = ""
    job: bool = False  # its pods are those of a training job, and say nothing of a gang

    def member_names(self) -> list[str]:
        return [f"{self.name}-{number:04d}" for number in range(self.size)]

    def resources(self) -> Json:
        """Extended resources have limits equal to their requests, as the API server requires."""
        limits = {resource: amount for resource, amount in self.requests.items() if "/" in resource}
        return {"requests": self.requests, **({"limits": limits} if limits else {})}

    def members(self) -> Iterator[Json]:
        """Its pods, without labels and annotations of gangs."""
        for name, node in zip(self.member_names(), self.on or [""] * self.size, strict=True):
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": {"app": self.name}, "annotations": {}},
                "spec": {
                    "containers": [{"name": "main", "image": "example.com/app:1", "resources": self.resources()}],
                    **({"priorityClassName": self.priority_class} if self.priority_class else {}),
                    **({"nodeName": node} if node else {}),
                    **({"nodeSelector": {POOL: self.pool}} if self.pool else {}),
                },
            }


def node(name: str, labels: dict[str, str], has: dict[str, str] | None = None) -> Json:
    amounts = {"cpu": str(CPUS), "memory": f"{MEMORY_GIB}Gi", "pods": "110", **(has or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def nodes(count: int) -> tuple[Json, ...]:
    return tuple(node(f"node-{number:05d}", {ZONE: f"zone-{number % 3}"}) for number in range(count))


def priority_class(name: str, value: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
