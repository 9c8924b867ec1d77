"""Attracting pods: running pods with the same `network-topology-selector`, counted per node and up the tree."""

from __future__ import annotations

from collections.abc import Sequence

from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.topology import Level


class Attraction:
    """The number of attracting pods in each domain, for one job."""

    def __init__(self, levels: tuple[Level, ...], counts: Ints) -> None:
        """`counts`, `[N]`: attracting pods on each node."""
        self.sums = [level.sums(counts) for level in levels]  # per level [D]

    def at(self, level: int, domain: int) -> int:
        return int(self.sums[level][domain])


def attraction_of(members: Sequence[PodRecord], cluster: Cluster) -> Attraction | None:
    """The first member's selector decides, as in Koordinator; None without a selector or without attracting pods."""
    shape = members[0].shape if members else None
    counts = attracting_pods(shape, cluster) if shape is not None else None
    return Attraction(cluster.topology.levels, counts) if counts is not None and counts.any() else None


def attracting_pods(shape: Shape, cluster: Cluster) -> Ints | None:
    """`[N]`: attracting pods on each node; None for a shape without a selector. Not to be written to."""
    value = shape.traits.network_selector
    if not value:
        return None
    return cluster.census.tally(
        ("network selector", value), lambda other: other.traits.network_selector == value
    ).counts
