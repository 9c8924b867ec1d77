"""Nodes, pods and what goes with them, as JSON: the same bytes in every run.

Knows nothing about schedulers: how a gang is said to one of them is written in `dress.py`.
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


@dataclass(frozen=True)
class Gang:
    """Pods of one kind, which start together or (an app) one by one."""

    name: str
    size: int
    together: bool = True
    requests: dict[str, str] = field(default_factory=lambda: {"cpu": "100m", "memory": "500Mi"})
    priority_class: str = ""
    gather: tuple[str, ...] = ()  # layers of the network, from the lowest, in which it prefers to be gathered
    group: tuple[str, ...] = ()  # names of gangs that start together with it, its own included
    pool: str = ""  # of nodes, the only ones it may use
    on: tuple[str, ...] = ()  # nodes of members that run already
    at: float = 0.0  # seconds after the first, where gangs come one after the other
    lasts: float = math.inf  # seconds from the last bind until its pods end

    def member_names(self) -> list[str]:
        return [f"{self.name}-{number:04d}" for number in range(self.size)]

    def resources(self) -> Json:
        """What is no CPU or memory must be limited to what is asked for: so the API server wants it."""
        limits = {resource: amount for resource, amount in self.requests.items() if "/" in resource}
        return {"requests": self.requests, **({"limits": limits} if limits else {})}

    def members(self) -> Iterator[Json]:
        """Its pods, without a word about gangs."""
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
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110", **(has or {})}
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
