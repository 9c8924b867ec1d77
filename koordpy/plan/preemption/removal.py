"""Pods taken off their nodes in a trial: all that a job may reach at once, or some of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from koordpy.plan.preemption.cost import whole_gang
from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Reach
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial


def take_off_all(reach: Reach, cluster: Cluster, trial: Trial) -> None:
    """Every evictable pod within reach leaves, but for gangs that go as a whole and cannot."""
    trial.place_counts(cluster.evictable.by_shape(reach.classes), -1)
    staying = (cluster.pods[uid] for uid in bound_to_stay(reach, cluster))
    put_back((pod for pod in staying if cluster.may_be_evicted(pod) and reach.covers(pod)), cluster, trial)


def take_off(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial) -> None:
    _move(pods, cluster, trial, -1)


def put_back(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial) -> None:
    _move(pods, cluster, trial, 1)


def bound_to_stay(reach: Reach, cluster: Cluster) -> set[str]:
    """UIDs of members of gangs that go as a whole, where some member may not go."""
    staying: set[str] = set()
    for gang in cluster.gangs:
        some = next(iter(gang.bound.values()), None)
        if some is None or whole_gang(some, cluster) is None:
            continue
        if not all(cluster.may_be_evicted(pod) and reach.covers(pod) for pod in gang.bound.values()):
            staying |= gang.bound.keys()
    return staying


def _move(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial, sign: int) -> None:
    rows: defaultdict[Shape, Counter[int]] = defaultdict(Counter)
    for pod in pods:
        row = cluster.nodes.row_of(pod.node)
        if row is not None and pod.shape is not None:
            rows[pod.shape][row] += 1
    if rows:
        trial.place_counts(list(rows.items()), sign)
