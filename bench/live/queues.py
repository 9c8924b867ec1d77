"""Queues of a workload, and their objects for the schedulers that have queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench.live.objects import Json

RUNAI_QUEUES = "apis/scheduling.run.ai/v2/queues"
VOLCANO_QUEUES = "apis/scheduling.volcano.sh/v1beta1/queues"
LABEL = "kai.scheduler/queue"
NO_LIMIT = -1
_MEGABYTES_PER_GIB = 2**30 / 1e6


@dataclass(frozen=True)
class Queue:
    """What it may count on; it may have more, as far as others leave it. `parent` is empty at the top."""

    name: str
    cpus: int
    memory_gib: int
    parent: str = ""


QueuesOf = Callable[[Iterable[Queue]], list[tuple[str, Json]]]  # (resource, object), parents first


def run_ai(queues: Iterable[Queue]) -> list[tuple[str, Json]]:
    """As KAI and koordpy have them. All three resources are said: to KAI one that is not would be a quota of 0."""
    return [(RUNAI_QUEUES, _run_ai(queue)) for queue in queues]


def volcano(queues: Iterable[Queue]) -> list[tuple[str, Json]]:
    """The plugin `proportion` has no tree: shares are by weight, among the queues that take jobs."""
    made = list(queues)
    parents = {queue.parent for queue in made}
    return [(VOLCANO_QUEUES, _volcano(queue)) for queue in made if queue.name not in parents]


def _run_ai(queue: Queue) -> Json:
    quotas = {"cpu": queue.cpus * 1000, "memory": round(queue.memory_gib * _MEGABYTES_PER_GIB), "gpu": 0}
    resources = {
        name: {"quota": max(quota, NO_LIMIT), "limit": NO_LIMIT, "overQuotaWeight": 1} for name, quota in quotas.items()
    }
    above = {"parentQueue": queue.parent} if queue.parent else {}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": queue.name},
        "spec": {**above, "resources": resources},
    }


def _volcano(queue: Queue) -> Json:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": queue.name},
        "spec": {"weight": queue.cpus, "reclaimable": True},
        "status": {"state": "Open"},
    }
