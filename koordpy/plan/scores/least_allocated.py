"""NodeResourcesFit's default score, LeastAllocated: the emptier the node would be, the better."""

from __future__ import annotations

import numpy as np

from koordpy.cluster.arrays import Ints
from koordpy.cluster.picture import Cluster
from koordpy.cluster.resources import CPU, MEMORY
from koordpy.cluster.shapes import Shape


class LeastAllocated:
    """The free share of CPU and memory after placing the pod, averaged.

    Pods without requests count as if they asked for a little, so that a crowd of them does not land on one node.
    """

    name = "NodeResourcesFit"

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        nodes = cluster.nodes
        total = np.zeros(len(candidates), dtype=np.int64)  # [C]
        counted = np.zeros(len(candidates), dtype=np.int64)  # [C]: resources the node has at all
        for i, resource in enumerate((CPU, MEMORY)):
            has = nodes.allocatable[resource, candidates]
            free = np.maximum(has - nodes.scored[i, candidates] - shape.scored[i], 0)
            total += free * 100 // np.maximum(has, 1)
            counted += has > 0
        return total // np.maximum(counted, 1)
