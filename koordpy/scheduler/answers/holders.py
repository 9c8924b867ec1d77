"""Who holds what a job lacks: running jobs with pods on nodes that it could use, the smallest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from koordpy.plan.placement.gang_rules import amount_of
from koordpy.scheduler.answers.amounts import exact
from koordpy.scheduler.answers.subjects import of_pod
from koordpy.scheduler.jobs import key_of
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape

_MOST = 100  # of the smallest, and of the largest


class Holder(NamedTuple):
    """A job, all of its pods on nodes, and what it holds there."""

    name: str
    pods: tuple[PodRecord, ...]
    amounts: tuple[int, ...]  # of the resources that are missing, on nodes that could be used
    nodes: tuple[str, ...]
    terminating: bool

    def holds(self, resources: Sequence[str]) -> dict[str, str]:
        """The same by name."""
        return {name: exact(name, amount) for name, amount in zip(resources, self.amounts, strict=True) if amount}


def holders_of(resources: Sequence[str], within: Bools, but_not: str, cluster: Cluster) -> list[Holder]:
    """Of these resources, on the nodes `within`, `[N]`; the key of the job itself is left out. Smallest first.

    Without a resource that is missing, whoever is on those nodes. Of very many the smallest and the largest.
    """
    jobs: defaultdict[str, list[PodRecord]] = defaultdict(list)  # by key
    keys: dict[str, str] = {}  # gang -> the key of its job
    for record in cluster.pods.values():
        if not record.node:
            continue
        if not record.gang:
            jobs[record.uid].append(record)
            continue
        key = keys.get(record.gang)
        if key is None:
            key = keys[record.gang] = key_of(cluster.gangs.group_of(record.gang))
        jobs[key].append(record)
    jobs.pop(but_not, None)
    found = []
    asked: dict[Shape, tuple[int, ...]] = {}
    for pods in jobs.values():
        here = [pod for pod in pods if pod.shape is not None and _is_within(pod, within, cluster)]
        if not here:
            continue
        for pod in here:
            if pod.shape is not None and pod.shape not in asked:
                asked[pod.shape] = tuple(amount_of(pod.shape, resource, cluster) for resource in resources)
        amounts = tuple(map(sum, zip(*(asked[pod.shape] for pod in here if pod.shape is not None), strict=True)))
        if any(amounts) or not resources:
            found.append((amounts, len(pods), min(pod.key for pod in pods), pods, here))
    found.sort(key=lambda each: each[:3])
    kept = found if len(found) <= 2 * _MOST else [*found[:_MOST], *found[-_MOST:]]
    return [
        Holder(
            of_pod(pods[0], cluster).name,
            tuple(pods),
            amounts,
            tuple(sorted({pod.node for pod in here})),
            all(pod.terminating for pod in pods),
        )
        for amounts, _, _, pods, here in kept
    ]


def _is_within(pod: PodRecord, within: Bools, cluster: Cluster) -> bool:
    row = cluster.nodes.row_of(pod.node)
    return row is not None and bool(within[row])
