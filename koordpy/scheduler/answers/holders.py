"""Who holds what a job lacks: running jobs with pods on nodes that it could use, the smallest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from heapq import nlargest, nsmallest
from itertools import islice
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


def holders_of(resources: Sequence[str], within: Bools, but_not: Collection[str], cluster: Cluster) -> list[Holder]:
    """Of these resources, on the nodes `within`, `[N]`; the keys of the job itself are left out. Smallest first.

    Without a resource that is missing, whoever is on those nodes. Of very many the smallest and the largest.
    """
    search = _Search(resources, within, cluster)
    of_gangs: defaultdict[str, list[PodRecord]] = defaultdict(list)  # by gang
    for record in cluster.pods.values():
        if record.gang and record.node:
            of_gangs[record.gang].append(record)
        elif record.node and record.uid not in but_not:
            search.consider_pod(record)
    jobs: defaultdict[str, list[PodRecord]] = defaultdict(list)  # by key
    for gang, pods in of_gangs.items():
        jobs[key_of(cluster.gangs.group_of(gang))] += pods
    for key in but_not:
        jobs.pop(key, None)
    for pods in jobs.values():
        search.consider(pods)
    return search.smallest_and_largest()


class _Found(NamedTuple):
    key: str  # of its first pod
    pods: list[PodRecord]
    here: list[PodRecord]  # on nodes that could be used


class _Search:
    """Looks at each of many thousand jobs, and remembers what nodes and shapes say: they are few."""

    def __init__(self, resources: Sequence[str], within: Bools, cluster: Cluster) -> None:
        self._resources, self._within, self._cluster = resources, within, cluster
        self._usable: dict[str, bool] = {}  # by node
        self._amounts: dict[Shape, tuple[int, ...]] = {}
        self._found: defaultdict[tuple[tuple[int, ...], int], list[_Found]] = defaultdict(list)  # by amounts and pods

    def consider_pod(self, pod: PodRecord) -> None:
        """A job by itself: almost all are."""
        if self._is_here(pod) and pod.shape is not None:
            amounts, alone = self._amounts_of(pod.shape), [pod]
            if any(amounts) or not self._resources:
                self._found[amounts, 1].append(_Found(pod.key, alone, alone))

    def consider(self, pods: list[PodRecord]) -> None:
        """All pods of one job on nodes."""
        here = [pod for pod in pods if self._is_here(pod)]
        each = [self._amounts_of(pod.shape) for pod in here if pod.shape is not None]
        amounts = tuple(map(sum, zip(*each, strict=True)))
        if here and (any(amounts) or not self._resources):
            self._found[amounts, len(pods)].append(_Found(min(pod.key for pod in pods), pods, here))

    def _is_here(self, pod: PodRecord) -> bool:
        usable = self._usable.get(pod.node)
        if usable is None:
            row = self._cluster.nodes.row_of(pod.node)
            usable = self._usable[pod.node] = row is not None and bool(self._within[row])
        return usable and pod.shape is not None

    def _amounts_of(self, shape: Shape) -> tuple[int, ...]:
        amounts = self._amounts.get(shape)
        if amounts is None:
            amounts = tuple(amount_of(shape, resource, self._cluster) for resource in self._resources)
            self._amounts[shape] = amounts
        return amounts

    def smallest_and_largest(self) -> list[Holder]:
        """Only as many as are kept are put in order: those that hold as much as each other may be very many."""
        sizes = sorted(self._found)
        count = sum(map(len, self._found.values()))
        if count <= 2 * _MOST:
            return [self._holder(size, each) for size in sizes for each in sorted(self._found[size], key=_key)]
        first = ((size, each) for size in sizes for each in nsmallest(_MOST, self._found[size], _key))
        last = ((size, each) for size in reversed(sizes) for each in nlargest(_MOST, self._found[size], _key))
        kept = [*islice(first, _MOST), *reversed([*islice(last, _MOST)])]
        return [self._holder(size, each) for size, each in kept]

    def _holder(self, size: tuple[tuple[int, ...], int], found: _Found) -> Holder:
        return Holder(
            of_pod(found.pods[0], self._cluster).name,
            tuple(found.pods),
            size[0],
            tuple(sorted({pod.node for pod in found.here})),
            all(pod.terminating for pod in found.pods),
        )


def _key(found: _Found) -> str:
    return found.key
