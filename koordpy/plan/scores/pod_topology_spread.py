"""PodTopologySpread: prefer domains with fewer matching pods."""

from __future__ import annotations

import math

import numpy as np

from koordpy.api.keys import HOSTNAME
from koordpy.plan.constraints.spread import Constraint, DefaultSpread, constraints, domains_among, has_all_keys
from koordpy.plan.framework.plugins import Score
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.domains import at_nodes, per_domain
from koordpy.state.shapes import Shape


class PodTopologySpread(Score):
    """`whenUnsatisfiable: ScheduleAnyway`, and the default constraints."""

    name = "PodTopologySpread"

    def __init__(self, default: DefaultSpread | None = None) -> None:
        self._default = default or DefaultSpread()

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        asked, are_defaults = constraints(shape, cluster, "ScheduleAnyway", self._default)
        if not asked:
            return np.zeros(len(candidates), dtype=np.int64)
        # With the default constraints a node without a zone is still scored by host; a pod's own ones need all labels.
        eligible = cluster.nodes.live if are_defaults else has_all_keys(asked, cluster)
        scored = np.zeros(cluster.nodes.capacity, dtype=np.bool_)
        scored[candidates] = True
        scored &= eligible
        raw = np.zeros(cluster.nodes.capacity)
        for constraint in asked:
            raw += _raw_score(constraint, eligible, scored)
        return _normalised(np.floor(raw + 0.5).astype(np.int64)[candidates], scored[candidates])

    def steady(self, shape: Shape, cluster: Cluster) -> bool:
        """A pod without constraints changes nothing for the next pod of its shape."""
        return not constraints(shape, cluster, "ScheduleAnyway", self._default)[0]


def _raw_score(constraint: Constraint, eligible: Bools, scored: Bools) -> Ints:
    """`[N]`: matching pods in each node's domain, weighted so that large and small topologies compare."""
    labelled = constraint.column.codes >= 0
    if constraint.topology_key == HOSTNAME:
        pods, size = constraint.counts, int(np.count_nonzero(scored))
    else:
        counted = eligible if constraint.included is None else eligible & constraint.included
        pods = at_nodes(constraint.column, per_domain(constraint.column, constraint.counts, among=counted))
        # Nodes without the label, eligible only with the defaults, share a domain with nodes whose label is empty.
        empty = constraint.column.codes == constraint.column.code_of("")
        pods = pods + empty * int(constraint.counts[counted & ~labelled].sum())
        size = int(np.count_nonzero(domains_among(constraint, scored & ~empty)))
        size += bool((scored & (empty | ~labelled)).any())
    weighted = pods * math.log(size + 2) + (constraint.max_skew - 1)
    return np.where(labelled, weighted, 0.0)


def _normalised(raw: Ints, scored: Bools) -> Ints:
    """`[C]`: 100 for the lowest raw score; 0 for nodes that lack a label. Both arguments are `[C]`."""
    if not scored.any():
        return np.zeros(len(raw), dtype=np.int64)
    lowest, highest = int(raw[scored].min()), int(raw[scored].max())
    good = np.full(len(raw), 100, dtype=np.int64) if highest == 0 else 100 * (highest + lowest - raw) // highest
    return np.where(scored, good, 0)
