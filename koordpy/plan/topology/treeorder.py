"""The order of a network tree as a score, for members that have to be placed one by one."""

from __future__ import annotations

from koordpy.plan.framework.plugins import Score
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape


class TreeOrder(Score):
    """A score that prefers nodes in the order of the tree, however full they are."""

    name = "TreeOrder"

    def __init__(self, scores: Ints) -> None:
        self._scores = scores  # [N]

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:  # noqa: ARG002
        return self._scores[candidates]

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        return True
