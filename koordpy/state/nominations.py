"""Nominations: the nodes that pending pods were nominated to, and that nobody of lower or equal priority may fill.

The scheduler decides a nomination before the API server has heard of it, and the watch may still show an older one.
Until the API server confirms it, our decision counts (`reconcile`). When leadership begins anew, what was decided and
never confirmed counts for nothing (`reset`): it may never have been sent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from koordpy.state.pods import PodRecord


class Nomination(NamedTuple):
    """A pod, and the node that is kept for it."""

    pod: PodRecord
    node: str
    start: float = 0.0  # seconds since the epoch from which on it is kept; 0: from now on


class Nominations:
    """Every nomination of a pod that may still use it, by pod, by node and by job."""

    def __init__(self) -> None:
        self._by_pod: dict[str, Nomination] = {}  # by UID
        self._by_node: defaultdict[str, dict[str, Nomination]] = defaultdict(dict)
        self._by_job: defaultdict[str, dict[str, Nomination]] = defaultdict(dict)
        self._unconfirmed: dict[str, tuple[str, float]] = {}  # UID -> node and start, until the API server says so
        self.ended = 0  # how often a pod lost its nomination, or needed it no more

    def __len__(self) -> int:
        return len(self._by_pod)

    def __iter__(self) -> Iterator[Nomination]:
        return iter(list(self._by_pod.values()))

    def __contains__(self, uid: object) -> bool:
        return uid in self._by_pod

    def on(self, node: str) -> list[Nomination]:
        """Those to one node."""
        return list(self._by_node.get(node, {}).values())

    def of(self, job: str) -> list[Nomination]:
        """Those of a gang's members, or of a single pod, by UID."""
        return list(self._by_job.get(job, {}).values())

    def decide(self, record: PodRecord, node: str, start: float = 0.0) -> str:
        """We nominate a pod, or not any more (""); returns the node that is not kept for it any more."""
        record.nominated_node = node
        self._unconfirmed[record.uid] = node, start
        return self.update(record)

    def reconcile(self, record: PodRecord) -> None:
        """The watch shows a pod: what it says of a nomination may be older than what we have decided."""
        decided = self._unconfirmed.get(record.uid)
        if decided is None:
            return
        if record.nominated_node == decided[0] or record.bound:
            del self._unconfirmed[record.uid]
        else:
            record.nominated_node = decided[0]

    def update(self, record: PodRecord) -> str:
        """Follow a pod: it keeps its nomination while it may be attempted. Returns the node that is kept no more."""
        before = self._remove(record.uid)
        node = record.nominated_node if record.schedulable else ""
        if node:
            start = before.start if before is not None and before.node == node else 0.0
            self._add(Nomination(record, node, self._unconfirmed.get(record.uid, ("", start))[1]))
        self.ended += before is not None and not node
        return before.node if before is not None and before.node != node else ""

    def remove(self, uid: str) -> str:
        """A pod is gone; returns the node that was kept for it."""
        self._unconfirmed.pop(uid, None)
        before = self._remove(uid)
        self.ended += before is not None
        return before.node if before is not None else ""

    def reset(self, pods: dict[str, PodRecord]) -> None:
        """Only what the API server says counts from here on."""
        unconfirmed, self._unconfirmed = self._unconfirmed, {}
        for uid in unconfirmed:
            record = pods.get(uid)
            if record is not None:
                record.nominated_node = record.nominated_seen
                self.update(record)

    def recount(self, pods: dict[str, PodRecord]) -> None:
        """Index anew, from the pods alone."""
        for index in (self._by_pod, self._by_node, self._by_job):
            index.clear()
        for record in pods.values():
            self.update(record)

    def _add(self, nomination: Nomination) -> None:
        uid = nomination.pod.uid
        self._by_pod[uid] = nomination
        self._by_node[nomination.node][uid] = nomination
        self._by_job[_job(nomination.pod)][uid] = nomination

    def _remove(self, uid: str) -> Nomination | None:
        before = self._by_pod.pop(uid, None)
        if before is not None:
            for index, key in ((self._by_node, before.node), (self._by_job, _job(before.pod))):
                del index[key][uid]
                if not index[key]:
                    del index[key]
        return before


def _job(pod: PodRecord) -> str:
    return pod.gang or pod.uid
