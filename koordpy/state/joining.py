"""Which gang and which queue a pod belongs to, and what follows from that for its record.

That depends on objects other than the pod: PodGroups, SchedulingSpecs, PriorityClasses, Queues, the lease of a grouper.
When one of those changes, the cluster state asks again for the pods that it may concern. Nothing is counted here.
"""

from __future__ import annotations

from koordpy.state.eviction import EvictionPolicy
from koordpy.state.gangs.claims import ClaimTable
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.holding import Holding
from koordpy.state.gangs.spec import GangSpec
from koordpy.state.gangs.table import GangTable
from koordpy.state.options import ClusterOptions
from koordpy.state.pods import PodRecord
from koordpy.state.queues import QueueLedger
from koordpy.state.shapes import ShapeTable


class Joining:
    """Fills in what of a record depends on other objects."""

    def __init__(self, options: ClusterOptions, gangs: GangTable, shapes: ShapeTable) -> None:
        self._schedulers, self._gangs, self._shapes = options.schedulers, gangs, shapes
        self._policy: EvictionPolicy = options.eviction_policy
        self._queues: QueueLedger = options.queues
        self.claims = ClaimTable(options.needing_spec)
        self.holding = Holding()

    def join(self, record: PodRecord, known: PodRecord | None) -> None:
        """A pod is shown, or asked about again; `known` is its record so far."""
        membership = self.claims.choose(record.claims, record.scheduler)
        record.gang = membership.gang if membership is not None else ""
        # What a terminating pod says counts for nothing, also that there is an object.
        record.needs_object = membership is not None and membership.needs_object and not record.terminating
        record.timed_out &= membership is not None
        gang = self._gangs.get(record.gang) if record.gang else None
        self._narrow(record, gang)
        if record.scheduler in self._schedulers:
            record.held = self.holding.reason(record, gang)
            record.queue = self._queues.queue_of(record, gang)
        record.preemptible = self._queues.is_preemptible(record, gang)
        if known is not None and known.queue_stays and known.node:
            record.queue, record.queue_stays = known.queue, True
        record.eviction_class = self._policy.class_of(record, gang)

    def _narrow(self, record: PodRecord, gang: Gang | None) -> None:
        """Its node selector, narrowed by that of its gang's object, while it has no node."""
        if record.own_shape is None:
            return
        record.shape, record.defect = record.own_shape, ""
        if gang is None or not gang.spec.node_selector or record.bound:
            return
        record.shape = self._shapes.narrowed(record.own_shape, gang.spec.node_selector)
        if record.shape is None:
            own, said = (_listed(each) for each in (record.own_shape.traits.node_selector, gang.spec.node_selector))
            kind = gang.front_end.kind
            record.defect = f"its nodeSelector {own} and that of {kind} {gang.name}, {said}, exclude each other"

    def asks_otherwise(self, gang_id: str, before: GangSpec) -> bool:
        """Whether what the records of a gang's members depend on is not what it was."""
        now = self._gangs.spec_of(gang_id)
        return now is not before and _asked_of_members(now) != _asked_of_members(before)

    def count(self, before: PodRecord | None, now: PodRecord | None) -> None:
        """A pod appeared, changed, or is gone (None)."""
        self.claims.count(before, now)
        either = now if now is not None else before
        if either is not None:
            self.holding.count(either.uid, now)


def _asked_of_members(spec: GangSpec) -> tuple[object, ...]:
    return spec.node_selector, spec.queue, spec.preemptibility, spec.priority, spec.leaf_names


def joined_as(record: PodRecord) -> tuple[object, ...]:
    """What of a record depends on objects other than the pod; its shape aside."""
    return (
        record.gang,
        record.needs_object,
        record.held,
        record.defect,
        record.queue,
        record.preemptible,
        record.eviction_class,
    )


def _listed(selector: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{key}={value}" for key, value in selector)
