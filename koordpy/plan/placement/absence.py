"""Pods taken off their nodes in a trial: what would be if they were gone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial


def take_off(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial) -> None:
    """These leave their nodes."""
    _move(pods, cluster, trial, -1)


def put_back(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial) -> None:
    """These come back to them."""
    _move(pods, cluster, trial, 1)


def _move(pods: Iterable[PodRecord], cluster: Cluster, trial: Trial, sign: int) -> None:
    rows: defaultdict[Shape, Counter[int]] = defaultdict(Counter)
    for pod in pods:
        row = cluster.nodes.row_of(pod.node)
        if row is not None and pod.shape is not None:
            rows[pod.shape][row] += 1
    if rows:
        trial.place_counts(list(rows.items()), sign)
