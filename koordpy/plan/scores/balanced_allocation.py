"""NodeResourcesBalancedAllocation: prefer nodes whose resource usage the pod balances."""

from __future__ import annotations

import numpy as np

from koordpy.plan.framework.plugins import BatchScore
from koordpy.plan.framework.rowcache import cached_rows
from koordpy.state.arrays import Ints, Rows
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from koordpy.state.shapes import Shape


class BalancedAllocation(BatchScore):
    """About 75 when the pod leaves the balance as it is, up to 100 when it improves it, down to 50 if not."""

    name = "NodeResourcesBalancedAllocation"

    def __init__(self, resources: tuple[str, ...] = ("cpu", "memory")) -> None:
        self._resources = resources

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        return cached_rows(shape.request, self, cluster.nodes, lambda rows: self._score(shape, cluster, rows))[
            candidates
        ]

    def score_with(self, shape: Shape, cluster: Cluster, rows: Ints, already: Ints) -> Ints:
        """`[C]`: the score of each row, with `already`, `[C]`, more pods of the shape on it."""
        return self._score(shape, cluster, rows, already)

    def _score(self, shape: Shape, cluster: Cluster, rows: Rows, already: Ints | int = 0) -> Ints:
        """`[C]`: the score of each row."""
        nodes = cluster.nodes
        resources = [cluster.resources.row(name) for name in self._resources]
        nodes.fit_resources()
        asked = np.array([shape.amounts[shape.rows == each].sum() for each in resources], dtype=np.int64)  # [K]
        if not asked.any():  # a pod without requests does not change the balance
            return np.zeros_like(nodes.scored[0, rows])
        # An extended resource that the pod does not request does not count.
        counted = [i for i, each in enumerate(resources) if asked[i] or each in (CPU, MEMORY, EPHEMERAL_STORAGE)]
        has = np.stack([nodes.allocatable[resources[i], rows] for i in counted])  # [K, C]
        used = np.stack([nodes.requested[resources[i], rows] + already * asked[i] for i in counted])  # [K, C]
        return 50 + (50 + _balance(used + asked[counted, None], has) - _balance(used, has)) // 2


def _balance(used: Ints, has: Ints) -> Ints:
    """`[C]`: 100 when all resources are used to the same share; resources that a node lacks do not count.

    Both arguments are `[K, C]`, by balanced resource.
    """
    there = has > 0  # [K, C]
    share = np.minimum(used / np.maximum(has, 1), 1.0)  # [K, C]
    count = np.maximum(there.sum(axis=0), 1)  # [C]
    if len(share) == 2:  # the usual case, in kube-scheduler's own arithmetic
        deviation = np.where(there.all(axis=0), np.abs(share[0] - share[1]) / 2, 0.0)
    else:
        mean = np.where(there, share, 0.0).sum(axis=0) / count
        deviation = np.sqrt(np.where(there, (share - mean) ** 2, 0.0).sum(axis=0) / count)
    balance: Ints = ((1 - deviation) * 100).astype(np.int64)
    return balance
