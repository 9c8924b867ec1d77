"""What a job may reach: all of it taken off in a trial, and the gangs that cannot go as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from koordpy.plan.placement.absence import put_back
from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Reach
from koordpy.state.gangs.gang import Gang
from koordpy.state.trial import Trial


def take_off_all(reach: Reach, cluster: Cluster, trial: Trial) -> None:
    """Every evictable pod within reach leaves, but for gangs that would have to go as a whole and cannot.

    Of a gang that can spare some members and not all, all leave here: whoever searches must ask how many may.
    """
    trial.place_counts(cluster.evictions.evictable.by_shape(reach.classes), -1)
    staying = (cluster.pods[uid] for uid in bound_to_stay(reach, cluster))
    put_back((pod for pod in staying if cluster.evictions.may_be_evicted(pod) and reach.covers(pod)), cluster, trial)


def cannot_go_whole(reach: Reach, cluster: Cluster) -> Iterator[Gang]:
    """Gangs that a job reaches, that may not lose all who run, and that are not content to lose some."""
    for gang in cluster.gangs:
        if not gang.bound or not any(each in reach for each in gang.eviction_classes):
            continue
        if gang.expendable < len(gang.bound) and not cluster.evictions.may_go_whole(gang, reach):
            yield gang


def bound_to_stay(reach: Reach, cluster: Cluster) -> set[str]:
    """UIDs of members that may not go: their gang cannot go as a whole, and can spare nobody."""
    gangs = (gang for gang in cannot_go_whole(reach, cluster) if not gang.expendable)
    return {uid for gang in gangs for uid in gang.bound}
