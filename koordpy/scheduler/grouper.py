"""Whether a grouper is installed, how it does, and which workloads start pod by pod because there is none.

The grouper's lease says so. While it exists, pods whose owner could be a gang wait to be grouped, also if the grouper
is down: started before that, they would start in pieces. Only a lease in the namespace of our own counts: with one in
theirs, tenants could hold back everybody's pods.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from koordpy.api.coordination import Lease
from koordpy.api.keys import PODGROUPER
from koordpy.api.meta import ObjectMeta
from koordpy.api.pod import Pod
from koordpy.api.times import instant_of_seconds, seconds_of_instant
from koordpy.kube.writes import ObjectRef
from koordpy.scheduler.report.reporter import Reporter
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord

LEASE = PODGROUPER
# Kinds of which every job is a gang, and whose pods they own themselves.
GANG_KINDS = {"PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob", "MPIJob", "RayCluster"}


class _Labelled(NamedTuple):
    """A gang kind whose pods belong to Jobs or StatefulSets between; its operator labels them with whose they are."""

    api_version: str
    kind: str
    name: str  # the label with the name of the workload
    uid: str  # the one with its UID, where there is one


# The pods of a TrainJob are those of its JobSet, which has its name.
LABELLED = (
    _Labelled("jobset.x-k8s.io/v1alpha2", "JobSet", "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/jobset-uid"),
    _Labelled("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkerset.sigs.k8s.io/name", ""),
)

_MISSED_RENEWALS = 3  # of a third of the lease's duration each
_DEFAULT_DURATION_S = 15
_CLOCKS_DIFFER_S = 60.0
_PATIENCE_S = 5.0  # a grouper that is being installed makes its lease within that time
_MOST_WORKLOADS = 10_000  # remembered, so as not to be told twice
_AT_ONCE = 20  # warnings in one turn of the loop


class Grouper:
    """The sink of the watch of the grouper's lease, and a timer."""

    def __init__(
        self,
        cluster: Cluster,
        reporter: Reporter,
        schedulers: Collection[str],
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._cluster, self._reporter, self._clock, self._wall = cluster, reporter, clock, wall
        self._schedulers = frozenset(schedulers)
        self._lease: Lease | None = None
        self._down_at: float | None = None  # when it counts as down, unless it renews its lease before
        self._ungrouped: dict[ObjectRef, tuple[float, str]] = {}  # workload -> when, and by whose name to warn
        self._warned: dict[ObjectRef, None] = {}  # oldest first

    # --- the lease ---

    def upsert(self, lease: Lease) -> None:
        """The grouper renewed its lease, gave it up, or is new."""
        is_first, self._lease = self._lease is None, lease
        duration_s = lease.spec.lease_duration_seconds or _DEFAULT_DURATION_S
        is_old = is_first and self._wall() - _renewed(lease) > duration_s + _CLOCKS_DIFFER_S
        if is_old or not lease.spec.holder_identity:
            self._is_down()
            return
        self._down_at = self._clock() + duration_s * (1 + 1 / _MISSED_RENEWALS)
        self._ungrouped.clear()
        self._cluster.set_grouper("waiting to be grouped")

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - there is one
        """The grouper was uninstalled: nobody waits for it."""
        self._lease = self._down_at = None
        self._cluster.set_grouper("")

    def _is_down(self) -> None:
        assert self._lease is not None
        self._down_at = None
        since = instant_of_seconds(_renewed(self._lease))
        self._cluster.set_grouper(f"waiting to be grouped; the grouper is down since {since} (koordpy controllers)")

    # --- workloads that nobody groups ---

    def look_at_pod(self, pod: Pod, record: PodRecord) -> None:
        """A pod without a node appeared or changed."""
        if self._lease is not None or not record.groupable or record.gang or record.scheduler not in self._schedulers:
            return
        workload = _workload_of(pod.metadata)
        if workload is not None and workload not in self._warned and workload not in self._ungrouped:
            self._ungrouped[workload] = (self._clock() + _PATIENCE_S, record.scheduler)

    # --- a timer ---

    def look_at(self, groups: Iterable[GangGroup]) -> None:
        """Gangs are no matter here."""

    def seconds_to_next(self) -> float | None:
        due = next((due for due, _ in self._ungrouped.values()), None)
        first = min((each for each in (self._down_at, due) if each is not None), default=None)
        return max(0.0, first - self._clock()) if first is not None else None

    def act(self) -> None:
        now, acted = self._clock(), 0
        if self._down_at is not None and self._down_at <= now:
            self._is_down()
        while self._ungrouped and acted < _AT_ONCE and next(iter(self._ungrouped.values()))[0] <= now:
            workload, (_, scheduler) = next(iter(self._ungrouped.items()))
            del self._ungrouped[workload]
            self._warn(workload, scheduler)
            acted += 1

    def clear(self) -> None:
        """Another term of leadership: what was said then may not have arrived."""
        self._warned.clear()

    def _warn(self, workload: ObjectRef, scheduler: str) -> None:
        self._warned[workload] = None
        if len(self._warned) > _MOST_WORKLOADS:
            del self._warned[next(iter(self._warned))]
        text = (
            f"the pods of this {workload.kind} are scheduled one by one: no grouper is installed (koordpy controllers)"
        )
        self._reporter.object_event(workload, "Warning", "NotGrouped", text, scheduler)


def _renewed(lease: Lease) -> float:
    return seconds_of_instant(lease.spec.renew_time) if lease.spec.renew_time else 0.0


def _workload_of(pod: ObjectMeta) -> ObjectRef | None:
    """The workload of a gang kind that a pod belongs to, as far as the pod says so itself."""
    for owner in pod.owner_references:
        if owner.kind in GANG_KINDS:
            return ObjectRef(owner.api_version, owner.kind, pod.namespace, owner.name, owner.uid)
    for each in LABELLED:
        if name := pod.labels.get(each.name):
            return ObjectRef(each.api_version, each.kind, pod.namespace, name, pod.labels.get(each.uid, ""))
    return None
