"""What is scheduled: nodes, pods, and when the pods come. A new workload is a function here and a line in WORKLOADS.

A workload is data. It is the same for every scheduler and every run, down to the bytes of its objects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

SCHEDULER_NAME = "koord-scheduler"  # every scheduler is run under this name, so that the pods are the same
PODS_PER_APP = 100


@dataclass(frozen=True)
class Workload:
    """`per_second` None: all pods are there before the scheduler is started."""

    name: str
    nodes: tuple[Json, ...] = field(repr=False)
    pods: tuple[Json, ...] = field(repr=False)
    must_bind: int  # how many of the pods fit
    per_second: float | None = None
    most_rounds: int = 100  # a long one is played less often than asked for

    @property
    def title(self) -> str:
        """With everything that matters for comparing its figures."""
        arrival = "all there at the start" if self.per_second is None else f"{self.per_second:g} new ones a second"
        return f"{self.name}: {len(self.nodes):,} nodes, {len(self.pods):,} pods, {arrival}"


def basic(nodes: int = 1_000, pods: int = 5_000) -> Workload:
    """How fast a queue of single pods is emptied."""
    return Workload("basic", _nodes(nodes), _pods(pods), must_bind=pods)


def streaming(nodes: int = 1_000, pods: int = 1_000, per_second: float = 100) -> Workload:
    """How long a single pod waits when they come at a rate that two cores can keep up with, whoever schedules."""
    return Workload("streaming", _nodes(nodes), _pods(pods), must_bind=pods, per_second=per_second)


def gangs(count: int = 500, size: int = 20, nodes: int = 1_000) -> Workload:
    """How fast gangs are started; a scheduler that knows no gangs takes their pods for single ones."""
    pods = tuple(
        _member(_pod(f"gang-{g:04d}-{m:03d}", f"gang-{g:04d}"), size) for g in range(count) for m in range(size)
    )
    return Workload(f"gangs-{count}x{size}", _nodes(nodes), pods, must_bind=len(pods), most_rounds=1)


WORKLOADS: dict[str, Callable[[], Workload]] = {"basic": basic, "streaming": streaming, "gangs-500x20": gangs}


def _member(pod: Json, size: int) -> Json:
    """By annotation, so that nothing has to be installed."""
    prefix = "gang.scheduling.koordinator.sh"
    pod["metadata"]["annotations"] = {
        f"{prefix}/name": pod["metadata"]["labels"]["app"],
        f"{prefix}/min-available": str(size),
    }
    return pod


def _nodes(count: int) -> tuple[Json, ...]:
    return tuple(_node(f"node-{number:05d}", f"zone-{number % 3}") for number in range(count))


def _node(name: str, zone: str) -> Json:
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone},
        },
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def _pods(count: int) -> tuple[Json, ...]:
    return tuple(_pod(f"pod-{number:05d}", f"app-{number // PODS_PER_APP:03d}") for number in range(count))


def _pod(name: str, app: str) -> Json:
    requests = {"cpu": "100m", "memory": "500Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "containers": [{"name": "main", "image": "example.com/app:1", "resources": {"requests": requests}}],
        },
    }
