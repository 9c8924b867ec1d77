"""Placing a job's members one after another where the victims cost least, on a trial, so that they see each other.

The price of a node is what its victims (`minimise.py`) cost beyond those chosen so far. The cheapest node is taken, its
victims leave in the trial and the member takes its place there. Prices are kept in a heap. One that may have fallen,
because a job has been touched or broken, is computed anew at once; one that may have risen, when its turn comes.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from koordpy.plan.filters.node_resources_fit import NodeResourcesFit
from koordpy.plan.framework.answers import Placement
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.framework.plugins import Filter
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.plan.placement.absence import put_back, take_off
from koordpy.plan.placement.pods import refused_without_asking
from koordpy.plan.preemption.cost import Ledger
from koordpy.plan.preemption.minimise import Guest, Minimiser
from koordpy.plan.preemption.removal import bound_to_stay, cannot_go_whole, take_off_all
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Reach
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial

# As a Cost, but for one more field in the middle: of jobs that are touched anyway, the one that could give more room.
_Price = tuple[float, ...]
_Entry = tuple[_Price, int, int, int, int]  # price, rank of the node, row, stamp, version of the search
_NOT_ASKED = -1  # as a version: by room alone, which is never too dear; the filters are asked when its turn comes


class CandidateSearch:
    """One search, among the evictable pods within a reach."""

    def __init__(self, job: Job, cluster: Cluster, profiles: Mapping[str, Profile], trial: Trial, reach: Reach) -> None:
        self.job, self.cluster, self.reach = job, cluster, reach
        self._profiles, self._trial = profiles, trial
        self.ledger = Ledger(cluster)
        asked = {row for member in job.members if member.shape is not None for row in member.shape.rows.tolist()}
        self._minimiser = Minimiser(cluster, self.ledger, sorted(asked))
        self._staying = bound_to_stay(reach, cluster)
        self._limited = {gang.id for gang in cannot_go_whole(reach, cluster)}
        self.room = _room_without(reach, job, cluster, profiles)
        self._places: dict[int, _Place] = {}  # by row of the node
        self._rows_by_job: defaultdict[str, list[int]] = defaultdict(list)  # where each of its candidates is
        self._placements: list[Placement] = []
        self._left = 0  # members to be placed
        self.version = 0  # counts the members placed: prices of before may be too low

    def place_all(self) -> list[Placement] | None:
        """A node for every member that is needed, those that ask for most first; None when they do not fit."""
        demands = self.job.demands or (Demand("", len(self.job.members), 0, "Strict", self.job.members),)
        left = {demand.key: demand.needed for demand in demands}
        self._left = sum(left.values())
        for demand, members in _by_shape(demands):
            left[demand.key] -= self._place_some(members, left[demand.key])
        return None if any(each > 0 for each in left.values()) else self._placements

    def _place_some(self, members: list[PodRecord], wanted: int) -> int:
        shape, profile = members[0].shape, self._profiles[members[0].scheduler]
        if shape is None or wanted <= 0 or refused_without_asking(members[0], shape, self.cluster, profile) is not None:
            return 0  # a claim that is not there, for example: no eviction can help with that
        filling = _Filling(self, Guest(shape, profile))
        placed = 0
        for member in members[:wanted]:
            row = filling.next_row()
            if row is None:
                break
            cheaper = self._take(row, member, filling)
            filling.taken(row, cheaper)
            placed += 1
        return placed

    def _take(self, row: int, member: PodRecord, filling: _Filling) -> set[int]:
        """Returns the rows where prices may have fallen by this."""
        leaving = self.leavers(row, filling.guest, exact=filling.is_exact(row))
        assert leaving is not None
        before = {pod.uid: self.ledger.standing(pod) for pod in leaving}
        off = self._leave(row, leaving)
        self.place(row).guests.append(filling.guest)
        self._trial.place(row, filling.guest.shape)
        self._placements.append(Placement(member.uid, self.cluster.nodes.names[row]))
        self.version += 1
        self._left -= 1
        changed = [pod for pod in off if self.ledger.standing(pod) != before[pod.uid]]
        rows = {row for pod in changed for row in self._rows_by_job[pod.job]}
        return rows | self._take_along(off)

    # --- who leaves ---

    def leavers(self, row: int, new: Guest | None, *, exact: bool) -> list[PodRecord] | None:
        place = self.place(row)
        return self._minimiser.leavers(row, place.candidates, place.chosen, place.guests, new, exact=exact)

    def price(self, row: int, guest: Guest, *, exact: bool) -> _Price | None:
        """What one more guest would cost there; None when it does not fit."""
        leaving = self.leavers(row, guest, exact=exact)
        if leaving is None:
            return None
        place = self.place(row)
        chosen = place.chosen
        if place.is_of_lone:
            lone = self.ledger.marginal_of_lone([pod for pod in leaving if pod not in chosen] if chosen else leaving)
            return *lone[:4], 0, *lone[4:]
        here = [pod for pod in leaving if pod not in chosen] if chosen else leaving
        if self._limited and any(gang.id in self._limited for gang in self.ledger.taken_along(here)):
            return None
        cost = self.ledger.marginal_with_gangs(here)
        jobs = {pod.job for pod in here if not self.ledger.standing(pod)[0]} if self._left > 1 else ()
        others = sum(len(self._rows_by_job[job]) for job in jobs) - len(here)
        return *cost[:4], -max(0, min(others, self._left - 1)), *cost[4:]

    def _leave(self, row: int, leaving: list[PodRecord]) -> list[PodRecord]:
        """These leave a node now, and nobody else does of those who may; returns those who stayed before."""
        place = self.place(row)
        back = [pod for pod in place.chosen if pod not in leaving]
        off = [pod for pod in leaving if pod not in place.chosen]
        self.ledger.remove(back)
        put_back(back, self.cluster, self._trial)
        self.ledger.add(off)
        take_off(off, self.cluster, self._trial)
        place.chosen = leaving
        return off

    def _take_along(self, victims: list[PodRecord]) -> set[int]:
        """The rest of a gang that goes as a whole goes for good; where members have a place already, fewer need to."""
        rows: set[int] = set()
        for gang in self.ledger.overspent(victims):
            for pod in gang.bound.values():
                row = self.cluster.nodes.row_of(pod.node)
                if row is None:
                    self.ledger.add((pod,))  # its node is gone; it goes with the others all the same
                else:
                    self._goes_for_good(pod, self.place(row))
                    rows.add(row)
        found = set(rows)
        for row in rows:
            if self.place(row).chosen:
                fewer = self.leavers(row, None, exact=True)
                if fewer is not None:
                    found |= self._take_along(self._leave(row, fewer))
        return found

    def _goes_for_good(self, pod: PodRecord, place: _Place) -> None:
        if pod not in place.chosen and pod in place.candidates:
            self.ledger.add((pod,))
            take_off((pod,), self.cluster, self._trial)
        place.candidates = [each for each in place.candidates if each is not pod]
        place.chosen = [each for each in place.chosen if each is not pod]

    def place(self, row: int) -> _Place:
        found = self._places.get(row)
        if found is None:
            candidates = self._candidates(row)
            jobs = [pod.job for pod in candidates]
            # Most pods belong to nobody; what they cost can be told without looking at who else leaves.
            is_of_lone = not len(self.cluster.budgets) and all(
                job == pod.uid for job, pod in zip(jobs, candidates, strict=True)
            )
            found = self._places[row] = _Place(candidates, [], [], is_of_lone)
            for job in jobs if not is_of_lone else ():
                self._rows_by_job[job].append(row)
        return found

    def _candidates(self, row: int) -> list[PodRecord]:
        cluster = self.cluster
        return [
            pod
            for pod in cluster.pods_on(cluster.nodes.names[row])
            if self.reach.covers(pod)
            and pod.shape is not None
            and cluster.evictions.may_be_evicted(pod)
            and pod.uid not in self._staying
        ]


@dataclass(slots=True)
class _Place:
    """A node, as far as the search has got."""

    candidates: list[PodRecord]  # who may be evicted
    chosen: list[PodRecord]  # who is
    guests: list[Guest]  # members placed there
    is_of_lone: bool  # every candidate is a job of its own


class _Filling:
    """The nodes for members of one shape, cheapest first."""

    def __init__(self, search: CandidateSearch, guest: Guest) -> None:
        self._search, self.guest = search, guest
        self._ranks = search.cluster.nodes.ranks
        self._stamps: dict[int, int] = {}
        self._minds_others = _minds_others(guest, search.cluster)
        self._refused: Bools | None = None  # [N]: where something else than room is in the way
        self._closed: set[int] = set()  # rows that were asked in vain
        self._open = self._open_rows()
        rows: list[int] = self._open.nonzero()[0].tolist()
        for row in rows:
            search.place(row)  # the price of one depends on who is on the others
        self._heap = [entry for row in rows if (entry := self._first_entry(row))]
        heapq.heapify(self._heap)

    def is_exact(self, row: int) -> bool:
        """Evictions there may change what other filters say than the one that counts room."""
        return self._minds_others or (self._refused is not None and bool(self._refused[row]))

    def next_row(self) -> int | None:
        """The cheapest node that takes one more."""
        while self._heap:
            price, rank, row, stamp, version = self._heap[0]
            if stamp != self._stamps.get(row, 0):
                heapq.heappop(self._heap)
                continue
            if version == self._search.version:
                return row
            now = self._search.price(row, self.guest, exact=self.is_exact(row))
            if now is None:
                heapq.heappop(self._heap)
                self._closed.add(row)
            elif now > price or version == _NOT_ASKED:
                heapq.heapreplace(self._heap, (now, rank, row, stamp, self._search.version))
            else:
                return row
        return None

    def taken(self, row: int, cheaper: set[int]) -> None:
        """A member has its place; what that changes for the next one."""
        if not self._minds_others:
            again = cheaper | {row}
        else:
            known, self._open = self._open, self._open_rows()
            again = cheaper | self._closed | {row} | set((self._open & ~known).nonzero()[0].tolist())
            self._closed.clear()
        for each in again:
            self._stamps[each] = self._stamps.get(each, 0) + 1
            entry = self._first_entry(each) if self._open[each] else None
            if entry is not None:
                heapq.heappush(self._heap, entry)

    def _first_entry(self, row: int) -> _Entry | None:
        search = self._search
        price = search.price(row, self.guest, exact=False)
        version = _NOT_ASKED if self.is_exact(row) else search.version
        return (price, int(self._ranks[row]), row, self._stamps.get(row, 0), version) if price is not None else None

    def _open_rows(self) -> Bools:
        """`[N]`: the nodes that could take one, were everybody gone who may be evicted there."""
        cluster, guest = self._search.cluster, self.guest
        accepted = fit.static_mask(guest.shape, cluster, guest.profile) & self._search.room[guest]
        if not self._search.job.demands:
            # As in kube-scheduler; among the members of a gang, one may be what another lacks.
            accepted = accepted & ~fit.hopeless(guest.shape, cluster, guest.profile)
        self._refused = _refused_by_others(guest, cluster)
        if self._refused is None:
            return accepted
        movable = np.zeros_like(accepted)
        for each in cluster.evictions.evictable.counts(self._search.reach.classes):
            movable[each.rows] = True
        return accepted & (movable | ~self._refused)


def _room_without(reach: Reach, job: Job, cluster: Cluster, profiles: Mapping[str, Profile]) -> dict[Guest, Bools]:
    """`[N]` for each kind of member: whether there is room for one, were every pod within reach gone."""
    guests = {Guest(each.shape, profiles[each.scheduler]) for each in job.members if each.shape is not None}
    with Trial(cluster.occupancy) as trial:
        take_off_all(reach, cluster, trial)
        return {guest: _has_room(guest, cluster) for guest in guests}


def _has_room(guest: Guest, cluster: Cluster) -> Bools:
    """`[N]`: as the profile counts room."""
    found = cluster.nodes.live
    for each in guest.profile.filters:
        mask = each.passes(guest.shape, cluster) if _counts_room(each) else None
        if mask is not None:
            found = found & mask
    return found


def _asked_others(guest: Guest, cluster: Cluster) -> Iterator[tuple[Filter, Bools]]:
    """What the filters say that look at other pods, and not at room."""
    for each in guest.profile.filters:
        mask = each.passes(guest.shape, cluster) if not each.static and not _counts_room(each) else None
        if mask is not None:
            yield each, mask


def _refused_by_others(guest: Guest, cluster: Cluster) -> Bools | None:
    """`[N]`: the nodes that such a filter refuses; None: there is none."""
    masks = [mask for _, mask in _asked_others(guest, cluster)]
    return ~np.logical_and.reduce(masks) if masks else None


def _minds_others(guest: Guest, cluster: Cluster) -> bool:
    """Whether more than room can depend on who else is there, members of the job included."""
    counting = [each for each in guest.profile.filters if _counts_room(each)]
    if len(counting) != 1 or counting[0].ignores_some:
        return True  # what is arithmetic here would not be what it counts
    return any(not each.steady(guest.shape, cluster) for each, _ in _asked_others(guest, cluster))


def _counts_room(each: Filter) -> TypeGuard[NodeResourcesFit]:
    return isinstance(each, NodeResourcesFit)


def _by_shape(demands: Iterable[Demand]) -> list[tuple[Demand, list[PodRecord]]]:
    """The members of each gang by shape, those that ask for most first."""
    found: dict[tuple[str, Shape | None, str], tuple[Demand, list[PodRecord]]] = {}
    for demand in demands:
        for member in demand.members:
            key = (demand.key, member.shape, member.scheduler)
            found.setdefault(key, (demand, []))[1].append(member)
    return sorted(found.values(), key=lambda batch: _size(batch[1][0]), reverse=True)


def _size(member: PodRecord) -> tuple[int, ...]:
    return tuple(member.shape.scored.tolist()) if member.shape is not None else ()
