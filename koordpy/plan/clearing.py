"""Pods taken off their nodes in a trial: everybody up to a priority at once, or some of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.shapes import Shape
from koordpy.cluster.trial import Trial
from koordpy.plan.victims import whole_gang


def take_off_all(level: int, cluster: Cluster, trial: Trial) -> None:
    """Everybody of at most this priority leaves, but for gangs that go as a whole and cannot."""
    for crowd in cluster.evictable.crowds(level):
        trial.place_all(crowd.rows, crowd.shape, -crowd.counts)
    staying = (cluster.pods[uid] for uid in bound_to_stay(level, cluster))
    put_back((pod for pod in staying if cluster.may_be_evicted(pod) and pod.priority <= level), cluster, trial)


def take_off(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial) -> None:
    _move(pods, cluster, trial, -1)


def put_back(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial) -> None:
    _move(pods, cluster, trial, 1)


def bound_to_stay(level: int, cluster: Cluster) -> set[str]:
    """Members of gangs that go as a whole, where some member may not go."""
    staying: set[str] = set()
    for gang in cluster.gangs:
        some = next(iter(gang.bound.values()), None)
        if some is None or whole_gang(some, cluster) is None:
            continue
        if not all(cluster.may_be_evicted(pod) and pod.priority <= level for pod in gang.bound.values()):
            staying |= gang.bound.keys()
    return staying


def _move(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial, count: int) -> None:
    """By shape and not one by one: a large preemption moves thousands of pods of a few shapes, several times."""
    rows: defaultdict[Shape, Counter[int]] = defaultdict(Counter)
    for pod in pods:
        row = cluster.nodes.row_of(pod.node)
        if row is not None and pod.shape is not None:
            rows[pod.shape][row] += count
    for shape, counts in rows.items():
        if len(counts) == 1:
            for row, number in counts.items():
                trial.place(row, shape, number)
        else:
            size = len(counts)
            trial.place_all(
                np.fromiter(counts.keys(), dtype=np.int64, count=size),
                shape,
                np.fromiter(counts.values(), dtype=np.int64, count=size),
            )
