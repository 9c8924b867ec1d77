"""Who of the running pods may be evicted, by whom, and who is on the way out.

Says whether, and never who: victims are chosen in `plan/preemption/`, by classes of the eviction policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from koordpy.state.evictable import Evictable
from koordpy.state.eviction import EvictionPolicy, Preemptor, Reach, reach_of
from koordpy.state.gangs.gang import Gang
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.options import ClusterOptions
from koordpy.state.pods import PodRecord


class Evictions:
    """Of one cluster state, which tells it of every pod that comes to a node, leaves one, or terminates there."""

    def __init__(self, options: ClusterOptions, nodes: NodeColumns) -> None:
        self.policy: EvictionPolicy = options.eviction_policy
        self.evictable = Evictable(in_use=options.evictions)
        self.leaving: dict[str, PodRecord] = {}  # by UID: pods on nodes that are terminating, victims or not
        self._protected_namespaces = options.protected_namespaces
        self._nodes = nodes
        self._refusing: set[str] = set()  # UIDs of pods that the API server would not let us evict

    # --- questions ---

    def may_be_evicted(self, record: PodRecord) -> bool:
        """By a job that is entitled to."""
        if record.uid in self._refusing:
            return False
        return record.evictable and record.namespace not in self._protected_namespaces

    def may_go_whole(self, gang: Gang, reach: Reach) -> bool:
        """Whether a job may evict all members of a gang that run."""
        if gang.id in reach.own or not gang.goes_whole_within(reach):
            return False
        if any(uid in gang.bound for uid in self._refusing):
            return False
        return gang.id.partition("/")[0] not in self._protected_namespaces

    def reach(self, preemptor: Preemptor) -> Reach:
        """The eviction classes that a job may take from, of those that there are evictable pods of."""
        return reach_of(preemptor, self.policy, self.evictable.classes)

    def leaving_for(self, preemptor: Preemptor) -> list[PodRecord]:
        """Terminating pods that a job may take the room of: they are as good as gone, and not evicted again."""
        may_take = self.policy.may_take
        return [pod for pod in self.leaving.values() if may_take(preemptor, pod.eviction_class)]

    def yields(self, pod: PodRecord, preemptor: Preemptor) -> bool:
        """Whether what is merely kept for a pod, by nomination or at Permit, may be taken by a job."""
        return self.policy.goes_before(preemptor, Preemptor(pod.priority, pod.queue))

    def is_new_victim(self, known: PodRecord | None, record: PodRecord) -> bool:
        """Jobs may have been refused because this pod could not be evicted."""
        if not self.evictable.in_use or not self.may_be_evicted(record):
            return False
        return known is None or known.node != record.node or not self.may_be_evicted(known)

    @contextmanager
    def shielded(self, pods: Iterable[PodRecord]) -> Iterator[None]:
        """As if the API server would not let us evict these, while victims are searched."""
        found = [pod for pod in pods if pod.uid not in self._refusing]
        for record in found:
            self.refuse(record)
        try:
            yield
        finally:
            for record in found:
                self.refuse(record, refused=False)

    # --- what the cluster state tells ---

    def count(self, record: PodRecord, times: int) -> None:
        """A pod came to a node that is known, or left it."""
        row = self._nodes.row_of(record.node)
        if row is not None and record.shape is not None and self.may_be_evicted(record):
            self.evictable.move(record.eviction_class, record.shape, row, times)

    def refuse(self, record: PodRecord, *, refused: bool = True) -> None:
        """The API server refuses the eviction of a pod, whatever its labels say; or not any more."""
        self.count(record, -1)
        self._refusing.add(record.uid) if refused else self._refusing.discard(record.uid)
        self.count(record, 1)

    def gone(self, uid: str) -> None:
        """A pod is gone."""
        self.leaving.pop(uid, None)
        self._refusing.discard(uid)

    def recount(self, pods: Mapping[str, PodRecord]) -> None:
        """Nothing is counted until each pod is counted anew."""
        self.evictable.clear()
        self.leaving = {uid: pod for uid, pod in pods.items() if pod.terminating and pod.bound}
