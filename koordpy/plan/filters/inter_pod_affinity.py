"""InterPodAffinity: which pods must, and must not, run in the same domain.

Three rules, asked in this order: the pod's own required affinity, its own required anti-affinity, and the required
anti-affinity of pods that are already there. Domains are the nodes that agree in a term's topology key.
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
# A pod that leaves wake_on too: without its last companion elsewhere, a pod may be the first of its set anywhere.
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
    """Required terms, in both directions."""

    name = "InterPodAffinity"
    static = False

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        cluster.census.check_terms(shape)  # preferences too, or it would depend on the cluster whether a pod is refused
        masks = [mask for _, mask in _rules(shape, cluster) if mask is not None]
        return np.logical_and.reduce(masks) if masks else None

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """A pod that demands nothing of others moves nothing for the next one like it."""
        return shape.traits.pod_affinity is None and shape.traits.pod_anti_affinity is None

    def slots(self, shape: Shape, cluster: Cluster) -> Ints | None:
        """`[N]`: one on each node for pods that keep apart from their own kind by host name, the usual case.

        None where a pod on one node is news for another: whoever wants company, or keeps apart by zone.
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
    affinity = shape.traits.pod_affinity
    if affinity is None or not affinity.required:
        return None
    terms = affinity.required
    tally = cluster.census.pods_matching(shape.traits.namespace, terms)
    labelled = np.ones(cluster.nodes.capacity, dtype=np.bool_)
    near = np.ones(cluster.nodes.capacity, dtype=np.bool_)
    anywhere = False
    for term in terms:
        column = cluster.nodes.labels.column(term.topology_key)
        here = per_domain(column, tally.counts)
        anywhere |= bool(here.any())
        labelled &= column.codes >= 0
        near &= at_nodes(column, here) > 0
    # The first pod of a set that wants to be with itself would otherwise wait for ever.
    if not anywhere and cluster.census.speaks_about_itself(shape, terms):
        return labelled
    return near


def _own_anti_affinity(shape: Shape, cluster: Cluster) -> Bools | None:
    anti_affinity = shape.traits.pod_anti_affinity
    if anti_affinity is None or not anti_affinity.required:
        return None
    apart = np.ones(cluster.nodes.capacity, dtype=np.bool_)
    for term in anti_affinity.required:
        tally = cluster.census.pods_matching(shape.traits.namespace, (term,))
        column = cluster.nodes.labels.column(term.topology_key)
        apart &= at_nodes(column, per_domain(column, tally.counts)) == 0
    return apart


def _others_anti_affinity(shape: Shape, cluster: Cluster) -> Bools | None:
    apart: Bools | None = None
    for term in cluster.census.terms_about(shape):
        if term.kind is Kind.REQUIRED_ANTI_AFFINITY and term.counts.any():
            column = cluster.nodes.labels.column(term.topology_key)
            mask = at_nodes(column, per_domain(column, term.counts)) == 0
            apart = mask if apart is None else apart & mask
    return apart
