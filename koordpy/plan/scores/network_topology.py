"""NetworkTopology: prefer nodes near attracting pods, those with the same `network-topology-selector`."""

from __future__ import annotations

import numpy as np

from koordpy.plan.framework.plugins import Score
from koordpy.plan.topology.attraction import attracting_pods
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape


class NetworkTopology(Score):
    """An attracting pod on the same node counts for more than any number in the same block, and so on up the tree."""

    name = "NetworkTopology"

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        nothing: Ints = np.zeros(len(candidates), dtype=np.int64)
        attracting, levels = attracting_pods(shape, cluster), cluster.topology.levels
        if attracting is None or not levels or not attracting.any():
            return nothing
        counts = np.stack([level.sums(attracting)[level.codes[candidates]] for level in levels])  # [L, C]
        _, ranks = np.unique(counts[::-1], axis=1, return_inverse=True)  # compared from the nodes upwards
        highest = int(ranks.max())
        return ranks.reshape(-1) * 100 // highest if highest else nothing

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """A pod without a selector changes nothing for the next pod of its shape."""
        return not shape.traits.network_selector
