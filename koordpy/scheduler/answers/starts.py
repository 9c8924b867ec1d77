"""Expected starts: the queue played forward, in the order of turns, on the declared ends of what runs.

Each job in turn gets the earliest time at which it fits beside those in front of it, which run for as long as they
declare. What is submitted later is not known, and limits of queues are not played: such jobs have no expected start.
The play is bounded in time, and says of the jobs that it did not get to that it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from koordpy.api.answers import Start
from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.absence import take_off
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.reservations.ends import NEVER, ends_of, run_time_of
from koordpy.scheduler.answers.amounts import instant
from koordpy.scheduler.answers.subjects import of_pod
from koordpy.scheduler.planning import Planning
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

_BUDGET_S = 0.05  # of planning for one answer

STOPPED = Start(time=None, certainty="Unknown", message="not worked out: there are too many jobs in front of it")


class Forward:
    """The time to come, as far as it is declared."""

    def __init__(self, planning: Planning, now: float, budget_s: float = _BUDGET_S) -> None:
        self._planning, self._cluster, self._now = planning, planning.cluster, now
        self._until = time.perf_counter() + budget_s
        self._ends, self._unknown = ends_of(Job("", ()), self._cluster, now)
        self._to_come: list[tuple[float, float, tuple[tuple[PodRecord, str], ...]]] = []  # start, end, who is where

    def start_of(self, job: Job) -> tuple[Start, tuple[Placement, ...]]:
        """When the next job in turn starts, and where; from here on it is in the way of those behind it."""
        if time.perf_counter() >= self._until:
            return STOPPED, ()
        times = sorted({self._now, *(each.at for each in self._ends), *(end for _, end, _ in self._to_come)} - {NEVER})
        low, high = 0, len(times)
        found: tuple[float, Plan] | None = None
        while low < high:
            middle = (low + high) // 2
            answer = self._plan_at(times[middle], job)
            if is_whole(answer):
                found, high = (times[middle], answer), middle
            else:
                low = middle + 1
        if found is None:
            return Start(time=None, certainty="Unknown", message=self._unknown_ends()), ()
        at, plan = found
        self._place(job, at, plan)
        return Start(time=instant(at), certainty="Declared", message=self._because(at)), plan.placements

    def _place(self, job: Job, at: float, plan: Plan) -> None:
        seconds = run_time_of(job.members, self._cluster)
        placed = tuple((job.by_uid[each.uid], each.node) for each in plan.placements)
        self._to_come.append((at, at + seconds if seconds is not None else NEVER, placed))

    def _plan_at(self, at: float, job: Job) -> Plan | Refusal:
        with Trial(self._cluster.occupancy) as trial:
            take_off((each.pod for each in self._ends if each.at <= at), self._cluster, trial)
            for start, end, placed in self._to_come:
                for pod, node in placed if start <= at < end else ():
                    row = self._cluster.nodes.row_of(node)
                    if row is not None and pod.shape is not None:
                        trial.place(row, pod.shape)
            return self._planning.plan(job)

    def _because(self, at: float) -> str:
        """`when team-b/eval ends`."""
        last = [each for each in self._ends if each.at == at]
        if not last:
            return "there is room by now" if at == self._now else "when a job in front of it ends"
        return f"when {of_pod(last[-1].pod, self._cluster).name} ends"

    def _unknown_ends(self) -> str:
        names = sorted({of_pod(pod, self._cluster).name for pod in self._unknown})
        if not names:
            return "nobody knows when what it lacks will be there"
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"the end of {', '.join(names[:3])}{more} is not declared"


def expected_starts(jobs: Iterable[Job], planning: Planning, now: float) -> Mapping[str, Start]:
    """By the key of the job, in the order of turns."""
    forward = Forward(planning, now)
    return {job.key: forward.start_of(job)[0] for job in jobs}
