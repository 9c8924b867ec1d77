"""Placing a job's members where the victims cost least, while everybody who may be evicted is off in a trial.

For each node that could take the next member: whoever is evictable there is put back in the order of importance as long
as the members fit beside them, and those left out are the victims; what these cost beyond the victims chosen so far is
the price of the node. The cheapest is taken. Prices are kept in a heap and brought up to date where they may have
changed: on the node itself, and wherever members of a job sit that has just been touched for the first time.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from koordpy.cluster.arrays import Bools
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.shapes import Shape
from koordpy.cluster.trial import Trial
from koordpy.plan import batch, placement
from koordpy.plan.answer import Placement
from koordpy.plan.job import Demand, Job
from koordpy.plan.planner import place_nominated
from koordpy.plan.profile import Profile
from koordpy.plan.victims import Cost, Ledger, whole_gang

_Entry = tuple[Cost, int, int, int, bool]  # price, rank of the node, row, stamp, exact


class MakingRoom:
    """One search, on a trial from which everybody up to a priority is gone."""

    def __init__(
        self,
        job: Job,
        cluster: Cluster,
        profiles: Mapping[str, Profile],
        trial: Trial,
        *,
        level: int,
        staying: set[str],
    ) -> None:
        self._job, self._cluster, self._profiles, self._trial = job, cluster, profiles, trial
        self._level, self._staying = level, staying
        self.ledger = Ledger(cluster)
        rows = {row for member in job.members if member.shape is not None for row in member.shape.rows.tolist()}
        self._resources = sorted(rows)
        self._candidates: dict[int, list[PodRecord]] = {}  # node row -> who may be evicted there
        self._chosen: dict[int, list[PodRecord]] = {}  # node row -> who is
        self._members: dict[int, list[PodRecord]] = {}  # node row -> members placed there
        self._asked: dict[Shape, list[int]] = {}
        self._placements: list[Placement] = []

    def place_all(self) -> list[Placement] | None:
        """A node for every member that is needed; None when they do not fit."""
        demands = self._job.demands or (Demand("", len(self._job.members), 0, "Strict", self._job.members),)
        for demand in demands:
            left = demand.needed
            for members in _by_shape(demand):
                left -= self._place_some(members, left)
            if left > 0:
                return None
        return self._placements

    def _place_some(self, members: list[PodRecord], wanted: int) -> int:
        shape, profile = members[0].shape, self._profiles[members[0].scheduler]
        if shape is None or wanted <= 0:
            return 0
        filling = _Shape(self, shape, profile, members[0])
        placed = 0
        for member in members[:wanted]:
            row = filling.next_row()
            if row is None:
                break
            self._take(row, member, shape, filling)
            placed += 1
        return placed

    def _take(self, row: int, member: PodRecord, shape: Shape, filling: _Shape) -> None:
        victims = self.victims(row, shape, filling.profile, exact=not filling.is_simple)
        before = self._chosen.get(row, [])
        jobs = {victim.job for victim in victims if not self.ledger.is_touched(victim.job)}
        self.ledger.remove(before)
        self.ledger.add(victims)
        self._chosen[row] = victims
        self._members.setdefault(row, []).append(member)
        self._trial.place(row, shape)
        self._placements.append(Placement(member.uid, self._cluster.nodes.names[row]))
        filling.taken(row)
        for other in self._rows_of(jobs) - {row}:
            filling.price_again(other)

    def _rows_of(self, jobs: set[str]) -> set[int]:
        """Where else pods of these jobs sit: they are cheaper by now."""
        found: set[int] = set()
        for job in jobs:
            gang = self._cluster.gangs.get(job)
            for pod in gang.bound.values() if gang is not None else ():
                row = self._cluster.nodes.row_of(pod.node)
                if row is not None:
                    found.add(row)
        return found

    # --- the price of a node ---

    def price(self, row: int, shape: Shape, profile: Profile, *, exact: bool) -> Cost:
        chosen = {victim.uid for victim in self._chosen.get(row, ())}
        victims = self.victims(row, shape, profile, exact=exact)
        more = [victim for victim in victims if victim.uid not in chosen]
        for victim in tuple(more):
            gang = whole_gang(victim, self._cluster)
            if gang is not None:
                more += [pod for pod in gang.bound.values() if pod.uid not in chosen and pod not in more]
        return self.ledger.marginal(more)

    def victims(self, row: int, shape: Shape, profile: Profile, *, exact: bool) -> list[PodRecord]:
        """Who has to leave a node for one more member of a shape beside those that are placed there."""
        candidates = sorted(self.candidates(row), key=self.ledger.worth, reverse=True)
        if exact:
            return self._not_put_back(row, shape, profile, candidates)
        nodes = self._cluster.nodes
        spare = [int(nodes.allocatable[each, row] - nodes.requested[each, row]) for each in self._resources]
        _subtract(spare, self._amounts(shape))
        leaving = []
        for pod in candidates:
            assert pod.shape is not None
            asked = self._amounts(pod.shape)
            if all(have >= want or not want for have, want in zip(spare, asked, strict=True)):
                _subtract(spare, asked)
            else:
                leaving.append(pod)
        return leaving

    def _not_put_back(self, row: int, shape: Shape, profile: Profile, candidates: list[PodRecord]) -> list[PodRecord]:
        """The same by asking the filters: ports, affinity and volumes can be in the way too."""
        leaving = []
        with Trial(self._cluster.occupancy) as trial:
            trial.place(row, shape)
            there = [(member.shape, self._profiles[member.scheduler]) for member in self._members.get(row, ())]
            there.append((shape, profile))
            for pod in candidates:
                assert pod.shape is not None
                mark = trial.mark()
                trial.place(row, pod.shape)
                if not all(self._fits_beside(row, each, its, trial) for each, its in there if each is not None):
                    trial.undo(mark)
                    leaving.append(pod)
        return leaving

    def _fits_beside(self, row: int, shape: Shape, profile: Profile, trial: Trial) -> bool:
        mark = trial.mark()
        trial.place(row, shape, -1)
        fits = bool(placement.feasible(shape, self._cluster, profile)[row])
        trial.undo(mark)
        return fits

    def candidates(self, row: int) -> list[PodRecord]:
        found = self._candidates.get(row)
        if found is None:
            cluster = self._cluster
            found = self._candidates[row] = [
                pod
                for pod in cluster.pods_on(cluster.nodes.names[row])
                if pod.priority <= self._level
                and pod.shape is not None
                and cluster.may_be_evicted(pod)
                and pod.uid not in self._staying
            ]
        return found

    def _amounts(self, shape: Shape) -> list[int]:
        """What a pod of a shape takes of the resources that the job asks for."""
        known = self._asked.get(shape)
        if known is None:
            asked = dict(zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True))
            known = self._asked[shape] = [asked.get(each, 0) for each in self._resources]
        return known

    def open_rows(self, shape: Shape, profile: Profile, member: PodRecord) -> Bools:
        """`[N]`: the nodes that could take one more, beside those who were promised room."""
        cluster = self._cluster
        accepted = placement.feasible(shape, cluster, profile)
        if cluster.nominated:
            with Trial(cluster.occupancy) as promised:
                if place_nominated(member, self._job, cluster, promised):
                    accepted = accepted & placement.feasible(shape, cluster, profile)
        return accepted


class _Shape:
    """The nodes for members of one shape, cheapest first."""

    def __init__(self, making: MakingRoom, shape: Shape, profile: Profile, member: PodRecord) -> None:
        self._making, self._shape, self.profile, self._member = making, shape, profile, member
        cluster = making._cluster  # noqa: SLF001 - two halves of one search
        self._ranks = cluster.nodes.ranks
        self._open = making.open_rows(shape, profile, member)
        # Where pods of the shape mind nothing but room, nodes do not depend on each other.
        self.is_simple = batch.slots(shape, cluster, profile) is not None
        self._stamps: dict[int, int] = {}
        self._heap: list[_Entry] = [self._entry(row, exact=self.is_simple) for row in self._open.nonzero()[0].tolist()]
        heapq.heapify(self._heap)

    def next_row(self) -> int | None:
        """The cheapest node that takes one more; it stays in the heap until `taken`."""
        if not self.is_simple:
            self._open = self._making.open_rows(self._shape, self.profile, self._member)
        while self._heap:
            _, _, row, stamp, exact = self._heap[0]
            if stamp != self._stamps.get(row, 0) or not self._open[row]:
                heapq.heappop(self._heap)
            elif not exact:
                heapq.heapreplace(self._heap, self._entry(row, exact=True))
            else:
                return row
        return None

    def taken(self, row: int) -> None:
        self._stamps[row] = self._stamps.get(row, 0) + 1
        if self.is_simple:
            self._open[row] = self._making.open_rows(self._shape, self.profile, self._member)[row]
        if self._open[row]:
            heapq.heappush(self._heap, self._entry(row, exact=self.is_simple))

    def price_again(self, row: int) -> None:
        if self._open[row]:
            self._stamps[row] = self._stamps.get(row, 0) + 1
            heapq.heappush(self._heap, self._entry(row, exact=self.is_simple))

    def _entry(self, row: int, *, exact: bool) -> _Entry:
        # A price by resources alone is never too high, so that it can wait for its turn before the filters are asked.
        price = self._making.price(row, self._shape, self.profile, exact=exact and not self.is_simple)
        return price, int(self._ranks[row]), row, self._stamps.get(row, 0), exact


def _by_shape(demand: Demand) -> list[list[PodRecord]]:
    """The members of a gang by shape, those that ask for most first."""
    found: dict[tuple[Shape | None, str], list[PodRecord]] = {}
    for member in demand.members:
        found.setdefault((member.shape, member.scheduler), []).append(member)
    return sorted(found.values(), key=lambda members: _size(members[0]), reverse=True)


def _size(member: PodRecord) -> tuple[int, ...]:
    return tuple(member.shape.scored.tolist()) if member.shape is not None else ()


def _subtract(spare: list[int], asked: list[int]) -> None:
    for i, want in enumerate(asked):
        spare[i] -= want
