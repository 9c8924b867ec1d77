"""InterPodAffinity: preferred pod affinity and anti-affinity."""

from __future__ import annotations

import numpy as np

from koordpy.api.affinity import PodAffinity
from koordpy.plan.framework.plugins import Score
from koordpy.state.arrays import Ints
from koordpy.state.census import Kind
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.domains import at_nodes, per_domain
from koordpy.state.shapes import Shape


class InterPodAffinity(Score):
    """Preferred terms of the pod and of existing pods about it; their required affinity counts as preferred too."""

    name = "InterPodAffinity"

    def __init__(self, hard_pod_affinity_weight: int = 1, *, ignore_others: bool = False) -> None:
        self._hard_weight = hard_pod_affinity_weight
        self._ignore_others = ignore_others  # unless the pod has preferred terms of its own

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        raw = np.zeros(cluster.nodes.capacity, dtype=np.int64)
        if self._ignore_others and not _has_preferences(shape):
            return raw[candidates]
        _add_own(raw, shape, cluster, shape.traits.pod_affinity, 1)
        _add_own(raw, shape, cluster, shape.traits.pod_anti_affinity, -1)
        self._add_others(raw, shape, cluster)
        return _normalised(raw[candidates])

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """A pod without terms of its own changes nothing for the next pod of its shape."""
        return shape.traits.pod_affinity is None and shape.traits.pod_anti_affinity is None

    def _add_others(self, raw: Ints, shape: Shape, cluster: Cluster) -> None:
        """Add the weights of existing pods' terms to `raw`, `[N]`."""
        for term in cluster.census.terms_about(shape):
            weight = {Kind.PREFERRED: term.weight, Kind.REQUIRED_AFFINITY: self._hard_weight}.get(term.kind, 0)
            if weight and term.counts.any():
                column = cluster.nodes.labels.column(term.topology_key)
                raw += weight * at_nodes(column, per_domain(column, term.counts))


def _has_preferences(shape: Shape) -> bool:
    both = (shape.traits.pod_affinity, shape.traits.pod_anti_affinity)
    return any(affinity is not None and affinity.preferred for affinity in both)


def _add_own(raw: Ints, shape: Shape, cluster: Cluster, affinity: PodAffinity | None, sign: int) -> None:
    """Add the weights of the pod's own terms to `raw`, `[N]`."""
    for preferred in affinity.preferred if affinity is not None else ():
        term = preferred.pod_affinity_term
        tally = cluster.census.pods_matching(shape.traits.namespace, (term,))
        column = cluster.nodes.labels.column(term.topology_key)
        raw += sign * preferred.weight * at_nodes(column, per_domain(column, tally.counts))


def _normalised(raw: Ints) -> Ints:
    """`[C]`: 100 for the highest, 0 for the lowest; all 0 when they are equal."""
    lowest, highest = int(raw.min()), int(raw.max())
    if lowest == highest:
        return np.zeros(len(raw), dtype=np.int64)
    return (100.0 * ((raw - lowest) / float(highest - lowest))).astype(np.int64)
