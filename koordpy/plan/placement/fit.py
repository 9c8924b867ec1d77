"""Placement of one pod: which nodes can take it, which of them is best, and why the others cannot.

A node is asked by the filters in order and the first that refuses it gives the reason, as in kube-scheduler. Masks are
computed for all nodes at once; reasons are counted only when nothing is left, since most pods fit somewhere.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from koordpy.plan.constraints.node_terms import pinned_names
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.profile import Profile
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_NOT_NAMED = Reason(
    "node(s) didn't satisfy plugin(s) [NodeAffinity]", preemption_helps=False, wake_on=EventKind.NODE_ADDED
)


def feasible(shape: Shape, cluster: Cluster, profile: Profile) -> Bools:
    """`[N]`: the nodes that every filter accepts."""
    accepted = static_mask(shape, cluster, profile).copy()
    for node_filter in profile.filters:
        if not node_filter.static:
            passed = node_filter.passes(shape, cluster)
            if passed is not None:
                accepted &= passed
    return accepted


def static_mask(shape: Shape, cluster: Cluster, profile: Profile) -> Bools:
    """`[N]`: what the filters say that look only at nodes, kept until a node changes. Not to be written to."""
    nodes, root = cluster.nodes, profile.root
    known = shape.remember(root, nodes.static_generation, lambda: _static_mask(shape, cluster, root))
    return known if profile.within is None else known & profile.within


def _static_mask(shape: Shape, cluster: Cluster, profile: Profile) -> Bools:
    accepted = cluster.nodes.live.copy()
    for node_filter in profile.filters:
        passed = node_filter.passes(shape, cluster) if node_filter.static else None
        if passed is not None:
            accepted &= passed
    return accepted


def best(shape: Shape, cluster: Cluster, profile: Profile, accepted: Bools) -> int:
    """The row of the best accepted node; equals go by name, so that the same state gives the same answer."""
    candidates = np.flatnonzero(accepted)
    if len(candidates) == 1:
        return int(candidates[0])
    total = scores(shape, cluster, profile, candidates)
    leaders = candidates[total == total.max()]
    return int(leaders[np.argmin(cluster.nodes.ranks[leaders])])


def scores(shape: Shape, cluster: Cluster, profile: Profile, candidates: Ints) -> Ints:
    """`[C]`: the weighted sum of all scores."""
    total: Ints = np.zeros(len(candidates), dtype=np.int64)
    for score, weight in profile.scores:
        total += weight * score.score(shape, cluster, candidates)
    return total


def explain(shape: Shape, cluster: Cluster, profile: Profile, among: Bools | None = None) -> Counter[Reason]:
    """How many nodes each reason ruled out, `among` these, `[N]`, or all.

    One node may count under several reasons of the filter that refused it.
    """
    counts: Counter[Reason] = Counter()
    asked = cluster.nodes.live if among is None else among
    if profile.within is not None:
        asked = asked & profile.within
    remaining = _worth_asking(shape, cluster, asked, counts)
    for node_filter in profile.filters:
        passed = node_filter.passes(shape, cluster)
        if passed is None:
            continue
        for reason, ruled_out in node_filter.explain(shape, cluster, remaining & ~passed):
            count = int(np.count_nonzero(ruled_out))
            if count:
                counts[replace(reason, plugin=node_filter.name)] += count
        remaining &= passed
    return counts


def hopeless(shape: Shape, cluster: Cluster, profile: Profile) -> Bools:
    """`[N]`: the nodes that refuse for a reason that no eviction there could help with."""
    remaining = _worth_asking(shape, cluster, cluster.nodes.live, Counter())
    lost = cluster.nodes.live & ~remaining
    for node_filter in profile.filters:
        passed = node_filter.passes(shape, cluster)
        if passed is None:
            continue
        for reason, ruled_out in node_filter.explain(shape, cluster, remaining & ~passed):
            if not reason.preemption_helps:
                lost = lost | ruled_out
        remaining &= passed
    return lost


def _worth_asking(shape: Shape, cluster: Cluster, among: Bools, counts: Counter[Reason]) -> Bools:
    """`[N]`: the nodes that filters are asked about: all, unless the pod names its nodes."""
    nodes = cluster.nodes
    pinned = pinned_names(shape)
    if pinned is None:
        return among.copy()
    asked = np.zeros(nodes.capacity, dtype=np.bool_)
    asked[[row for row in map(nodes.row_of, pinned) if row is not None]] = True
    others = int(np.count_nonzero(among & ~asked))
    if others:
        counts[_NOT_NAMED] = others
    return asked & among
