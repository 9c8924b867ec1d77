"""InterPodAffinity: required pod affinity and anti-affinity.

Three rules, in this order: the pod's own required affinity, its own required anti-affinity, and the required
anti-affinity of existing pods. The nodes with the same value of a term's topology key are one domain.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools, Ints
from koordpy.state.census import Kind
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.nodes.domains import at_nodes, per_domain
from koordpy.state.nodes.resources import MOST
from koordpy.state.shapes import Shape

_EVENTS = EventKind.NODE_ADDED | EventKind.NODE_RELABELLED | EventKind.DOMAINS | EventKind.SELECTORS
# Also a pod that leaves: when the last pod that matches is gone, this pod may become the first of its set.
_AFFINITY = Reason(
    "node(s) didn't match pod affinity rules",
    preemption_helps=False,
    wake_on=_EVENTS | EventKind.POD_CAME | EventKind.POD_LEFT,
)
_ANTI_AFFINITY = Reason(
    "node(s) didn't match pod anti-affinity rules", preemption_helps=True, wake_on=_EVENTS | EventKind.POD_LEFT
)
_EXISTING = Reason(
    "node(s) didn't satisfy existing pods anti-affinity rules",
    preemption_helps=True,
    wake_on=_EVENTS | EventKind.POD_LEFT,
)


class InterPodAffinity(Filter):
    """Required terms of the pod, and of existing pods about it."""

    name = "InterPodAffinity"
    static = False

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        cluster.census.check_terms(shape)  # preferred ones too, or whether a pod is refused would depend on the cluster
        masks = [mask for _, mask in _rules(shape, cluster) if mask is not None]
        return np.logical_and.reduce(masks) if masks else None

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """A pod without terms of its own changes nothing for the next pod of its shape."""
        return shape.traits.pod_affinity is None and shape.traits.pod_anti_affinity is None

    def slots(self, shape: Shape, cluster: Cluster) -> Ints | None:
        """`[N]`: one slot per node for anti-affinity to pods of the same shape by host name, the usual case.

        None where a pod on one node changes the answer for another: for affinity, and for anti-affinity by zone.
        """
        affinity, anti_affinity = shape.traits.pod_affinity, shape.traits.pod_anti_affinity
        if affinity is not None and affinity.required:
            return None
        passed = self.passes(shape, cluster)
        offered: Ints = np.where(cluster.nodes.live if passed is None else passed, MOST, 0)
        for term in anti_affinity.required if anti_affinity is not None else ():
            if cluster.census.speaks_about_itself(shape, (term,)):
                codes = cluster.nodes.labels.column(term.topology_key).codes
                if np.bincount(codes[codes >= 0], minlength=1).max() > 1:
                    return None
                offered = np.minimum(offered, np.where(codes >= 0, 1, MOST))
        return offered

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:
        remaining = refused
        for reason, mask in _rules(shape, cluster):
            if mask is not None:
                yield reason, remaining & ~mask
                remaining = remaining & mask


def _rules(shape: Shape, cluster: Cluster) -> Iterable[tuple[Reason, Bools | None]]:
    yield _AFFINITY, _own_affinity(shape, cluster)
    yield _ANTI_AFFINITY, _own_anti_affinity(shape, cluster)
    yield _EXISTING, _others_anti_affinity(shape, cluster)


def _own_affinity(shape: Shape, cluster: Cluster) -> Bools | None:
    """`[N]`: nodes whose domains have a matching pod for every term; None without terms."""
    affinity = shape.traits.pod_affinity
    if affinity is None or not affinity.required:
        return None
    terms = affinity.required
    tally = cluster.census.pods_matching(shape.traits.namespace, terms)
    labelled = np.ones(cluster.nodes.capacity, dtype=np.bool_)
    matched = np.ones(cluster.nodes.capacity, dtype=np.bool_)
    anywhere = False
    for term in terms:
        column = cluster.nodes.labels.column(term.topology_key)
        here = per_domain(column, tally.counts)  # [D]
        anywhere |= bool(here.any())
        labelled &= column.codes >= 0
        matched &= at_nodes(column, here) > 0
    # Otherwise the first pod of a set whose terms match the set itself would stay unschedulable.
    if not anywhere and cluster.census.speaks_about_itself(shape, terms):
        return labelled
    return matched


def _own_anti_affinity(shape: Shape, cluster: Cluster) -> Bools | None:
    """`[N]`: nodes whose domains have no matching pod for any term; None without terms."""
    anti_affinity = shape.traits.pod_anti_affinity
    if anti_affinity is None or not anti_affinity.required:
        return None
    passes = np.ones(cluster.nodes.capacity, dtype=np.bool_)
    for term in anti_affinity.required:
        tally = cluster.census.pods_matching(shape.traits.namespace, (term,))
        column = cluster.nodes.labels.column(term.topology_key)
        passes &= at_nodes(column, per_domain(column, tally.counts)) == 0
    return passes


def _others_anti_affinity(shape: Shape, cluster: Cluster) -> Bools | None:
    """`[N]`: nodes in no domain of an existing pod whose anti-affinity matches this one; None without any."""
    passes: Bools | None = None
    for term in cluster.census.terms_about(shape):
        if term.kind is Kind.REQUIRED_ANTI_AFFINITY and term.counts.any():
            column = cluster.nodes.labels.column(term.topology_key)
            mask = at_nodes(column, per_domain(column, term.counts)) == 0
            passes = mask if passes is None else passes & mask
    return passes
