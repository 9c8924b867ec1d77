"""The picture: nodes, pods and where the pods count.

Two voices change it. The watch says what is (`upsert_*`, `remove_*`); the scheduler assumes what will be (`assume`,
`forget`). Where they disagree the watch wins: a pod that the API server shows on another node moves there, and a pod
that it shows bound is never taken off again by `forget`.

Pods may arrive before their node and nodes may leave before their pods: usage is kept per node *name* and is counted
whenever the node is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.gangs import membership_of
from koordpy.api.meta import LabelSelector
from koordpy.api.node import Node
from koordpy.api.pod import Pod, PodSpec
from koordpy.state.budgets import Budgets
from koordpy.state.events import NO_EVENT, ClusterEvent, EventKind
from koordpy.state.evictable import Evictable
from koordpy.state.gangs.table import GangTable
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.nodes.resources import MOST, ResourceTable, amount
from koordpy.state.occupancy import Occupancy
from koordpy.state.pods import PodRecord, record_of
from koordpy.state.selectors import keys_of
from koordpy.state.shapes import ShapeTable
from koordpy.state.storage import NO_VOLUMES, VolumeChoice
from koordpy.state.topology import Topology
from koordpy.state.workloads import Workloads

# Whoever was promised a node counted there as a pod does: not only its room may have been in the way, but its rules.
_PROMISE_ENDED = EventKind.ROOM_FREED | EventKind.POD_LEFT
_LEFT = EventKind.ROOM_FREED | EventKind.POD_LEFT


class Cluster:
    """The one consistent picture that planning reads."""

    def __init__(self) -> None:
        self.resources = ResourceTable()
        self.nodes = NodeColumns(self.resources)
        self.shapes = ShapeTable(self.resources)
        self.occupancy = Occupancy(self.nodes, self.shapes)
        self.census, self.ports, self.storage = self.occupancy.census, self.occupancy.ports, self.occupancy.storage
        self.workloads = Workloads()
        self.topology = Topology(self.nodes)
        self.gangs = GangTable()
        self.budgets = Budgets()
        self.evictable = Evictable()
        self.pods: dict[str, PodRecord] = {}  # by UID
        self.nominated: dict[str, PodRecord] = {}  # by UID: pending pods that were promised a node
        self.promises_ended = 0  # how often somebody left `nominated`
        self.leaving: dict[str, PodRecord] = {}  # by UID: pods on nodes that are terminating, victims or not
        self._spared: set[str] = set()  # UIDs of pods that the API server would not let us evict
        self._promises: dict[str, str] = {}  # UID -> node that we have promised, until the API server says so too
        self._on_node: defaultdict[str, set[str]] = defaultdict(set)  # node name -> UIDs counted there
        self.reshapings = 0  # how often pods were given other shapes, because a new label key began to matter
        self.census.fit(self.nodes.capacity)

    @property
    def version(self) -> tuple[int, ...]:
        """Equal as long as nothing has event that a plan could see, promises to nominated pods aside."""
        return (
            self.nodes.usage_log.position,
            self.nodes.static_generation,
            self.storage.generation,
            self.workloads.generation,
            self.census.epoch,
        )

    # --- what the API server says about nodes ---

    def upsert_node(self, node: Node) -> ClusterEvent:
        """A node appeared or changed; raises MalformedValue, with the picture unchanged, if it cannot be read."""
        name = node.metadata.name
        has = {
            self.resources.row(resource): amount(resource, quantity, "status.allocatable")
            for resource, quantity in node.status.allocatable.items()
        }
        known = self.nodes.row_of(name) is not None
        row = self.nodes.open_row(name)
        self.census.fit(self.nodes.capacity)
        grew = bool((self.nodes.set_allocatable(row, has) > 0).any())
        relabelled = self.nodes.set_labels(row, node.metadata.labels)
        retainted = self.nodes.set_taints(row, node.spec.taints, unschedulable=node.spec.unschedulable)
        self.nodes.set_images(
            row, {image: min(i.size_bytes, MOST) for i in node.status.images for image in i.names or ()}
        )
        if not known:
            for uid in self._on_node.get(name, ()):
                self._count(self.pods[uid], 1)
            return ClusterEvent(EventKind.NODE_ADDED | EventKind.DOMAINS, name)
        change = EventKind.NODE_GREW if grew else EventKind.NONE
        change |= EventKind.NODE_RELABELLED | EventKind.DOMAINS if relabelled else EventKind.NONE
        change |= EventKind.NODE_TAINTS | EventKind.DOMAINS if retainted else EventKind.NONE
        return ClusterEvent(change, name) if change else NO_EVENT

    def remove_node(self, name: str) -> ClusterEvent:
        """A node left. Its pods stay known, and count again if it returns."""
        if self.nodes.row_of(name) is None:
            return NO_EVENT
        for uid in self._on_node.get(name, ()):
            self._count(self.pods[uid], -1)
        self.nodes.close_row(name)
        return ClusterEvent(EventKind.DOMAINS, name)

    # --- what the API server says about pods ---

    def upsert_pod(self, pod: Pod) -> tuple[PodRecord, ClusterEvent]:
        """A pod appeared or changed: its record, and what that changed for others."""
        self.learn_keys(_selected_by(pod.spec))
        known = self.pods.get(pod.metadata.uid)
        record = self._record(pod)
        if known is not None:
            record.volumes = known.volumes
        if known is not None and not record.bound:
            record.node = known.node  # still assumed where we put it; the API server has not heard of it yet
        self._keep_promise(record)
        if record.terminating and record.bound:
            self.leaving[record.uid] = record
        self.pods[record.uid] = record
        self.gangs.member_changed(known, record)
        released = self._note_nomination(record)
        if self._is_new_victim(known, record):
            released = released.merged_with(ClusterEvent(EventKind.VICTIMS, record.node))
        if known is not None and known.node == record.node and known.shape is record.shape:
            self._count_evictable(known, -1)
            self._count_evictable(record, 1)
            return record, released
        left = self._leave(known) if known is not None else NO_EVENT
        event = left.merged_with(self._enter(record)).merged_with(released)
        if known is not None and known.node == record.node and _ask_the_same(known, record):
            # It is terminating by now, or has other labels: news, but of no room.
            event = event._replace(kind=event.kind & ~EventKind.ROOM_FREED | released.kind)
        return record, event

    def remove_pod(self, uid: str) -> tuple[PodRecord | None, ClusterEvent]:
        """A pod is gone or finished: whatever it held is free."""
        record = self.pods.pop(uid, None)
        if record is None:
            return None, NO_EVENT
        self.gangs.member_gone(record)
        self._promises.pop(uid, None)
        self.leaving.pop(uid, None)
        self._release_volumes(record)
        promised = self.nominated.pop(uid, None)
        self.promises_ended += promised is not None
        if promised is not None and not record.node:
            return record, ClusterEvent(_PROMISE_ENDED, promised.nominated_node)
        return record, self._leave(record)

    def finish_pod(self, pod: Pod) -> ClusterEvent:
        """A pod has run to its end: what it held is free, and its gang remembers how it ended."""
        membership = membership_of(pod.metadata)
        if membership is not None and pod.spec.scheduler_name in self.gangs.schedulers:
            self.gangs.member_finished(
                pod.metadata.uid,
                membership.gang,
                succeeded=pod.status.phase == "Succeeded",
                was_bound=bool(pod.spec.node_name),
            )
        return self.remove_pod(pod.metadata.uid)[1]

    # --- what the API server says about namespaces and workloads ---

    def set_namespace(self, name: str, labels: dict[str, str] | None) -> ClusterEvent:
        """A namespace appeared, changed or left (None)."""
        return ClusterEvent(EventKind.SELECTORS, "") if self.census.set_namespace(name, labels) else NO_EVENT

    def set_service(self, namespace: str, name: str, selector: dict[str, str] | None) -> None:
        """A service appeared, changed or left (None)."""
        self.learn_keys(selector or ())
        self.workloads.set_service(namespace, name, selector)

    def set_owner(self, kind: str, namespace: str, name: str, selector: LabelSelector | None) -> None:
        """A ReplicaSet, StatefulSet or ReplicationController appeared, changed or left (None)."""
        self.learn_keys(keys_of(selector))
        self.workloads.set_owner(kind, namespace, name, selector)

    def learn_keys(self, keys: Iterable[str]) -> None:
        """Selectors ask for these label keys: pods that differ in them have different shapes from now on."""
        new = set(keys) - self.shapes.selected_keys
        if not new:
            return
        self.shapes.selected_keys |= new
        for record in self.pods.values():
            if record.shape is not None and record.labels.keys() & new:
                traits = msgspec.structs.replace(record.shape.traits, labels=self.shapes.selected_labels(record.labels))
                self._count(record, -1)
                record.shape = self.shapes.shape(traits)
                self._count(record, 1)
        self.reshapings += 1

    # --- what the scheduler assumes ---

    def assume(self, uid: str, node: str, volumes: VolumeChoice = NO_VOLUMES) -> ClusterEvent:
        """Reserve: count a pod on a node, and its volumes as taken, before the API server has heard of it."""
        record = self.pods[uid]
        record.node = node
        self.gangs.moved(record)
        if any(volumes):
            record.volumes = volumes
            self.storage.reserve(volumes, node)
        return self._enter(record).merged_with(self._note_nomination(record))

    def forget(self, uid: str) -> ClusterEvent:
        """Unreserve: take back an assumption; what the API server has confirmed stays."""
        record = self.pods.get(uid)
        if record is None or record.bound:
            return NO_EVENT
        freed = self._leave(record)
        record.node = ""
        self.gangs.moved(record)
        self._release_volumes(record)
        self._note_nomination(record)
        return freed

    def forget_all(self) -> None:
        """Take back every assumption, as when leadership was lost: what was accepted will be seen on the watch."""
        for record in self.pods.values():
            if record.node and not record.bound:
                self.forget(record.uid)

    def nominate(self, uid: str, node: str) -> ClusterEvent:
        """Promise a pending pod room on a node, or nothing any more (""), before the API server has heard of it."""
        record = self.pods[uid]
        before, record.nominated_node = record.nominated_node, node
        self._promises[uid] = node
        was_kept = uid in self.nominated
        self._note_nomination(record)
        return ClusterEvent(_PROMISE_ENDED, before) if was_kept and before != node else NO_EVENT

    def pods_on(self, node: str) -> list[PodRecord]:
        """Everybody who counts there."""
        return [self.pods[uid] for uid in self._on_node.get(node, ())]

    def may_be_evicted(self, record: PodRecord) -> bool:
        """By a job of higher priority."""
        if record.uid in self._spared:
            return False
        return record.evictable and record.namespace not in self.evictable.protected_namespaces

    def spare(self, uid: str, *, spared: bool = True) -> ClusterEvent:
        """Leave a pod alone that may not be evicted, whatever its labels say; or not any more."""
        record = self.pods.get(uid)
        if record is not None:
            self._count_evictable(record, -1)
        self._spared.add(uid) if spared else self._spared.discard(uid)
        if record is None:
            return NO_EVENT
        self._count_evictable(record, 1)
        return ClusterEvent(EventKind.VICTIMS, record.node) if self.may_be_evicted(record) else NO_EVENT

    # --- bookkeeping ---

    def _record(self, pod: Pod) -> PodRecord:
        try:
            shape = self.shapes.shape_of(pod)
        except MalformedValue as error:
            return record_of(pod, None, defect=str(error))
        self.nodes.fit_resources()
        return record_of(pod, shape)

    def _release_volumes(self, record: PodRecord) -> None:
        if any(record.volumes):
            self.storage.unreserve(record.volumes)
            record.volumes = NO_VOLUMES

    def _keep_promise(self, record: PodRecord) -> None:
        """What the API server says of a nomination may be older than what we have decided."""
        promised = self._promises.get(record.uid)
        if promised is None:
            return
        if record.nominated_node == promised or record.bound:
            del self._promises[record.uid]
        else:
            record.nominated_node = promised

    def _note_nomination(self, record: PodRecord) -> ClusterEvent:
        """Keep who was promised which node; a promise that ends frees room for others."""
        before = self.nominated.pop(record.uid, None)
        promised = record.nominated_node if record.schedulable else ""
        if promised:
            self.nominated[record.uid] = record
        self.promises_ended += before is not None and not promised
        if before is None or before.nominated_node == promised:
            return NO_EVENT
        return ClusterEvent(_PROMISE_ENDED, before.nominated_node)

    def _is_new_victim(self, known: PodRecord | None, record: PodRecord) -> bool:
        """Jobs of higher priority may have been refused because this pod could not be evicted."""
        if not self.evictable.in_use or not self.may_be_evicted(record):
            return False
        return known is None or known.node != record.node or not self.may_be_evicted(known)

    def _enter(self, record: PodRecord) -> ClusterEvent:
        if not record.node:
            return NO_EVENT
        self._on_node[record.node].add(record.uid)
        self._count(record, 1)
        return ClusterEvent(EventKind.POD_CAME, record.node)

    def _leave(self, record: PodRecord) -> ClusterEvent:
        if not record.node:
            return NO_EVENT
        uids = self._on_node[record.node]
        uids.discard(record.uid)
        if not uids:
            del self._on_node[record.node]
        self._count(record, -1)
        return ClusterEvent(_LEFT, record.node)

    def _count(self, record: PodRecord, times: int) -> None:
        row = self.nodes.row_of(record.node)
        if row is not None and record.shape is not None:
            self.occupancy.move(row, record.shape, times)
            self._count_evictable(record, times)

    def _count_evictable(self, record: PodRecord, times: int) -> None:
        row = self.nodes.row_of(record.node)
        if row is not None and record.shape is not None and self.may_be_evicted(record):
            self.evictable.move(record.priority, record.shape, row, times)


def _ask_the_same(one: PodRecord, other: PodRecord) -> bool:
    return one.shape is not None and other.shape is not None and one.shape.request is other.shape.request


def _selected_by(spec: PodSpec) -> Iterable[str]:
    """The label keys that the pod's own constraints ask for."""
    for constraint in spec.topology_spread_constraints:
        yield from keys_of(constraint.label_selector)
        yield from constraint.match_label_keys
    if spec.affinity is None:
        return
    for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        if affinity is not None:
            terms = (*affinity.required, *(weighted.pod_affinity_term for weighted in affinity.preferred))
            for term in terms:
                yield from keys_of(term.label_selector)
