"""Who has to leave one node for a pod, and who can be reprieved.

Everybody who may be evicted there is gone at first. Then they are put back in the order of importance, as long as the
pods that are to run there fit beside them; those that are left out have to leave. Mostly only room matters, which is
arithmetic; where evictions change what other filters say, these are asked each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.plan.placement.absence import take_off
from koordpy.plan.preemption.cost import Ledger, importance
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial


class Guest(NamedTuple):
    """A pod that is to run on the node."""

    shape: Shape
    profile: Profile


class Minimiser:
    """For the pods of one job; `resources` are the rows of what they ask for."""

    def __init__(self, cluster: Cluster, ledger: Ledger, resources: list[int]) -> None:
        self._cluster, self._ledger, self._resources = cluster, ledger, resources
        self._rows = np.array(resources, dtype=np.intp)  # [K]
        self._asked: dict[Shape, list[int]] = {}

    def leavers(
        self, row: int, candidates: list[PodRecord], chosen: list[PodRecord], guests: list[Guest], new: Guest | None,
        *, exact: bool,
    ) -> list[PodRecord] | None:  # fmt: skip
        """Who of the candidates leaves, if a new guest joins those that are counted there; None: it does not fit.

        Those chosen before are off the node already, the other candidates are on it. Not all of them need to go for
        good: `exact` asks the filters, otherwise it is room alone that counts.
        """
        there = [pod for pod in candidates if pod not in chosen] if chosen else candidates
        with self._ledger.without(chosen) if chosen else nullcontext():
            if exact:
                ways = self._by_filters(row, candidates, there, guests, new)
            else:
                ways = self._by_room(row, candidates, there, new)
            return min(ways, key=self._ledger.marginal_with_gangs) if len(ways) > 1 else next(iter(ways), None)

    # --- by room ---

    def _spare(self, row: int, there: list[PodRecord], new: Guest | None) -> list[int] | None:
        """What is left of each resource beside all guests when every candidate is gone."""
        nodes, asked = self._cluster.nodes, self._rows
        spare: list[int] = (nodes.allocatable[:, row][asked] - nodes.requested[:, row][asked]).tolist()
        for pod in there:
            _add(spare, self._amounts(pod.shape))
        if new is None:
            return spare
        wanted = self._amounts(new.shape)
        if not _fits(wanted, spare):
            return None
        _subtract(spare, wanted)
        return spare

    def _by_room(
        self, row: int, candidates: list[PodRecord], there: list[PodRecord], new: Guest | None
    ) -> list[list[PodRecord]]:
        spare = self._spare(row, there, new)
        if spare is None:
            return []
        if not any(_fits(self._amounts(shape), spare) for shape in {pod.shape for pod in candidates}):
            return [candidates]  # nobody can stay, in whatever order
        return [self._without_room(list(spare), order) for order in self._orders(candidates)]

    def _without_room(self, spare: list[int], order: list[PodRecord]) -> list[PodRecord]:
        leaving = []
        for pod in order:
            asked = self._amounts(pod.shape)
            if _fits(asked, spare):
                _subtract(spare, asked)
            else:
                leaving.append(pod)
        return leaving

    def _amounts(self, shape: Shape | None) -> list[int]:
        """What a pod of a shape takes of the resources that the job asks for."""
        assert shape is not None  # whoever has none is no candidate
        known = self._asked.get(shape)
        if known is None:
            asked = dict(zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True))
            known = self._asked[shape] = [asked.get(each, 0) for each in self._resources]
        return known

    # --- by asking ---

    def _by_filters(
        self, row: int, candidates: list[PodRecord], there: list[PodRecord], guests: list[Guest], new: Guest | None
    ) -> list[list[PodRecord]]:
        """Ports, affinity and volumes can be in the way too."""
        ways: list[list[PodRecord]] = []
        with Trial(self._cluster.occupancy) as trial:
            take_off(there, self._cluster, trial)
            if new is not None:
                trial.place(row, new.shape)
                guests = [*guests, new]
            if not self._all_fit(row, guests, trial):
                return ways
            for order in self._orders(candidates):
                mark = trial.mark()
                ways.append(self._not_put_back(row, order, guests, trial))
                trial.undo(mark)
        return ways

    def _not_put_back(self, row: int, order: list[PodRecord], guests: list[Guest], trial: Trial) -> list[PodRecord]:
        leaving = []
        for pod in order:
            mark = trial.mark()
            assert pod.shape is not None
            trial.place(row, pod.shape)
            if not self._all_fit(row, guests, trial):
                trial.undo(mark)
                leaving.append(pod)
        return leaving

    def _all_fit(self, row: int, guests: list[Guest], trial: Trial) -> bool:
        """Each guest would be let in if all the others were there before it."""
        for guest in dict.fromkeys(guests):
            mark = trial.mark()
            trial.place(row, guest.shape, -1)
            fits = bool(fit.feasible(guest.shape, self._cluster, guest.profile)[row])
            trial.undo(mark)
            if not fits:
                return False
        return True

    # --- in which order ---

    def _orders(self, candidates: list[PodRecord]) -> Iterator[list[PodRecord]]:
        """Whom to put back first. No order is always best: where budgets or jobs matter, more than one is tried."""
        ledger = self._ledger
        yield sorted(candidates, key=ledger.worth, reverse=True)
        if len(candidates) < 2:
            return
        violators = ledger.violators(sorted(candidates, key=importance))
        if violators:
            yield sorted(candidates, key=lambda pod: (pod.uid in violators, *ledger.worth(pod)), reverse=True)
        sizes = {pod.uid: self._goes_with(pod) for pod in candidates}
        if len(set(sizes.values())) > 1:  # better one pod than a gang of two, which breaks as one job too

            def by_size(pod: PodRecord) -> tuple[object, ...]:
                violates, priority, breaks, untouched, begun, key = ledger.worth(pod)
                return violates, priority, breaks, untouched, sizes[pod.uid], begun, key

            yield sorted(candidates, key=by_size, reverse=True)
        jobs = Counter(pod.job for pod in candidates)
        if len(jobs) < len(candidates):  # better two of one job than one of each of two

            def by_job(pod: PodRecord) -> tuple[object, ...]:
                violates, priority, breaks, untouched, begun, key = ledger.worth(pod)
                return violates, priority, breaks, untouched, -jobs[pod.job], pod.job, begun, key

            yield sorted(candidates, key=by_job, reverse=True)

    def _goes_with(self, pod: PodRecord) -> int:
        """How many pods may have to leave with it."""
        gang = self._cluster.gangs.get(pod.gang) if pod.gang else None
        return len(gang.bound) if gang is not None and not gang.expendable else 1


def _fits(asked: list[int], spare: list[int]) -> bool:
    """What is not asked for does not matter, even where there is less than nothing of it."""
    return all([have >= want or not want for have, want in zip(spare, asked, strict=True)])  # noqa: C419 - 2x faster


def _add(spare: list[int], asked: list[int]) -> None:
    for i, want in enumerate(asked):
        spare[i] += want


def _subtract(spare: list[int], asked: list[int]) -> None:
    for i, want in enumerate(asked):
        spare[i] -= want
