"""Topology spread constraints, prepared for the filter and the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from koordpy.api.affinity import TopologySpreadConstraint
from koordpy.api.keys import HOSTNAME, ZONE
from koordpy.api.meta import LabelSelector
from koordpy.plan.constraints.node_terms import matches_required
from koordpy.plan.constraints.tolerations import admits
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.labels import LabelColumn
from koordpy.state.selectors import compile_selector, hook_of, is_empty
from koordpy.state.shapes import Shape

# kube-scheduler's default constraints, for a pod without its own that belongs to a service or an owner with a selector.
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway"),
)


class DefaultSpread(NamedTuple):
    """The default constraints, for pods without their own."""

    constraints: tuple[TopologySpreadConstraint, ...] = SYSTEM_DEFAULTS
    is_system: bool = True  # with these, nodes without a zone are still spread by host


_pack = msgspec.msgpack.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint, applied to one shape."""

    max_skew: int
    min_domains: int
    topology_key: str
    column: LabelColumn
    counts: Ints  # [N]: pods per node that match the selector
    counts_itself: bool
    included: Bools | None  # [N]: nodes whose pods and domains count; None for all


def constraints(shape: Shape, cluster: Cluster, action: str, default: DefaultSpread) -> tuple[list[Constraint], bool]:
    """The constraints with this `whenUnsatisfiable`, and whether they are the system's defaults."""
    if shape.traits.spread:
        own = [c for c in shape.traits.spread if c.when_unsatisfiable == action]
        return [_constraint(c, c.label_selector, shape, cluster) for c in own], False
    selector = cluster.workloads.default_selector(shape)
    if selector is None:
        return [], default.is_system
    asked = [c for c in default.constraints if c.when_unsatisfiable == action]
    return [_constraint(c, selector, shape, cluster) for c in asked], default.is_system


def _constraint(
    asked: TopologySpreadConstraint, selector: LabelSelector | None, shape: Shape, cluster: Cluster
) -> Constraint:
    namespace, labels = shape.traits.namespace, shape.labels
    extra = {key: labels[key] for key in asked.match_label_keys if key in labels}
    matches = compile_selector(selector, extra)
    counts_nothing = is_empty(selector) and not extra  # but the pod itself counts, as in kube-scheduler

    def includes(other: Shape) -> bool:
        traits = other.traits
        return not counts_nothing and not traits.terminating and traits.namespace == namespace and matches(other.labels)

    key = ("spread", namespace, _pack((selector, extra)))
    tally = cluster.census.tally(key, includes, hook_of(selector, extra))
    return Constraint(
        max_skew=asked.max_skew,
        min_domains=asked.min_domains or 1,
        topology_key=asked.topology_key,
        column=cluster.nodes.labels.column(asked.topology_key),
        counts=tally.counts,
        counts_itself=matches(labels),
        included=_included(asked, shape, cluster),
    )


def _included(asked: TopologySpreadConstraint, shape: Shape, cluster: Cluster) -> Bools | None:
    """`[N]`: nodes that `nodeAffinityPolicy` and `nodeTaintsPolicy` let count; None for all."""
    included: Bools | None = None
    if (asked.node_affinity_policy or "Honor") == "Honor":
        included = matches_required(shape, cluster.nodes)
    if (asked.node_taints_policy or "Ignore") == "Honor":
        admitted = admits(shape, cluster.nodes)
        included = admitted if included is None else included & admitted
    return included


def has_all_keys(asked: list[Constraint], cluster: Cluster) -> Bools:
    """`[N]`: live nodes that carry the label of every constraint."""
    mask = cluster.nodes.live.copy()
    for constraint in asked:
        mask &= constraint.column.codes >= 0
    return mask


def domains_among(constraint: Constraint, nodes: Bools) -> Bools:
    """`[D]`: domains that have at least one of these nodes, `[N]`."""
    present = np.zeros(len(constraint.column.values), dtype=np.bool_)
    present[constraint.column.codes[nodes & (constraint.column.codes >= 0)]] = True
    return present
