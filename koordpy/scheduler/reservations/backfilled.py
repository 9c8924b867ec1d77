"""Pods that were let in before a reserved start, because they declare to end by then.

Whoever is bound so carries an annotation with its bind, `koordpy.io/backfilled-until`: a scheduler that leads later
knows it too. Between the decision and the watch's word it is known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil

from koordpy.api.errors import MalformedValue
from koordpy.api.keys import BACKFILLED_UNTIL
from koordpy.api.times import instant_of_seconds, seconds_of_instant
from koordpy.plan.framework.job import Job
from koordpy.plan.reservations.ends import NEVER, End, end_of, ends_of, run_time
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord


class Backfilled:
    """Who was backfilled, and until when it may run."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._until: dict[str, float] = {}  # by UID, of this term of leadership
        self._away: set[str] = set()  # UIDs of pods that are supposed to have left

    def let_in(self, pods: Iterable[PodRecord], now: float) -> None:
        """They end before the reserved start, by their own declarations."""
        for pod in pods:
            self._until[pod.uid] = now + (run_time(pod, self._cluster) or 0.0)

    @contextmanager
    def without(self, pods: Iterable[PodRecord]) -> Iterator[None]:
        """In a trial that has taken pods off their nodes: they do not end later as well."""
        before, self._away = self._away, self._away | {pod.uid for pod in pods}
        try:
            yield
        finally:
            self._away = before

    def forget(self, uids: Iterable[str]) -> None:
        """They are gone, or are tried again: nobody may be in their way by then."""
        for uid in uids:
            self._until.pop(uid, None)

    def clear(self) -> None:
        self._until.clear()

    def annotations(self, uid: str) -> Mapping[str, str]:
        """What the bind of a pod has to say."""
        until = self._until.get(uid)
        return {BACKFILLED_UNTIL: instant_of_seconds(ceil(until))} if until is not None else {}

    def until(self, pod: PodRecord) -> float | None:
        """When it should have ended; None: it was not backfilled."""
        known = self._until.get(pod.uid)
        if known is not None or not pod.backfilled_until:
            return known
        try:
            return seconds_of_instant(pod.backfilled_until)
        except MalformedValue:
            return None

    def overdue(self, now: float, promised: float) -> list[PodRecord]:
        """Those that have outlived their declaration, and may be evicted for a job that was promised a start then."""
        found = []
        for pod in self._cluster.pods.values():
            until = self.until(pod) if pod.node else None
            if until is None or until < promised or not self._cluster.evictions.may_be_evicted(pod):
                continue
            if until <= now or end_of(pod, self._cluster, now) == NEVER:  # the annotation has whole seconds, rounded up
                found.append(pod)
        return found

    def end_of(self, pod: PodRecord, now: float, reserved_start: float, promised: float) -> float:
        """When a pod leaves its node. Of one that was backfilled and stays too long it is known: when it is time.

        Only for a job that was `promised` a start before the pod should have ended: it counts on that. Nobody is
        evicted for one that comes later.
        """
        if pod.uid in self._away:
            return NEVER  # what it had is free already
        at, until = end_of(pod, self._cluster, now), self.until(pod)
        if at != NEVER or until is None or until < promised or not self._cluster.evictions.may_be_evicted(pod):
            return at
        return max(now, reserved_start)

    def ends(self, job: Job, now: float, reserved_start: float, promised: float) -> tuple[list[End], list[PodRecord]]:
        """When others end, and of whom that is not known."""
        known, unknown = ends_of(job, self._cluster, now)
        if self._away:
            known = [end for end in known if end.pod.uid not in self._away]
            unknown = [pod for pod in unknown if pod.uid not in self._away]
        late = [End(at, pod) for pod in unknown if (at := self.end_of(pod, now, reserved_start, promised)) != NEVER]
        if not late:
            return known, unknown
        gone = {each.pod.uid for each in late}
        known = sorted([*known, *late], key=lambda each: (each.at, each.pod.uid))
        return known, [pod for pod in unknown if pod.uid not in gone]
