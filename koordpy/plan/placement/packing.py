"""Packing members of several sizes exactly: the last way to place a job, when the quick ones leave somebody out.

Two nodes of 3 CPUs hold 2, 1, 2 and 1 CPU, if each gets one large and one small member; a rule that looks at one member
at a time may put both small ones together. This tries placements one after another and takes back those that lead
nowhere. Nodes with the same free room are tried once. The budget is small: it is a search for small jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from koordpy.plan.framework.answers import Placement, Refusal
from koordpy.plan.framework.budget import Budget
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import batch
from koordpy.plan.placement.pods import place, place_nominated
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial

MOST_MEMBERS = 24  # of a job that is worth it: the number of ways grows with every member
_TRIES = 400


def pack(job: Job, cluster: Cluster, profiles: Mapping[str, Profile]) -> tuple[list[Placement] | None, Budget]:
    """Placements for what every gang of the job needs, if some way is found; and whether the search gave up."""
    budget = Budget(_TRIES)
    search = _Packing(job, cluster, profiles, budget)
    return (search.run() if search.is_worth_it else None), budget


class _Packing:
    """One job. `N` are the nodes, `K` the resources that its members ask for."""

    def __init__(self, job: Job, cluster: Cluster, profiles: Mapping[str, Profile], budget: Budget) -> None:
        self._job, self._cluster, self._profiles, self._budget = job, cluster, profiles, budget
        self._slots = self._slots_by_shape()
        asked = {row for member in job.members if member.shape is not None for row in member.shape.rows.tolist()}
        self._rows = np.array(sorted(asked), dtype=np.intp)  # [K]
        nodes = cluster.nodes
        self._free: Ints = nodes.allocatable[self._rows] - nodes.requested[self._rows]  # [K, N]
        self._members = sorted(job.members, key=self._scarcity)
        self._needed = Counter({demand.key: demand.needed for demand in job.demands})
        self._demand_of = {member.uid: demand.key for demand in job.demands for member in demand.members}
        self._chosen: list[tuple[PodRecord, int]] = []

    @property
    def is_worth_it(self) -> bool:
        """Room is all that decides, and there are few enough members."""
        return self._slots is not None and len(self._members) <= MOST_MEMBERS

    def run(self) -> list[Placement] | None:
        return self._checked() if self._place_from(0) else None

    def _slots_by_shape(self) -> dict[tuple[Shape, str], Ints] | None:
        """`[N]` for each kind of member: the slots of each node, beside nominated pods; None: room is not all."""
        found: dict[tuple[Shape, str], Ints] = {}
        with Trial(self._cluster.occupancy) as trial:
            if self._job.members:
                place_nominated(self._job.members[0], self._job, self._cluster, trial)
            for member in self._job.members:
                shape = member.shape
                slots = batch.slots(shape, self._cluster, self._profiles[member.scheduler]) if shape else None
                if shape is None or slots is None:
                    return None
                found[shape, member.scheduler] = slots
        return found

    def _scarcity(self, member: PodRecord) -> tuple[int, tuple[int, ...], float, str]:
        """Members that find the fewest slots first, then the largest."""
        shape = member.shape
        if self._slots is None or shape is None:
            return 0, (), member.created, member.name
        slots = int(np.minimum(self._slots[shape, member.scheduler], len(self._job.members)).sum())
        return slots, tuple((-shape.amounts).tolist()), member.created, member.name

    def _place_from(self, index: int) -> bool:
        """Whether all that is needed finds a place among the members from here on."""
        if not any(self._needed.values()):
            return True
        if index == len(self._members):
            return False
        member = self._members[index]
        demand = self._demand_of[member.uid]
        if self._needed[demand] and self._try_nodes(member, index):
            return True
        left = sum(self._demand_of[other.uid] == demand for other in self._members[index + 1 :])
        return left >= self._needed[demand] and self._place_from(index + 1)

    def _try_nodes(self, member: PodRecord, index: int) -> bool:
        asked, demand = self._asked(member), self._demand_of[member.uid]
        self._needed[demand] -= 1
        for row in self._distinct(member, asked):
            if not self._budget.spend():
                break
            self._free[:, row] -= asked
            self._chosen.append((member, row))
            if self._place_from(index + 1):
                return True
            self._chosen.pop()
            self._free[:, row] += asked
        self._needed[demand] += 1
        return False

    def _asked(self, member: PodRecord) -> Ints:
        """`[K]`."""
        assert member.shape is not None
        amounts = dict(zip(member.shape.rows.tolist(), member.shape.amounts.tolist(), strict=True))
        return np.array([amounts.get(row, 0) for row in self._rows.tolist()], dtype=np.int64)

    def _distinct(self, member: PodRecord, asked: Ints) -> list[int]:
        """The nodes that take it, the fullest first; of nodes that look the same to every member, one."""
        assert self._slots is not None
        assert member.shape is not None
        offered = self._slots[member.shape, member.scheduler] > 0
        fits = offered & ((self._free >= asked[:, None]) | (asked[:, None] == 0)).all(axis=0)
        rows = np.flatnonzero(fits)
        looks = np.vstack([self._free, *(slots > 0 for slots in self._slots.values())])[:, rows]
        _, first = np.unique(looks, axis=1, return_index=True)
        kept = rows[np.sort(first)]
        left = self._free[:, kept].sum(axis=0)
        return [int(row) for row in kept[np.argsort(left, kind="stable")]]

    def _checked(self) -> list[Placement] | None:
        """The filters have the last word."""
        found: list[Placement] = []
        with Trial(self._cluster.occupancy) as trial:
            for member, row in self._chosen:
                only = np.zeros(self._cluster.nodes.capacity, dtype=np.bool_)
                only[row] = True
                placed = place(member, self._job, self._cluster, self._profiles[member.scheduler].only(only), trial)
                if isinstance(placed, Refusal):
                    return None
                found.append(placed)
        return found
