"""NodeAffinity: prefer nodes that match the pod's preferred terms, by their weights."""

from __future__ import annotations

import numpy as np

from koordpy.cluster.arrays import Ints
from koordpy.cluster.columns import NodeColumns
from koordpy.cluster.picture import Cluster
from koordpy.cluster.shapes import Shape
from koordpy.plan.node_terms import term_mask
from koordpy.plan.scores.normalise import share_of_highest


class NodeAffinity:
    """`preferredDuringSchedulingIgnoredDuringExecution`."""

    name = "NodeAffinity"

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        affinity = shape.traits.node_affinity
        if affinity is None or not affinity.preferred:
            return np.zeros(len(candidates), dtype=np.int64)
        nodes = cluster.nodes
        weights = shape.remember("preferred nodes", nodes.static_generation, lambda: _weights(shape, nodes))
        return share_of_highest(weights[candidates])


def _weights(shape: Shape, nodes: NodeColumns) -> Ints:
    total = np.zeros(nodes.capacity, dtype=np.int64)
    affinity = shape.traits.node_affinity
    for preferred in affinity.preferred if affinity is not None else ():
        total += preferred.weight * term_mask(preferred.preference, nodes)
    return total
