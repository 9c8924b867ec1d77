"""When running pods end, as far as anybody has declared it.

A pod ends at its start plus its run time. It starts when its node began with it; before a node has said so, when it was
bound; and never after now, whatever the clock of its node says. Past its end nothing is known about a pod. One that
terminates ends when its grace period does, and from then on at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import NamedTuple

from koordpy.plan.framework.job import Job
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord

NEVER = float("inf")
_AT = attrgetter("at")


class End(NamedTuple):
    """When one pod leaves its node, by the wall clock."""

    at: float
    pod: PodRecord
    learnt: bool = False  # nobody has declared it: others like it took so long


def run_time(pod: PodRecord, cluster: Cluster) -> float | None:
    """What is declared for a pod, in seconds: its own annotation, its gang's object, its deadline."""
    if pod.run_time_s is not None:
        return pod.run_time_s
    gang = cluster.gangs.get(pod.gang) if pod.gang else None
    if gang is not None and gang.spec.run_time_s is not None:
        return gang.spec.run_time_s
    return pod.deadline_s


def run_time_of(members: Iterable[PodRecord], cluster: Cluster) -> float | None:
    """Of a job: the longest of its members'; None if one of them declares none."""
    times = [run_time(member, cluster) for member in members]
    known = [each for each in times if each is not None]
    return max(known) if known and len(known) == len(times) else None


def end_of(pod: PodRecord, cluster: Cluster, now: float) -> float:
    """When a pod that runs will end; NEVER if nothing is known, or not any more."""
    seconds = run_time(pod, cluster)
    declared = started_at(pod, now) + seconds if seconds is not None else NEVER
    if pod.terminating:
        return max(now, min(declared, pod.gone_by))
    return declared if declared > now else NEVER


def started_at(pod: PodRecord, now: float) -> float:
    """When a pod began that runs, by the wall clock."""
    start = max(pod.started, pod.bound_at)
    return start if start and start < now else now


def ends_of(
    job: Job, cluster: Cluster, now: float, guess: Callable[[PodRecord, float], float | None] | None = None
) -> tuple[list[End], list[PodRecord]]:
    """Pods of others that will end, the first to end first; and those of which nobody knows when.

    `guess` is the run time of a pod that declares none and has run for so many seconds, or None.
    """
    own, known = job.gangs, list[End]()
    unknown: list[PodRecord] = []
    for pod in cluster.pods.values():
        if not pod.node or pod.uid in job.by_uid or pod.gang in own:
            continue
        at = end_of(pod, cluster, now)
        if at != NEVER:
            known.append(End(at, pod))
            continue
        start = started_at(pod, now)
        seconds = guess(pod, now - start) if guess is not None else None
        if seconds is None:
            unknown.append(pod)
        else:
            known.append(End(start + seconds, pod, learnt=True))
    # Nothing depends on the order of those that end together: a job is planned as if all of them were gone.
    known.sort(key=_AT)
    return known, unknown
