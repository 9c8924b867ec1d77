"""The rating of a placement: the domains that a job uses, beside the fewest that could hold it in an empty cluster.

An empty cluster is the measure, so that ratings compare whatever was running at the time. 1.0 means that no placement
uses fewer domains; 0.5, that the job is spread over twice as many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from koordpy.plan.framework.answers import Placement
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.resources import MOST
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.topology import Level


class Rating(NamedTuple):
    """Where a job was placed, for the annotation of its PodGroup."""

    layer: str  # the deepest whose one domain holds the whole job
    domain: str  # its path
    used: dict[str, int]  # by layer, from the top
    least: dict[str, int]
    score: float  # 1.0 is best


def rate(
    placements: Sequence[Placement], pods: Mapping[str, PodRecord], cluster: Cluster, profiles: Mapping[str, Profile]
) -> Rating | None:
    """The rating of placements; None without a topology, or when the pods or their nodes were deleted."""
    levels = cluster.topology.levels
    rows = [row for each in placements if (row := cluster.nodes.row_of(each.node)) is not None]
    placed = [pod for each in placements if (pod := pods.get(each.uid)) is not None and pod.shape is not None]
    if not levels or not rows or not placed:
        return None
    wanted = Counter((pod.shape, pod.scheduler) for pod in placed)
    empty = [(_slots_when_empty(shape, cluster, profiles[name]), n) for (shape, name), n in wanted.items() if shape]
    used = {level.layer: len(np.unique(level.codes[rows])) for level in levels[1:]}
    least = {level.layer: max(_fewest(level, slots, n) for slots, n in empty) for level in levels[1:]}
    deepest = max(i for i, level in enumerate(levels) if _is_one_domain(level, rows))
    path = levels[deepest].paths[int(levels[deepest].codes[rows[0]])]
    score = sum(least.values()) / max(1, sum(used.values()))
    return Rating(levels[deepest].layer, "/".join(path), used, least, round(min(score, 1.0), 3))


def _is_one_domain(level: Level, rows: list[int]) -> bool:
    """Whether all rows lie in one named domain: nodes that lack a label have only that in common."""
    domains = np.unique(level.codes[rows])
    return len(domains) == 1 and bool(level.real[domains[0]])


def _slots_when_empty(shape: Shape, cluster: Cluster, profile: Profile) -> Ints:
    """`[N]`: the slots of each node without any pods on it."""
    nodes = cluster.nodes
    offered: Ints = np.where(fit.static_mask(shape, cluster, profile), MOST, 0)
    for row, amount in zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True):
        if amount:
            offered = np.minimum(offered, nodes.allocatable[row] // amount)
    return np.minimum(offered, 1 if shape.traits.ports else 2**20)  # a node has each host port once


def _fewest(level: Level, slots: Ints, wanted: int) -> int:
    """The fewest domains of a level with `wanted` slots in sum; `slots` is `[N]`."""
    largest = np.sort(level.sums(slots))[::-1]
    enough = int(np.searchsorted(np.cumsum(largest), wanted)) + 1
    return min(enough, len(largest))
