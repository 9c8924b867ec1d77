"""NodeResourcesFit's score: how full a node would be, by one of three strategies.

LeastAllocated (the default) prefers empty nodes, MostAllocated full ones, RequestedToCapacityRatio follows a curve of
the user's. For CPU and memory, a container without requests counts with default ones, so that such pods do not all go
to one node.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from koordpy.plan.framework.plugins import BatchScore
from koordpy.plan.framework.rowcache import cached_rows
from koordpy.plan.scores.resource_weights import CPU_AND_MEMORY, ResourceWeight
from koordpy.state.arrays import Bools, Ints, Rows
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from koordpy.state.shapes import Shape

Strategy = Callable[[Ints, Ints], Ints]  # requested [C], allocatable [C] (never 0) -> 0..100 [C]


class NodeResourcesFit(BatchScore):
    """The weighted average of the strategy's score for each resource."""

    name = "NodeResourcesFit"

    def __init__(
        self,
        strategy: Strategy | None = None,
        resources: tuple[ResourceWeight, ...] = CPU_AND_MEMORY,
        *,
        is_ratio: bool = False,
    ) -> None:
        self._strategy = strategy or least_allocated
        self._resources = resources
        self._is_ratio = is_ratio  # if so, a resource that scores 0 does not count, and averages are rounded

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        return cached_rows(shape.request, self, cluster.nodes, lambda rows: self._score(shape, cluster, rows))[
            candidates
        ]

    def score_with(self, shape: Shape, cluster: Cluster, rows: Ints, already: Ints) -> Ints:
        """`[C]`: the score of each row, with `already`, `[C]`, more pods of the shape on it."""
        return self._score(shape, cluster, rows, already)

    def _score(self, shape: Shape, cluster: Cluster, rows: Rows, already: Ints | int = 0) -> Ints:
        """`[C]`: the score of each row."""
        total = np.zeros_like(cluster.nodes.scored[0, rows])  # [C]
        weights = np.zeros_like(total)  # [C]
        for resource in self._resources:
            has, requested = _requested(shape, cluster, rows, cluster.resources.row(resource.name), already)
            score = self._strategy(requested, np.maximum(has, 1))
            counts: Bools = (has > 0) & (score > 0) if self._is_ratio else has > 0
            total += resource.weight * score * counts
            weights += resource.weight * counts
        if self._is_ratio:
            return np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)
        return total // np.maximum(weights, 1)


def _requested(shape: Shape, cluster: Cluster, rows: Rows, resource: int, already: Ints | int) -> tuple[Ints, Ints]:
    """`[C]`, `[C]`: allocatable, and requested with the pod; 0 of extended resources that it does not request."""
    nodes = cluster.nodes
    nodes.fit_resources()
    has = nodes.allocatable[resource, rows]
    if resource in (CPU, MEMORY):
        scored = (CPU, MEMORY).index(resource)
        taken = nodes.scored[scored, rows] + already * int(shape.scored[scored])
        return has, taken + shape.traits.scored_itself[scored]
    asked = int(shape.amounts[shape.rows == resource].sum())
    if not asked and resource != EPHEMERAL_STORAGE:
        return np.zeros_like(has), np.zeros_like(has)
    return has, nodes.requested[resource, rows] + (already + 1) * asked


def least_allocated(requested: Ints, has: Ints) -> Ints:
    score: Ints = np.maximum(has - requested, 0) * 100 // has
    return score


def most_allocated(requested: Ints, has: Ints) -> Ints:
    score: Ints = np.minimum(requested, has) * 100 // has
    return score


def ratio(curve: tuple[tuple[int, int], ...]) -> Strategy:
    """A strategy that interpolates between points (utilisation in percent, score 0..10), in integer arithmetic."""
    utilisation = np.array([point[0] for point in curve], dtype=np.int64)
    scores = np.array([point[1] * 10 for point in curve], dtype=np.int64)

    def strategy(requested: Ints, has: Ints) -> Ints:
        used = np.where(requested > has, 100, requested * 100 // has)
        right = np.searchsorted(utilisation, used)  # the first point at or beyond
        inside = (right > 0) & (right < len(curve))
        r = np.clip(right, 1, len(curve) - 1) if len(curve) > 1 else np.zeros_like(right)
        left = np.maximum(r - 1, 0)
        rise = (scores[r] - scores[left]) * (used - utilisation[left])
        run = np.maximum(utilisation[r] - utilisation[left], 1)
        between = scores[left] + np.sign(rise) * (np.abs(rise) // run)  # towards zero, as Go divides
        ends = scores[np.minimum(right, len(curve) - 1)]
        result: Ints = np.where(inside, between, ends)
        return result

    return strategy
