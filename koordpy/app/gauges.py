"""Gauges of a scheduler, set when `/metrics` is read: they cost nothing in between."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping

from prometheus_client import Gauge

from koordpy import metrics
from koordpy.app.build import BuiltScheduler
from koordpy.app.pending import OUTSIDE, REASONS, Pending, pending_in
from koordpy.quota.amounts import RESOURCES, UNLIMITED, K
from koordpy.scheduler.queue.ticket import State

# Set by the leader alone, so that sums over replicas are right.
_OF_THE_LEADER = (
    metrics.PENDING_GANGS,
    metrics.PENDING_PODS_BY_REASON,
    metrics.OLDEST_PENDING_SECONDS,
    metrics.PENDING_REQUESTS,
    metrics.WAITING_REQUESTS,
    metrics.QUEUE_ALLOCATED,
    metrics.QUEUE_REQUESTED,
    metrics.QUEUE_QUOTA,
    metrics.QUEUE_FAIR_SHARE,
    metrics.QUEUE_PENDING_PODS,
)
_OF_THE_RESERVATION = (metrics.RESERVATIONS, metrics.RESERVED_START_SECONDS, metrics.BACKFILLED_PODS)
_UNITS = (1000, 1, 1000)  # CPUs, bytes and GPUs of what queues count


class Gauges:
    """What there is, and what is pending."""

    def __init__(
        self,
        built: Callable[[], BuiltScheduler],
        leads: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`built` is the scheduler of the moment; the clocks are its own."""
        self._of_the_moment, self._leads, self._clock, self._wall = built, leads, clock, wall

    @property
    def _built(self) -> BuiltScheduler:
        return self._of_the_moment()

    def refresh(self) -> None:
        self._of_the_state()
        for gauge in _OF_THE_LEADER:
            gauge.clear()
        for unlabelled in _OF_THE_RESERVATION:
            unlabelled.set(0)
        if self._leads():
            self._of_what_is_pending(pending_in(self._built))
            self._of_queues()
            self._of_the_reservation()

    def _of_the_state(self) -> None:
        cluster, queue = self._built.cluster, self._built.queue
        counts = queue.counts()
        for state in (State.ACTIVE, State.BACKOFF, State.UNSCHEDULABLE):
            metrics.PENDING_PODS.labels(state.value).set(counts[state])
        metrics.UNSCHEDULABLE_PODS.clear()
        _set(metrics.UNSCHEDULABLE_PODS, queue.unschedulable_by_plugin())
        since = [stay.since for stay in self._built.room]
        metrics.GANG_WAITING.set(len(since))
        metrics.LONGEST_WAITING_SECONDS.set(max(0.0, self._clock() - min(since)) if since else 0.0)
        metrics.PENDING_PODS.labels("gated").set(sum(1 for p in cluster.pods.values() if p.gated))
        metrics.CACHE_SIZE.labels("nodes").set(len(cluster.nodes))
        metrics.CACHE_SIZE.labels("pods").set(len(cluster.pods))
        assumed = sum(1 for p in cluster.pods.values() if p.node and not p.bound)
        metrics.CACHE_SIZE.labels("assumed_pods").set(assumed)

    def _of_what_is_pending(self, pending: Pending) -> None:
        """With a zero for every reason outside of queues: so nothing pending differs from nobody who tells."""
        now, none = self._wall(), dict.fromkeys([(OUTSIDE, reason) for reason in REASONS], 0.0)
        _set(metrics.PENDING_GANGS, none | pending.gangs)
        _set(metrics.PENDING_PODS_BY_REASON, none | pending.pods)
        ages = {where: max(0.0, now - created) for where, created in pending.oldest.items()}
        _set(metrics.OLDEST_PENDING_SECONDS, none | ages)
        requested = {name for _, name in pending.requested}
        resources = dict.fromkeys([*requested, *pending.held, "cpu", "memory"], 0.0)
        outside = {(OUTSIDE, name): amount for name, amount in resources.items()}
        _set(metrics.PENDING_REQUESTS, outside | pending.requested)
        _set(metrics.WAITING_REQUESTS, resources | pending.held)

    def _of_queues(self) -> None:
        """By Queue, of what it counts; without Queue objects there are no series."""
        built, book = self._built, self._built.book
        if not book.in_use:
            return
        book.divide(built.cluster.nodes, built.cluster.resources)
        for row, name in enumerate(book.tree.names):
            for kind in range(K):
                if book.tree.counted[row, kind]:
                    of = (name, RESOURCES[kind])
                    metrics.QUEUE_ALLOCATED.labels(*of).set(book.usage.allocated[row, kind] / _UNITS[kind])
                    metrics.QUEUE_REQUESTED.labels(*of).set(book.usage.requested[row, kind] / _UNITS[kind])
                    if book.tree.quota[row, kind] < UNLIMITED:
                        metrics.QUEUE_QUOTA.labels(*of).set(book.tree.quota[row, kind] / _UNITS[kind])
                    metrics.QUEUE_FAIR_SHARE.labels(*of).set(book.shares[row, kind] / _UNITS[kind])
        waiting = Counter(pod.queue for pod in built.cluster.pods.values() if pod.queue and not pod.bound)
        for name in book.tree.names:
            metrics.QUEUE_PENDING_PODS.labels(name).set(waiting[name])

    def _of_the_reservation(self) -> None:
        backfill = self._built.parts.backfill
        if backfill.reservation is not None:
            metrics.RESERVATIONS.set(1)
            metrics.RESERVED_START_SECONDS.set(backfill.reservation.start.at - self._wall())
        until = (backfill.backfilled.until(pod) for pod in self._built.cluster.pods.values() if pod.node)
        metrics.BACKFILLED_PODS.set(sum(1 for each in until if each is not None))


def _set(gauge: Gauge, values: Mapping[str, float] | Mapping[tuple[str, str], float]) -> None:
    for labels, value in values.items():
        gauge.labels(*((labels,) if isinstance(labels, str) else labels)).set(value)
