"""The earliest time at which a job fits as a whole, when everything that runs ends as declared.

The ends of pods are put in order, and the job is planned as if all pods up to some end were gone. The more are gone the
more room there is, so the first end that suffices is found by bisection. It begins where the requests of the job's
members fit beside each other (`room.py`): mostly that is the answer, and of 50,000 ends one is planned and not 16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gangs import Profiles
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.reservations.departures import Departures
from koordpy.plan.reservations.ends import End
from koordpy.plan.reservations.room import fewest_ends
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

Planner = Callable[[Job], Plan | Refusal]


@dataclass(frozen=True, slots=True)
class Start:
    """When a job can start, and where."""

    at: float  # by the wall clock
    placements: tuple[Placement, ...]


def earliest_start(
    job: Job, ends: Sequence[End], now: float, *, plan: Planner, cluster: Cluster, profiles: Profiles
) -> Start | None:
    """None: not even when all of these have ended. The state is left as it was."""
    departures = Departures(ends, cluster)
    times = departures.times()
    low, high = 0, len(times)  # the answer, as an index into times, is in [low, high)
    gone = fewest_ends(job, departures, cluster, profiles)
    if gone:
        low = int(np.searchsorted(times, departures.at(gone - 1))) if gone <= len(departures) else high
    found: Start | None = None
    middle = low
    while low < high:
        at = float(times[middle])
        answer = _plan_at(at, job, departures, plan, cluster)
        if is_whole(answer):
            found, high = Start(max(at, now), answer.placements), middle
        else:
            low = middle + 1
        middle = (low + high) // 2
    return found


def fits_beside(
    job: Job,
    at: float,
    others: Iterable[tuple[PodRecord, str]],
    ends: Sequence[End],
    *,
    plan: Planner,
    cluster: Cluster,
) -> bool:
    """Whether a job still fits then, with others on the nodes that they would be given now."""
    with Trial(cluster.occupancy) as trial:
        for pod, node in others:
            row = cluster.nodes.row_of(node)
            if row is not None and pod.shape is not None:
                trial.place(row, pod.shape)
        return is_whole(_plan_at(at, job, Departures(ends, cluster), plan, cluster))


def _plan_at(at: float, job: Job, departures: Departures, plan: Planner, cluster: Cluster) -> Plan | Refusal:
    with Trial(cluster.occupancy) as trial:
        departures.take_off(departures.left_by(at), trial)
        return plan(job)
