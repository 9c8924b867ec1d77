"""The eviction policy of queues: who may take from whom, and on what claim.

A pod's eviction class stands for its queue, its priority and whether it can be taken away. A job in a queue takes in
three ways, one after the other: on its queue's QUOTA and on its fair SHARE from other queues, by what
`koordpy.quota.reclaim` allows; and on PRIORITY from less important pods of its own queue or outside. A job outside
takes from less important pods outside, and from queues only if it is as important as the system's own pods.
Without Queue objects the rule is kube-scheduler's: whatever has a lower priority.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from koordpy.quota.reclaim import Basis, Claim
from koordpy.scheduler.queues.book import QueueBook
from koordpy.state.eviction import ByPriority, Preemptor
from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord

QUOTA, SHARE, PRIORITY = Basis.QUOTA.name, Basis.SHARE.name, "PRIORITY"
SYSTEM_PRIORITY = 2_000_000_000  # from here on pods outside may evict queued ones: Kubernetes' own critical pods

_LOWEST = -(2**31)


class EvictionClass(NamedTuple):
    """What the pods of one class have in common."""

    queue: str  # "": outside
    priority: int
    preemptible: bool


class QueuePolicy:
    """Decides who leaves for whom."""

    def __init__(self, book: QueueBook) -> None:
        self._book, self._plain = book, ByPriority()
        self._numbers: dict[EvictionClass, int] = {}
        self._classes: list[EvictionClass] = []
        self._claim: Claim | None = None  # of the job whose victims are being searched
        self._order: dict[str, int] = {}  # the queues that it may take from, and their place

    def begin_claim(self, claim: Claim, leaving: Iterable[PodRecord], pods: Iterable[PodRecord]) -> set[str]:
        """From here on a job takes on this claim, the queue furthest above its line first.

        It may wait for the room of pods that are leaving anyway, of whatever queue. Returns who is not to be evicted
        although its class is in reach for the sake of such.
        """
        tree = self._book.tree
        self._claim = claim
        self._order = {tree.names[row]: place for place, row in enumerate(claim.order(range(len(tree))))}
        only_leaving = {pod.queue for pod in leaving if pod.queue in tree.rows} - self._order.keys()
        if not only_leaving:
            return set()
        self._order |= dict.fromkeys(only_leaving, len(self._order))
        return {pod.uid for pod in pods if pod.queue in only_leaving and pod.node and not pod.terminating}

    def end_claim(self) -> None:
        self._claim, self._order = None, {}

    def class_of(self, pod: PodRecord, gang: Gang | None) -> int:
        if not self._book.in_use:
            return self._plain.class_of(pod, gang)
        queue = pod.queue if pod.queue in self._book.tree.rows else ""
        key = EvictionClass(queue, pod.priority, pod.preemptible)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._classes)
            self._classes.append(key)
        return number

    def may_take(self, preemptor: Preemptor, eviction_class: int) -> bool:
        if not self._book.in_use:
            return self._plain.may_take(preemptor, eviction_class)
        victim = self._classes[eviction_class]
        if victim.queue and victim.queue != preemptor.queue and preemptor.queue:
            return self._may_reclaim(preemptor.claim, victim)
        if preemptor.claim not in ("", PRIORITY) or victim.priority >= preemptor.priority:
            return False
        if not victim.queue:
            return True
        return victim.preemptible if preemptor.queue else preemptor.priority >= SYSTEM_PRIORITY

    def _may_reclaim(self, claim: str, victim: EvictionClass) -> bool:
        """From another queue: without a claim, whether some claim could reach it at all, as wake-ups ask."""
        if not victim.preemptible or claim == PRIORITY:
            return False
        return victim.queue in self._order if claim else True

    def cost(self, preemptor: Preemptor, eviction_class: int) -> int:
        if not self._book.in_use:
            return self._plain.cost(preemptor, eviction_class)
        victim = self._classes[eviction_class]
        return (self._order.get(victim.queue, 0) << 34) + victim.priority - _LOWEST

    def goes_before(self, preemptor: Preemptor, other: Preemptor) -> bool:
        """What is merely kept for another job: by priority, inside one queue, outside, and from a queue outside."""
        if preemptor.priority <= other.priority:
            return False
        if preemptor.queue == other.queue or not other.queue:
            return True
        return not preemptor.queue and preemptor.priority >= SYSTEM_PRIORITY
