"""Expected starts: the queue played forward, in the order of turns, on the ends of what runs.

Each job in turn gets a time from which on it fits beside those in front of it, on nodes and in its queue; they run for
as long as they declare. Where nothing is declared, what was learnt from earlier runs is used, and said. What is
submitted later is not known. The play is bounded in time, and says of the jobs that it did not get to that it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from typing import NamedTuple

from koordpy.api.answers import Certainty, Start
from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.absence import take_off
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.reservations.departures import Departures
from koordpy.plan.reservations.ends import NEVER, ends_of, run_time_of
from koordpy.plan.reservations.room import fewest_ends
from koordpy.scheduler.answers.amounts import instant
from koordpy.scheduler.answers.subjects import of_pod
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.queues.admission import Admission
from koordpy.scheduler.reservations.reservation import Reservation
from koordpy.scheduler.runtimes.learnt import LearntRunTimes
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

_BUDGET_S = 0.05  # of planning for one answer
_MOST_NAMES = 3
_TRIED_IN_TURN = 32  # times that are planned one after the other, before the rest is searched by halves

NOBODY_KNOWS = Start(time=None, certainty="Unknown", message="nobody knows when what it lacks will be there")
STOPPED = Start(time=None, certainty="Unknown", message="not worked out: there are too many jobs in front of it")


class _ToCome(NamedTuple):
    """A job that starts later, and is in the way of those behind it."""

    start: float
    end: float
    learnt: bool  # its start or its run time
    placed: tuple[tuple[PodRecord, str], ...]  # who is on which node

    def meets(self, at: float, until: float) -> bool:
        return self.start < until and at < self.end


class Forward:
    """The time to come, as far as it is known."""

    def __init__(
        self,
        planning: Planning,
        admission: Admission,
        now: float,
        learnt: LearntRunTimes,
        *,
        budget_s: float = _BUDGET_S,
    ) -> None:
        self._planning, self._cluster, self._admission = planning, planning.cluster, admission
        self._now, self._learnt = now, learnt
        self._ends, self._unknown = ends_of(Job("", ()), self._cluster, now, learnt.run_time)
        self._departures = Departures(self._ends, self._cluster)
        self._until = time.perf_counter() + budget_s  # of planning: what runs is looked at in any case
        self._said: str | None = None  # about ends that are not known
        self._to_come: list[_ToCome] = []

    def reserve(self, reservation: Reservation) -> None:
        """Nodes are kept for a job, whoever is in front of it by now."""
        start = reservation.start
        self._place(reservation.job, start.at, start.placements, learnt=False)

    def start_of(self, job: Job) -> tuple[Start, tuple[Placement, ...]]:
        """When the next job in turn starts, and where; from here on it is in the way of those behind it."""
        if time.perf_counter() >= self._until:
            return STOPPED, ()
        found = self._first(job)
        if found is None:
            return Start(time=None, certainty="Unknown", message=self._unknown_ends()), ()
        at, plan = found
        learnt = self._is_learnt(at)
        self._place(job, at, plan.placements, learnt=learnt)
        certainty: Certainty = "Estimated" if learnt else "Declared"
        return Start(time=instant(at), certainty=certainty, message=self._because(at)), plan.placements

    def _first(self, job: Job) -> tuple[float, Plan] | None:
        """The first time at which the job fits, and stays clear of those in front of it for as long as it runs.

        As pods end there is more and more room, and bisection would do. But whoever is in front starts later and takes
        room again: a job of a minute may fit now, and not in an hour. So the first times are tried one by one.
        """
        times = self._times(job)
        seconds, _ = self._run_time(job)
        one_by_one = _TRIED_IN_TURN if self._to_come else 1
        for at in times[:one_by_one]:
            answer = self._plan_at(at, at + seconds, job)
            if answer is not None and is_whole(answer):
                return at, answer
            if time.perf_counter() >= self._until:
                break
        return self._bisect(times[one_by_one:], seconds, job)

    def _times(self, job: Job) -> list[float]:
        """When there is more room than before, from the first on at which its requests fit at all."""
        gone = fewest_ends(job, self._departures, self._cluster, self._planning.profiles)
        if gone > len(self._departures):
            return []
        first = max(self._now, self._departures.at(gone - 1)) if gone else self._now
        times = {first, *(each.at for each in self._ends), *(each.end for each in self._to_come)}
        return sorted(at for at in times if first <= at < NEVER)

    def _bisect(self, times: list[float], seconds: float, job: Job) -> tuple[float, Plan] | None:
        """One at which it fits; the first, where room only grows."""
        low, high = 0, len(times)
        found: tuple[float, Plan] | None = None
        while low < high:
            middle = (low + high) // 2
            answer = self._plan_at(times[middle], times[middle] + seconds, job)
            if answer is not None and is_whole(answer):
                found, high = (times[middle], answer), middle
            else:
                low = middle + 1
        return found

    def _run_time(self, job: Job) -> tuple[float, bool]:
        """In seconds, and whether it was learnt."""
        declared = run_time_of(job.members, self._cluster)
        if declared is not None:
            return declared, False
        seen = self._learnt.run_time_of(job.members)
        return (seen, True) if seen is not None else (NEVER, False)

    def _place(self, job: Job, at: float, placements: Iterable[Placement], *, learnt: bool) -> None:
        seconds, by_learning = self._run_time(job)
        placed = tuple((job.by_uid[each.uid], each.node) for each in placements)
        self._to_come.append(_ToCome(at, at + seconds, learnt or by_learning, placed))

    def _plan_at(self, at: float, until: float, job: Job) -> Plan | Refusal | None:
        """None: its queue has no room. Those that start while the job would run are in its way from the beginning."""
        gone = [each.pod for each in self._ends if each.at <= at]
        there = [each for to_come in self._to_come if to_come.meets(at, until) for each in to_come.placed]
        with self._admission.with_changes(gone, (pod for pod, _ in there)):
            if self._admission.obstacle(job) is not None:
                return None
        with Trial(self._cluster.occupancy) as trial:
            take_off(gone, self._cluster, trial)
            for pod, node in there:
                row = self._cluster.nodes.row_of(node)
                if row is not None and pod.shape is not None:
                    trial.place(row, pod.shape)
            return self._planning.plan(job)

    def _is_learnt(self, at: float) -> bool:
        """Whether something that ends before then was learnt, and not declared."""
        ended = any(each.learnt for each in self._ends if each.at <= at)
        return ended or any(each.learnt for each in self._to_come if each.start <= at)

    def _because(self, at: float) -> str:
        """`when team-b/eval ends`."""
        last = [each for each in self._ends if each.at == at]
        if not last:
            return "there is room by now" if at == self._now else "when a job in front of it ends"
        name = of_pod(last[-1].pod, self._cluster).name
        return f"when {name} ends" + (", as earlier runs of it did" if last[-1].learnt else "")

    def _unknown_ends(self) -> str:
        """Said of every job that waits, and the same of all: ten thousand names are looked through once."""
        if self._said is None:
            names = {of_pod(pod, self._cluster).name if pod.gang else pod.key for pod in self._unknown}
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            said = f"the end of {', '.join(nsmallest(_MOST_NAMES, names))}{more} is not declared"
            self._said = said if names else NOBODY_KNOWS.message
        return self._said


def expected_starts(forward: Forward, jobs: Iterable[Job], reserved: Reservation | None) -> Mapping[str, Start]:
    """By the key of the job, in the order of turns."""
    found: dict[str, Start] = {}
    if reserved is not None:
        forward.reserve(reserved)
        at = instant(reserved.start.at)
        found[reserved.key] = Start(time=at, certainty="Reserved", message="nodes are reserved for it from then on")
    for job in jobs:
        if job.key not in found:
            found[job.key] = forward.start_of(job)[0]
    return found
