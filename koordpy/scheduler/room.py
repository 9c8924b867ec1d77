"""A cheap look at whether a job could have room: by resources alone, and with everything gone that it may take.

Wrong only in one direction: it may say yes where the planner will say no. One look serves one cluster event, so that a
thousand unschedulable jobs share what was added up for the first.
"""

from __future__ import annotations

import numpy as np

from koordpy.scheduler.queue.ticket import Wants
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Preemptor
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape


class Room:
    """The room that there is at one moment."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._nodes = cluster, cluster.nodes
        self._classes: dict[Preemptor, tuple[int, ...]] = {}
        self._freed: dict[tuple[int, tuple[int, ...]], Ints] = {}  # row and classes -> what evictions would free, [R]
        self._slots: dict[Shape, int] = {}
        self._waiting: list[PodRecord] | None = None

    def suffices(self, rows: list[int], wants: Wants, preemptor: Preemptor) -> bool:
        """One of these nodes has a slot for some of the job, and all nodes together have slots for the rest."""
        if not any(self._on(row, shape, preemptor) for shape, _ in wants for row in rows):
            return False
        return all(self._anywhere(shape, count, preemptor) for shape, count in wants)

    def _on(self, row: int, shape: Shape, preemptor: Preemptor) -> bool:
        """One more pod of a shape on one node."""
        nodes, classes, yielding = self._nodes, self._reach(preemptor), self._yielding(preemptor)
        if (not classes and not yielding) or nodes.has_room(row, shape):
            return nodes.has_room(row, shape)
        free = nodes.allocatable[:, row] - nodes.requested[:, row]
        if classes:
            free += self._freed_by(row, classes)
        for pod in yielding:
            if pod.shape is not None and nodes.row_of(pod.node) == row:
                free[pod.shape.rows] += pod.shape.amounts
        return bool((free[shape.rows] >= shape.amounts).all())

    def _anywhere(self, shape: Shape, count: int, preemptor: Preemptor) -> bool:
        """So many pods of a shape on all nodes. With others gone that is too long a sum for each event: maybe."""
        if count <= 1 or self._reach(preemptor) or self._yielding(preemptor):
            return True
        if shape not in self._slots:
            self._slots[shape] = self._nodes.slots(shape)
        return self._slots[shape] >= count

    def _yielding(self, preemptor: Preemptor) -> list[PodRecord]:
        """Members that merely wait at Permit: they are unreserved for a job that goes before them."""
        if self._waiting is None:
            self._waiting = list(self._cluster.gangs.all_waiting())
        return [pod for pod in self._waiting if self._cluster.evictions.yields(pod, preemptor)]

    def _reach(self, preemptor: Preemptor) -> tuple[int, ...]:
        """The eviction classes that a job may take from; jobs of the same reach see the same room."""
        if preemptor not in self._classes:
            in_use = self._cluster.evictions.evictable.in_use
            self._classes[preemptor] = self._cluster.evictions.reach(preemptor).classes if in_use else ()
        return self._classes[preemptor]

    def _freed_by(self, row: int, classes: tuple[int, ...]) -> Ints:
        freed = self._freed.get((row, classes))
        if freed is None:
            freed = self._freed[row, classes] = np.zeros(len(self._nodes.allocatable), dtype=np.int64)
            for shape, count in self._cluster.evictions.evictable.on(row, classes):
                freed[shape.rows] += shape.amounts * count
        return freed
