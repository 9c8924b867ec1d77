"""Builders of queues for tests: numbers are GPUs unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from koordpy.api.meta import ObjectMeta
from koordpy.api.queue import Queue, QueueResource, QueueResources, QueueSpec
from koordpy.quota.amounts import GPU, MILLI, K
from koordpy.quota.shares import divide
from koordpy.quota.tree import QueueTree, tree_of
from koordpy.quota.usage import Usage
from koordpy.state.arrays import Ints


def queue(
    name: str,
    parent: str = "",
    *,
    quota: float | None = None,
    limit: float | None = None,
    weight: float | None = None,
    priority: int | None = None,
    age: int = 0,
    cpu: QueueResource | None = None,
    memory: QueueResource | None = None,
    gpu: bool = True,
    preempt_after: str | None = None,
    reclaim_after: str | None = None,
) -> Queue:
    """A queue with a block for GPUs; the higher its age, the older it is (in days)."""
    resources = QueueResources(gpu=QueueResource(quota, limit, weight) if gpu else None, cpu=cpu, memory=memory)
    return Queue(
        ObjectMeta(name, creation_timestamp=f"2026-03-{31 - age:02}T00:00:00Z"),
        QueueSpec(
            parent_queue=parent or None,
            priority=priority,
            resources=resources,
            preempt_min_runtime=preempt_after,
            reclaim_min_runtime=reclaim_after,
        ),
    )


def gpus(number: float) -> Ints:
    """`[K]`: so many GPUs and nothing else."""
    amounts = np.zeros(K, dtype=np.int64)
    amounts[GPU] = round(number * MILLI)
    return amounts


def shares_of(capacity: float, tree: QueueTree, asked: Mapping[str, float]) -> dict[str, float]:
    """Fair shares in GPUs, by name."""
    amounts = np.zeros((len(tree), K), dtype=np.int64)
    for name, number in asked.items():
        amounts[tree.rows[name]] = gpus(number)
    shares = divide(gpus(capacity), tree, amounts)
    return {name: float(shares[row, GPU]) / MILLI for name, row in tree.rows.items()}


class Team:
    """A tree with jobs of whole GPUs."""

    def __init__(self, *queues: Queue, capacity: float = 8) -> None:
        self.tree = tree_of(queues)
        self.usage = Usage(self.tree)
        self.capacity = gpus(capacity)

    def runs(self, name: str, number: float, *, preemptible: bool = True) -> Team:
        self.usage.request(self.tree.rows[name], gpus(number))
        self.usage.allocate(self.tree.rows[name], gpus(number), preemptible=preemptible)
        return self

    def waits(self, name: str, number: float) -> Team:
        self.usage.request(self.tree.rows[name], gpus(number))
        return self

    def shares(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return divide(self.capacity, self.tree, self.usage.asked())
