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
    """PreferNoSchedule taints."""

    name = "TaintToleration"

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        nodes = cluster.nodes
        intolerable = shape.remember("intolerable taints", nodes.static_generation, lambda: _intolerable(shape, nodes))
        return least_is_best(intolerable[candidates])

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """The score reads nodes only."""
        return True


def _intolerable(shape: Shape, nodes: NodeColumns) -> Ints:
    """`[N]`: PreferNoSchedule taints of each node that the shape does not tolerate."""
    tolerations = shape.traits.tolerations
    by_set = [
        sum(taint.effect == "PreferNoSchedule" and not tolerated(taint, tolerations) for taint in taints)
        for taints in nodes.taint_sets
    ]
    return np.array(by_set, dtype=np.int64)[nodes.taint_code]
