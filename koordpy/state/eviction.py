"""The eviction policy: which running pods a job may take room from, in which order, and who goes before whom.

A running pod has an *eviction class*, a number that the policy gives it. A job's *reach* are the classes that it may
take from, cheapest first. Without queues the class of a pod is its priority, and a job reaches everything below the
lowest priority of its members. Nothing else in koordpy compares priorities to find out who has to leave.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord


class Preemptor(NamedTuple):
    """What of a job decides whom it may evict."""

    priority: int  # the lowest of its members: a victim must be less important than each pod that it makes room for
    queue: str = ""  # that it is in; "": outside
    claim: str = ""  # on what it takes from others, where queues know several ways; "": on any


class Reach:
    """The eviction classes that a job may take from, cheapest first."""

    __slots__ = ("_known", "classes", "own")

    def __init__(self, classes: Iterable[int], own: frozenset[str] = frozenset()) -> None:
        self.classes = tuple(classes)
        self._known = frozenset(self.classes)
        self.own = own  # gangs of the job itself: what runs of them is not given up for the rest of them

    def __len__(self) -> int:
        return len(self.classes)

    def __contains__(self, eviction_class: object) -> bool:
        return eviction_class in self._known

    def covers(self, pod: PodRecord) -> bool:
        """Whether a pod's class is among them; whether it may be evicted at all is another question."""
        return pod.eviction_class in self._known

    def first(self, number: int) -> Reach:
        """Only the cheapest classes."""
        return Reach(self.classes[:number], self.own)

    def of_gangs(self, own: Iterable[str]) -> Reach:
        """The same, for a job of these gangs."""
        return Reach(self.classes, frozenset(own))


class EvictionPolicy(Protocol):
    """Decides who leaves for whom. Queues supply their own."""

    def class_of(self, pod: PodRecord, gang: Gang | None) -> int:
        """The eviction class of a pod, should it run; asked when the API server shows the pod."""

    def may_take(self, preemptor: Preemptor, eviction_class: int) -> bool:
        """Whether a job may evict pods of a class."""

    def cost(self, preemptor: Preemptor, eviction_class: int) -> int:
        """A sort key: pods of a lower one go first."""

    def goes_before(self, preemptor: Preemptor, other: Preemptor) -> bool:
        """Whether a job may take room that is merely kept for another: nominated, or held at Permit."""


class ByPriority:
    """kube-scheduler's rule: whatever has a lower priority."""

    def class_of(self, pod: PodRecord, gang: Gang | None) -> int:  # noqa: ARG002
        return pod.priority

    def may_take(self, preemptor: Preemptor, eviction_class: int) -> bool:
        return eviction_class < preemptor.priority

    def cost(self, preemptor: Preemptor, eviction_class: int) -> int:  # noqa: ARG002
        return eviction_class

    def goes_before(self, preemptor: Preemptor, other: Preemptor) -> bool:
        return preemptor.priority > other.priority


def reach_of(preemptor: Preemptor, policy: EvictionPolicy, classes: Iterable[int]) -> Reach:
    """Of the classes that there are, those that a job may take from."""
    within = (each for each in classes if policy.may_take(preemptor, each))
    return Reach(sorted(within, key=lambda each: policy.cost(preemptor, each)))
