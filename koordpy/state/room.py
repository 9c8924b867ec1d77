"""A cheap look at whether a job could have room: by resources alone, and with everybody of lower priority gone.

They may be evicted, or merely wait at Permit and let go. Wrong only in one direction: it may say yes where the planner
will say no. One look serves one piece of news, so that a thousand parked jobs share what was added up for the first.
"""

from __future__ import annotations

import numpy as np

from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape


class Room:
    """The room that there is at one moment."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes, self._evictable, self._gangs = cluster.nodes, cluster.evictable, cluster.gangs
        self._levels: dict[int, int | None] = {}
        self._freed: dict[tuple[int, int], Ints] = {}  # row and level -> what evictions would free, [R]
        self._slots: dict[Shape, int] = {}
        self._waiting: list[PodRecord] | None = None

    def on(self, row: int, shape: Shape, priority: int) -> bool:
        """One more pod of a shape on one node."""
        nodes, level, below = self._nodes, self._level(priority), self._waiting_below(priority)
        if (level is None and not below) or nodes.has_room(row, shape):
            return nodes.has_room(row, shape)
        free = nodes.allocatable[:, row] - nodes.requested[:, row]
        if level is not None:
            free += self._freed_by(row, level)
        for pod in below:
            if pod.shape is not None and nodes.row_of(pod.node) == row:
                free[pod.shape.rows] += pod.shape.amounts
        return bool((free[shape.rows] >= shape.amounts).all())

    def anywhere(self, shape: Shape, count: int, priority: int) -> bool:
        """So many pods of a shape on all nodes. With others gone that is too long a sum for each news: maybe."""
        if count == 1 or self._level(priority) is not None or self._waiting_below(priority):
            return True
        if shape not in self._slots:
            self._slots[shape] = self._nodes.slots(shape)
        return self._slots[shape] >= count

    def _waiting_below(self, priority: int) -> list[PodRecord]:
        """Members of gangs that accumulate: they let go for a job of higher priority."""
        if self._waiting is None:
            self._waiting = list(self._gangs.all_waiting())
        return [pod for pod in self._waiting if pod.priority < priority]

    def _level(self, priority: int) -> int | None:
        """The highest priority below this one that somebody could be evicted of; jobs above it see the same room."""
        if priority not in self._levels:
            levels = self._evictable.levels(priority) if self._evictable.in_use else []
            self._levels[priority] = max(levels, default=None)
        return self._levels[priority]

    def _freed_by(self, row: int, level: int) -> Ints:
        freed = self._freed.get((row, level))
        if freed is None:
            freed = self._freed[row, level] = np.zeros(len(self._nodes.allocatable), dtype=np.int64)
            for shape, count in self._evictable.on(row, level):
                freed[shape.rows] += shape.amounts * count
        return freed
