"""NodeResourcesFit: the node has room for all requests of the pod."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.plan.framework.rowcache import cached_rows
from koordpy.state.arrays import Bools, Ints, Rows
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.nodes.resources import MOST, PODS
from koordpy.state.shapes import Shape

_EVENTS = EventKind.NODE_ADDED | EventKind.NODE_GREW | EventKind.ROOM_FREED


class NodeResourcesFit(Filter):
    """A resource that the pod does not request is never checked, even on a node that is overcommitted in it."""

    name = "NodeResourcesFit"
    static = False

    def __init__(self, ignored: frozenset[str] = frozenset(), ignored_groups: frozenset[str] = frozenset()) -> None:
        self._ignored, self._ignored_groups = ignored, ignored_groups  # extended resources that other components manage

    @property
    def ignores_some(self) -> bool:
        return bool(self._ignored or self._ignored_groups)

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        return cached_rows(shape.request, self, cluster.nodes, lambda rows: self._fits(shape, cluster, rows))

    def _fits(self, shape: Shape, cluster: Cluster, rows: Rows) -> Bools:
        """`[C]`: whether each of the rows has room."""
        nodes = cluster.nodes
        fits = np.ones_like(nodes.live[rows])
        for _, resource, amount in self._checked(shape, cluster):
            fits &= nodes.allocatable[resource, rows] - nodes.requested[resource, rows] >= amount
        return fits

    def slots(self, shape: Shape, cluster: Cluster) -> Ints:
        """`[N]`: how many pods of the shape each node has room for."""
        nodes = cluster.nodes
        offered = np.full(nodes.capacity, MOST, dtype=np.int64)
        for _, resource, amount in self._checked(shape, cluster):
            free = nodes.allocatable[resource] - nodes.requested[resource]
            np.minimum(offered, free // amount if amount else np.where(free >= 0, MOST, 0), out=offered)
        return np.maximum(offered, 0)

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:
        nodes = cluster.nodes
        for name, row, amount in self._checked(shape, cluster):
            text = "Too many pods" if row == PODS else f"Insufficient {name}"
            short = refused & (nodes.allocatable[row] - nodes.requested[row] < amount)
            # As in kube-scheduler, preemption may help on a node that allows no pods at all.
            too_small = short & (nodes.allocatable[row] < amount) if row != PODS else np.zeros_like(short)
            yield Reason(text, preemption_helps=False, wake_on=_EVENTS), too_small
            yield Reason(text, preemption_helps=True, wake_on=_EVENTS), short & ~too_small

    def _checked(self, shape: Shape, cluster: Cluster) -> list[tuple[str, int, int]]:
        """Requested resources that are not ignored: name, row and amount. Resources that no node has share a row."""
        find = cluster.resources.find
        return [(name, find(name), amount) for name, amount in shape.traits.needed if not self._ignores(name)]

    def _ignores(self, resource: str) -> bool:
        return "/" in resource and (resource in self._ignored or resource.partition("/")[0] in self._ignored_groups)
