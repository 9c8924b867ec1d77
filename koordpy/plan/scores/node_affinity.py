"""NodeAffinity: prefer nodes by the weights of matching preferred terms, of the pod and of its profile."""

from __future__ import annotations

import numpy as np

from koordpy.api.affinity import PreferredSchedulingTerm
from koordpy.plan.constraints.node_terms import term_mask
from koordpy.plan.framework.plugins import Score
from koordpy.plan.scores.normalise import share_of_highest
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.shapes import Shape


class NodeAffinity(Score):
    """`preferredDuringSchedulingIgnoredDuringExecution`."""

    name = "NodeAffinity"

    def __init__(self, added: tuple[PreferredSchedulingTerm, ...] = ()) -> None:
        self._added = added

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        affinity = shape.traits.node_affinity
        preferred = (*self._added, *(affinity.preferred if affinity is not None else ()))
        if not preferred:
            return np.zeros(len(candidates), dtype=np.int64)
        nodes = cluster.nodes
        weights = shape.remember(self, nodes.static_generation, lambda: _weights(preferred, nodes))  # per profile
        return share_of_highest(weights[candidates])

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """The score reads nodes only."""
        return True


def _weights(terms: tuple[PreferredSchedulingTerm, ...], nodes: NodeColumns) -> Ints:
    """`[N]`: the sum of the weights of matching terms."""
    total = np.zeros(nodes.capacity, dtype=np.int64)
    for preferred in terms:
        total += preferred.weight * term_mask(preferred.preference, nodes)
    return total
