"""PodTopologySpread: no domain gets more than `maxSkew` pods ahead of the emptiest one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from koordpy.plan.constraints.spread import Constraint, DefaultSpread, constraints, domains_among, has_all_keys
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.nodes.domains import at_nodes, per_domain
from koordpy.state.shapes import Shape

_EVENTS = (
    EventKind.NODE_ADDED | EventKind.NODE_RELABELLED | EventKind.NODE_TAINTS
    | EventKind.DOMAINS | EventKind.POD_CAME | EventKind.POD_LEFT | EventKind.SELECTORS
)  # fmt: skip
_SKEW = Reason("node(s) didn't match pod topology spread constraints", preemption_helps=True, wake_on=_EVENTS)
_NO_LABEL = Reason(
    "node(s) didn't match pod topology spread constraints (missing required label)",
    preemption_helps=False,
    wake_on=_EVENTS,
)


class PodTopologySpread(Filter):
    """`whenUnsatisfiable: DoNotSchedule`."""

    name = "PodTopologySpread"
    static = False

    def __init__(self, default: DefaultSpread | None = None) -> None:
        self._default = default or DefaultSpread()

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        asked, _ = constraints(shape, cluster, "DoNotSchedule", self._default)
        if not asked:
            return None
        eligible = has_all_keys(asked, cluster)
        mask = eligible.copy()
        for constraint in asked:
            mask &= _within_skew(constraint, eligible)
        return mask

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:
        """Constraint by constraint, the label before the skew; the first that fails gives the reason."""
        asked, _ = constraints(shape, cluster, "DoNotSchedule", self._default)
        eligible = has_all_keys(asked, cluster)
        remaining = refused
        for constraint in asked:
            labelled = constraint.column.codes >= 0
            within = _within_skew(constraint, eligible)
            yield _NO_LABEL, remaining & ~labelled
            yield _SKEW, remaining & labelled & ~within
            remaining = remaining & labelled & within


def _within_skew(constraint: Constraint, eligible: Bools) -> Bools:
    """`[N]`: nodes whose domain may get one more pod. `eligible` is `[N]`."""
    counted = eligible if constraint.included is None else eligible & constraint.included
    pods = per_domain(constraint.column, constraint.counts, among=counted)  # [D]
    present = domains_among(constraint, counted)  # [D]
    if not present.any():
        return np.ones(len(eligible), dtype=np.bool_)
    fewest = int(pods[present].min()) if np.count_nonzero(present) >= constraint.min_domains else 0
    return at_nodes(constraint.column, pods) + constraint.counts_itself - fewest <= constraint.max_skew
