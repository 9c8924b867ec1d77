"""NodeResourcesBalancedAllocation: prefer nodes whose CPU and memory use the pod makes more even."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from koordpy.cluster.arrays import Ints
from koordpy.cluster.picture import Cluster
from koordpy.cluster.resources import CPU, MEMORY
from koordpy.cluster.shapes import Shape

_RESOURCES = np.array([CPU, MEMORY])


class BalancedAllocation:
    """Around 75 when the pod changes nothing, towards 100 when it evens the node out, towards 50 when it tilts it."""

    name = "NodeResourcesBalancedAllocation"

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        asked = np.zeros(2, dtype=np.int64)
        for i, resource in enumerate(_RESOURCES):
            asked[i] = shape.amounts[shape.rows == resource].sum()
        if not asked.any():  # a pod that asks for nothing tilts nothing
            return np.zeros(len(candidates), dtype=np.int64)
        has = cluster.nodes.allocatable[np.ix_(_RESOURCES, candidates)]  # [2, C]
        used = cluster.nodes.requested[np.ix_(_RESOURCES, candidates)]  # [2, C]
        return 50 + (50 + _evenness(used + asked[:, None], has) - _evenness(used, has)) // 2


def _evenness(used: Ints, has: Ints) -> npt.NDArray[np.int64]:
    """`[C]`: 100 when both resources are used to the same share, 50 when one is full and the other empty."""
    share = np.minimum(used / np.maximum(has, 1), 1.0)  # [2, C]
    uneven = np.where((has > 0).all(axis=0), np.abs(share[0] - share[1]) / 2, 0.0)  # a resource it lacks is no tilt
    return ((1 - uneven) * 100).astype(np.int64)
