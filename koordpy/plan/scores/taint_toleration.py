"""TaintToleration: prefer nodes with fewer PreferNoSchedule taints that the pod does not tolerate."""

from __future__ import annotations

import numpy as np

from koordpy.plan.constraints.tolerations import tolerated
from koordpy.plan.framework.plugins import Score
from koordpy.plan.scores.normalise import least_is_best
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.shapes import Shape


class TaintToleration(Score):
    """Taints that only discourage."""

    name = "TaintToleration"

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        nodes = cluster.nodes
        disliked = shape.remember("disliked taints", nodes.static_generation, lambda: _disliked(shape, nodes))
        return least_is_best(disliked[candidates])

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """Looks at nodes alone."""
        return True


def _disliked(shape: Shape, nodes: NodeColumns) -> Ints:
    tolerations = shape.traits.tolerations
    by_set = [
        sum(taint.effect == "PreferNoSchedule" and not tolerated(taint, tolerations) for taint in taints)
        for taints in nodes.taint_sets
    ]
    return np.array(by_set, dtype=np.int64)[nodes.taint_code]
