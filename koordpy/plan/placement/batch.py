"""Placing many pods of one shape at once, with the same result as placing them one by one.

A pod that is placed changes the answer of most filters and scores only for its own node. So each node's slots are
counted once, its score is computed for the first, the second, the third pod, and a heap hands out the best next slot: a
thousand members cost a pass over the nodes and a thousand steps, not a thousand passes.

It works for shapes about which every filter and score says how it behaves: one that is `steady` is not moved by the
shape's own pods; `slots` and `score_with` say how many fit and how good the next one is. For the others the caller
places one by one.
"""

from __future__ import annotations

import heapq

import numpy as np

from koordpy.api.errors import MalformedValue
from koordpy.plan.framework.plugins import BatchScore
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.resources import MOST
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape

_ALONE = "is planned alone"  # in what a shape remembers: when it was last found to mind its own kind
_ASK_AGAIN_AFTER = 1000  # changes of usage


def slots(shape: Shape, cluster: Cluster, profile: Profile) -> Ints | None:
    """`[N]`: how many pods of the shape each node can take; None when they must be placed one by one."""
    try:
        return _slots(shape, cluster, profile)
    except MalformedValue:  # asked about alone, it is refused with the reason
        return None


def _slots(shape: Shape, cluster: Cluster, profile: Profile) -> Ints | None:
    accepted = fit.static_mask(shape, cluster, profile)
    offered: Ints = np.where(accepted, MOST, 0)
    for each in profile.filters:
        if each.static:
            continue
        passed = each.passes(shape, cluster)
        if passed is None:
            continue
        if each.steady(shape, cluster):
            offered = np.where(passed, offered, 0)
            continue
        own = each.slots(shape, cluster)
        if own is None:
            return None
        offered = np.minimum(offered, own)
    return offered


def can_fill(shape: Shape, cluster: Cluster, profile: Profile) -> bool:
    """Every score says how it behaves."""
    return all(isinstance(score, BatchScore) or score.steady(shape, cluster) for score, _ in profile.scores)


def fill(shape: Shape, wanted: int, offered: Ints, cluster: Cluster, profile: Profile) -> list[int]:
    """The rows of `wanted` pods, or of as many as the slots `[N]` allow, in the order of placing."""
    return _Filling(shape, wanted, offered, cluster, profile).take() if wanted and offered.any() else []


def may_share(pod: PodRecord, cluster: Cluster, profile: Profile) -> bool:
    """Single pods of this shape can be planned in one go, as far as is known without asking about nodes."""
    shape = pod.shape
    if shape is None or shape.traits.claims or len(cluster.nominations) or not can_fill(shape, cluster, profile):
        return False
    tried = shape.memo.get((profile, _ALONE))
    return tried is None or cluster.nodes.usage_log.position - tried[1] > _ASK_AGAIN_AFTER


def nodes_for(pod: PodRecord, wanted: int, cluster: Cluster, profile: Profile) -> list[str]:
    """Where single pods like this one go, as many as fit, as if planned one by one; none if they must be."""
    shape = pod.shape
    if shape is None or refuses_outright(shape, cluster, profile):
        return []
    offered = slots(shape, cluster, profile)
    if offered is None:
        shape.memo[profile, _ALONE] = (None, cluster.nodes.usage_log.position)
        return []
    return [cluster.nodes.names[row] for row in fill(shape, wanted, offered, cluster, profile)]


def refuses_outright(shape: Shape, cluster: Cluster, profile: Profile) -> bool:
    """Whatever the nodes are like; or it cannot be read."""
    try:
        return profile.prefilter(shape, cluster) is not None
    except MalformedValue:
        return True


class _Filling:
    """The nodes that have slots left, best first. `C` are the candidates, `L` the levels that are known so far."""

    def __init__(self, shape: Shape, wanted: int, offered: Ints, cluster: Cluster, profile: Profile) -> None:
        self._shape, self._wanted, self._cluster = shape, wanted, cluster
        self._moving = [(score, weight) for score, weight in profile.scores if isinstance(score, BatchScore)]
        self._steady = [(score, weight) for score, weight in profile.scores if not isinstance(score, BatchScore)]
        self._rows: Ints = np.flatnonzero(offered > 0)  # [C]
        self._still: Bools = np.ones(len(self._rows), dtype=np.bool_)  # [C]: has slots left
        self._base = self._steady_scores()  # [C]
        self._is_flat = self._all_alike()  # then they stay so, whoever of the candidates is left
        if self._is_flat:
            self._drop_hopeless()
        self._base_of: list[int] = self._base.tolist()
        self._left = offered[self._rows].tolist()
        self._ranks = cluster.nodes.ranks[self._rows].tolist()
        self._taken = [0] * len(self._rows)
        self._levels: list[list[int]] = []  # [L][C]: what the next pod scores on a node that has got 0, 1, 2 ...

    def take(self) -> list[int]:
        taken: list[int] = []
        heap = self._heap()
        rows = self._rows.tolist()
        while heap and len(taken) < self._wanted:
            _, rank, i = heap[0]
            taken.append(rows[i])
            self._taken[i] += 1
            self._left[i] -= 1
            if self._left[i]:
                heapq.heapreplace(heap, (-self._score(i), rank, i))
                continue
            heapq.heappop(heap)
            self._still[i] = False
            if not self._is_flat and self._others_changed():
                heap = self._heap()
        return taken

    def _drop_hopeless(self) -> None:
        """Of m pods none goes to a node that is not among the m best at first: one of those is always still free."""
        if self._wanted >= len(self._rows):
            return
        first = self._scored_first()
        order = first * self._cluster.nodes.capacity - self._cluster.nodes.ranks[self._rows]  # ranks break ties
        best = np.argpartition(order, len(order) - self._wanted)[len(order) - self._wanted :]
        self._rows = np.sort(self._rows[best])
        self._base, self._still = self._base[: len(self._rows)], self._still[: len(self._rows)]

    def _heap(self) -> list[tuple[int, int, int]]:
        heap = [(-self._score(i), self._ranks[i], i) for i, left in enumerate(self._left) if left]
        heapq.heapify(heap)
        return heap

    def _score(self, i: int) -> int:
        """Of the next pod on a candidate."""
        level = self._taken[i]
        if level >= len(self._levels):
            self._add_levels()
        return self._base_of[i] + self._levels[level][i]

    def _add_levels(self) -> None:
        """As many again as there are; for all candidates at once, since they mostly fill up in step."""
        known = len(self._levels)
        more = max(known, 2)
        already = np.repeat(np.arange(known, known + more), len(self._rows))
        scores = self._scored(np.tile(self._rows, more), already)  # [more * C]
        self._levels += scores.reshape(more, -1).tolist()

    def _scored_first(self) -> Ints:
        """`[C]`: as a single pod would be scored, which is mostly remembered from the last one."""
        total: Ints = np.zeros(len(self._rows), dtype=np.int64)
        for score, weight in self._moving:
            total += weight * score.score(self._shape, self._cluster, self._rows)
        return total

    def _scored(self, rows: Ints, already: Ints) -> Ints:
        """`[C]`: for each row, with so many pods of the shape there already."""
        total: Ints = np.zeros(len(rows), dtype=np.int64)
        for score, weight in self._moving:
            total += weight * score.score_with(self._shape, self._cluster, rows, already)
        return total

    def _steady_scores(self) -> Ints:
        """`[C]`: the weighted scores that depend on who else is a candidate, and not on who was placed."""
        total: Ints = np.zeros(len(self._rows), dtype=np.int64)
        for score, weight in self._steady:
            total[self._still] += weight * score.score(self._shape, self._cluster, self._rows[self._still])
        return total

    def _all_alike(self) -> bool:
        left = self._base[self._still]
        return bool((left == left[0]).all())

    def _others_changed(self) -> bool:
        """A node is full. Scores are relative to the best candidate, so those of the others may be other ones now."""
        if not self._still.any():
            return False
        before, self._base = self._base, self._steady_scores()
        self._base_of, self._is_flat = self._base.tolist(), self._all_alike()
        return bool((before != self._base)[self._still].any())
