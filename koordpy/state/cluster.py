"""The cluster state: nodes, pods and where the pods count. Planning reads it, and nothing else.

Two sources change it. The watch says what is (`upsert_*`, `remove_*`); the scheduler assumes what will be (`assume`,
`forget`). Where they disagree the watch wins: a pod that the API server shows on another node moves there, and a pod
that it shows bound is never taken off again by `forget`. Every change is written to the change log.

Pods may arrive before their node and nodes may leave before their pods: usage is kept per node *name* and is counted
whenever the node is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.meta import LabelSelector
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup.claims import claims_of
from koordpy.api.podgroup.frontends import FrontEnd
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.api.topology import Layer
from koordpy.state.budgets import Budgets
from koordpy.state.changes import ChangeLog
from koordpy.state.events import NO_EVENT, ClusterEvent, EventKind
from koordpy.state.evictions import Evictions
from koordpy.state.gangs.table import GangTable, finished_member
from koordpy.state.joining import Joining, joined_as
from koordpy.state.labelkeys import LabelKeys
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.nodes.resources import MOST, ResourceTable, amount
from koordpy.state.nominations import Nominations
from koordpy.state.occupancy import Occupancy
from koordpy.state.options import DEFAULTS, ClusterOptions
from koordpy.state.pods import PodRecord, record_of
from koordpy.state.selectors import keys_of
from koordpy.state.shapes import ShapeTable, keys_asked_by
from koordpy.state.storage import NO_VOLUMES, VolumeChoice
from koordpy.state.topology import Topology
from koordpy.state.workloads import Workloads

# A nominated pod counts on its node as a pod there does: not only its room may have been in the way, but its rules.
_LEFT = EventKind.ROOM_FREED | EventKind.POD_LEFT
# It also counts in its queue.
_KEPT_NO_MORE = _LEFT | EventKind.QUEUES


class Cluster:
    """The one consistent state that planning reads."""

    def __init__(self, options: ClusterOptions = DEFAULTS, changes: ChangeLog | None = None) -> None:
        self._options = options
        self.changes = changes if changes is not None else ChangeLog()  # an empty one is false
        self.resources = ResourceTable()
        self.nodes = NodeColumns(self.resources, counts_all_resources=options.counts_all_resources)
        self.shapes = ShapeTable(self.resources)
        self.occupancy = Occupancy(self.nodes, self.shapes)
        self.census, self.ports, self.storage = self.occupancy.census, self.occupancy.ports, self.occupancy.storage
        self.workloads = Workloads()
        self.topology = Topology(self.nodes)
        self.gangs = GangTable(options.schedulers, options.gang_defaults, self.changes)
        self._joining = Joining(options, self.gangs, self.shapes)
        self.claims = self._joining.claims
        self._queues = options.queues
        self.budgets = Budgets()
        self.evictions = Evictions(options, self.nodes)
        self.nominations = Nominations()
        self.pods: dict[str, PodRecord] = {}  # by UID
        self._on_node: defaultdict[str, set[str]] = defaultdict(set)  # node name -> UIDs counted there
        self._label_keys = LabelKeys(self.shapes, self.workloads)
        self.census.fit(self.nodes.capacity)

    @property
    def version(self) -> tuple[int, ...]:
        """Equal as long as nothing has happened that a plan could see, nominations aside."""
        return (
            self.nodes.usage_log.position,
            self.nodes.static_generation,
            self.storage.generation,
            self.workloads.generation,
            self.census.epoch,
        )

    # --- what the API server says about nodes ---

    def upsert_node(self, node: Node) -> None:
        """A node appeared or changed; raises MalformedValue, with the state unchanged, if it cannot be read."""
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
        self.changes.add_node(name)
        if not known:
            for uid in self._on_node.get(name, ()):
                self._count(self.pods[uid], 1)
            self._happened(EventKind.NODE_ADDED | EventKind.DOMAINS, name)
            return
        kind = EventKind.NODE_GREW | EventKind.DOMAINS if grew else EventKind.NONE
        kind |= EventKind.NODE_RELABELLED | EventKind.DOMAINS if relabelled else EventKind.NONE
        kind |= EventKind.NODE_TAINTS | EventKind.DOMAINS if retainted else EventKind.NONE
        self._happened(kind, name)

    def remove_node(self, name: str) -> None:
        """A node left. Its pods stay known, and count again if it returns."""
        if self.nodes.row_of(name) is None:
            return
        for uid in self._on_node.get(name, ()):
            self._count(self.pods[uid], -1)
        self.nodes.close_row(name)
        self.changes.add_node(name)
        self._happened(EventKind.DOMAINS, name)

    # --- what the API server says about pods ---

    def upsert_pod(self, pod: Pod) -> PodRecord:
        """A pod appeared or changed: its record."""
        known = self.pods.get(pod.metadata.uid)
        record = self._record(pod, known)
        if known is not None:
            record.volumes = known.volumes
        if known is not None and not record.bound:
            record.node = known.node  # still assumed where we put it; the API server has not heard of it yet
        before = self.gangs.spec_of(record.gang) if record.gang else None
        self._replace(known, record)
        if before is not None and self._joining.asks_otherwise(record.gang, before):
            self._rejoin_members(record.gang)  # such as the queue, which its first member may be the only one to name
        return self.pods[record.uid]

    def _replace(self, known: PodRecord | None, record: PodRecord) -> None:
        """A pod has another record from here on."""
        self._joining.count(known, record)
        self.nominations.reconcile(record)
        if record.terminating and record.bound:
            self.evictions.leaving[record.uid] = record
        self.pods[record.uid] = record
        self._label_keys.count(known, record)
        self.gangs.member_changed(known, record)
        self._queues.count(record.uid, record)
        event = self._follow_nomination(record)
        if self.evictions.is_new_victim(known, record):
            event = event.merged_with(ClusterEvent(EventKind.VICTIMS, record.node))
        self.changes.add_event(self._moved(known, record).merged_with(event))

    def _moved(self, known: PodRecord | None, record: PodRecord) -> ClusterEvent:
        if known is not None and known.node == record.node and known.shape is record.shape:
            self.evictions.count(known, -1)
            self.evictions.count(record, 1)
            return NO_EVENT
        if record.node and (known is None or known.node != record.node):
            self.changes.add_entered(record.node)
        event = (self._leave(known) if known is not None else NO_EVENT).merged_with(self._enter(record))
        if known is not None and known.node == record.node and known.requests_like(record):
            # It is terminating by now, or has other labels: an event, but of no room.
            return event._replace(kind=event.kind & ~EventKind.ROOM_FREED)
        return event

    def remove_pod(self, uid: str) -> PodRecord | None:
        """A pod is gone or finished: whatever it held is free."""
        record = self.pods.pop(uid, None)
        if record is None:
            return None
        self._label_keys.count(record, None)
        self._joining.count(record, None)
        self.gangs.member_gone(record)
        self._queues.count(uid, None)
        self._unreserve_volumes(record)
        kept = self.nominations.remove(uid)
        self.changes.add_event(self._leave(record) if record.node or not kept else ClusterEvent(_KEPT_NO_MORE, kept))
        self.evictions.gone(
            uid
        )  # not before: a pod whose eviction is refused is not counted, and must not be taken off
        return record

    def finish_pod(self, pod: Pod) -> None:
        """A pod has run to its end: what it held is free, and its gang remembers how it ended."""
        uid, claims = pod.metadata.uid, claims_of(pod)
        if pod.spec.scheduler_name in self._options.schedulers:
            membership = self.claims.choose(claims, pod.spec.scheduler_name)
            how = finished_member(pod, needs_object=membership is None or membership.needs_object)
            self.claims.count_finished(claims, uid, how)
            if membership is not None:
                self.gangs.member_finished(uid, membership.gang, how)
        self.remove_pod(uid)

    def forget_finished(self, uid: str) -> None:
        """A pod was deleted that may have run to its end before."""
        self.claims.finished_gone(uid)
        self.gangs.finished_gone(uid)

    # --- what the API server says about namespaces and workloads ---

    def set_namespace(self, name: str, labels: dict[str, str] | None) -> None:
        """A namespace appeared, changed or left (None)."""
        if self.census.set_namespace(name, labels):
            self._happened(EventKind.SELECTORS)

    def set_service(self, namespace: str, name: str, selector: dict[str, str] | None) -> None:
        """A service appeared, changed or left (None)."""
        self.learn_keys(selector or ())
        if self.workloads.set_service(namespace, name, selector):
            self._happened(EventKind.SELECTORS)

    def set_owner(self, kind: str, namespace: str, name: str, selector: LabelSelector | None) -> None:
        """A ReplicaSet, StatefulSet or ReplicationController appeared, changed or left (None)."""
        self.learn_keys(keys_of(selector))
        if self.workloads.set_owner(kind, namespace, name, selector):
            self._happened(EventKind.SELECTORS)

    def storage_changed(self) -> None:
        """Claims, volumes, classes or drivers changed."""
        self.storage.changed()
        self._happened(EventKind.STORAGE)

    def set_layers(self, layers: tuple[Layer, ...]) -> None:
        """The network has these layers."""
        if self.topology.set_layers(layers):
            self._happened(EventKind.DOMAINS)

    def set_gang_object(self, api_version: str, gang_id: str, obj: GangObject | None) -> None:
        """A PodGroup or a SchedulingSpec appeared, changed or left (None)."""
        before = self.gangs.spec_of(gang_id)
        others = self.claims.set_object(gang_id, obj)
        self.gangs.set_object(api_version, gang_id, obj)
        if not others and not self._joining.asks_otherwise(gang_id, before):
            return
        for uid in self.claims.owned(gang_id):
            self._rejoin(uid)
        self._rejoin_members(gang_id)
        for uid, how in self.claims.finished_of(gang_id).items() if obj is not None else ():
            self.gangs.member_finished(uid, gang_id, how)

    def set_priority_class(self, name: str, value: int | None) -> None:
        """A PriorityClass appeared, changed or left (None): gangs whose objects name it are ordered by it."""
        for gang in self.gangs.set_priority_class(name, value):
            for member in list(gang.all_live()):
                self._rejoin(member.uid)

    def set_grouper(self, told: str) -> None:
        """What pods are told that wait to be grouped; "": there is no grouper, and none waits."""
        for uid in self._joining.holding.set_grouper(told):
            self._rejoin(uid)

    def recount_queues(self) -> None:
        """Queues were made, changed or deleted: every pod may be in another one, and in another eviction class."""
        for uid in list(self.pods):
            self._rejoin(uid)
            self._queues.count(uid, self.pods[uid])
            self.changes.add_regrouped(uid)
        self.changes.add_groups({self.gangs.group_of(gang.id) for gang in self.gangs})
        self._happened(EventKind.QUEUES)

    def set_served(self, front_end: FrontEnd, api_version: str, *, served: bool) -> None:
        """The definition of a gang's object is installed, or is not."""
        self.gangs.set_served(front_end, api_version, served=served)

    def _rejoin_members(self, gang_id: str) -> None:
        """What a gang asks of its members is not what it was."""
        gang = self.gangs.get(gang_id)
        for uid in [each.uid for each in gang.all_live()] if gang is not None else []:
            self._rejoin(uid)

    def _rejoin(self, uid: str) -> None:
        """Objects came, went or changed that decide which gang a pod belongs to, or what that asks of it."""
        known = self.pods.get(uid)
        if known is None:
            return
        record = msgspec.structs.replace(known)
        self._joining.join(record, known)
        if joined_as(record) != joined_as(known) or record.shape is not known.shape:
            self._replace(known, record)
            self.changes.add_regrouped(uid)

    def learn_keys(self, keys: Iterable[str]) -> None:
        """Selectors ask for these label keys: pods that differ in them have different shapes from now on."""
        carried = self._label_keys.learn(keys)
        for record in self.pods.values() if carried else ():
            if record.shape is not None and record.labels.keys() & carried:
                self._reshape(record)

    def _reshape(self, record: PodRecord) -> None:
        assert record.shape is not None
        labels = self.shapes.selected_labels(record.labels)
        self._count(record, -1)
        record.shape = self.shapes.relabelled(record.shape, labels)
        if record.own_shape is not None:
            record.own_shape = self.shapes.relabelled(record.own_shape, labels)
        self._count(record, 1)
        self.changes.add_reshaped(record.uid)

    # --- what the scheduler assumes ---

    def assume(self, uid: str, node: str, volumes: VolumeChoice = NO_VOLUMES) -> None:
        """Reserve: count a pod on a node, and its volumes as taken, before the API server has heard of it."""
        record = self.pods[uid]
        record.node, record.queue_stays = node, True
        self.gangs.moved(record)
        self._queues.count(uid, record)
        if any(volumes):
            record.volumes = volumes
            self.storage.reserve(volumes, node)
        self.changes.add_entered(node)
        self.changes.add_event(self._enter(record).merged_with(self._follow_nomination(record)))

    def forget(self, uid: str) -> None:
        """Unreserve: take back an assumption; what the API server has confirmed stays."""
        record = self.pods.get(uid)
        if record is None or record.bound:
            return
        event = self._leave(record)
        record.node, record.queue_stays = "", False
        self.gangs.moved(record)
        self._queues.count(uid, record)
        self._unreserve_volumes(record)
        self._follow_nomination(record)
        self.changes.add_event(event)

    def start_over(self) -> None:
        """Take back every assumption, as when leadership was lost: what was accepted will be seen on the watch."""
        for record in self.pods.values():
            if record.node and not record.bound:
                self.forget(record.uid)
            record.queue_stays = record.bound
        self.nominations.reset(self.pods)

    def nominate(self, uid: str, node: str) -> None:
        """Keep room on a node for a pending pod, or no more (""), before the API server has heard of it."""
        ended = self.nominations.decide(self.pods[uid], node)
        if ended:
            self._happened(_KEPT_NO_MORE, ended)

    def pods_on(self, node: str) -> list[PodRecord]:
        """Every pod that counts there."""
        return [self.pods[uid] for uid in self._on_node.get(node, ())]

    def shielded(self, uids: Collection[str]) -> AbstractContextManager[None]:
        """As if the API server would not let us evict these, while victims are searched."""
        return self.evictions.shielded([self.pods[uid] for uid in uids if uid in self.pods])

    def protect(self, uid: str, *, protected: bool = True) -> None:
        """Leave a pod alone whose eviction the API server refuses, whatever its labels say; or not any more."""
        record = self.pods.get(uid)
        if record is None:
            self.evictions.gone(uid)
            return
        self.evictions.refuse(record, refused=protected)
        if self.evictions.may_be_evicted(record):
            gang = self.gangs.get(record.gang) if record.gang else None
            members = gang.bound.values() if gang is not None and record.uid in gang.bound else (record,)
            for node in {member.node for member in members}:  # with it, all of its gang may be evicted again
                self._happened(EventKind.VICTIMS, node)

    # --- after an error of ours ---

    def recount(self) -> None:
        """Count everything anew from the pod records.

        An exception in the middle of a change leaves counts in doubt; records say what is true, and the rest follows.
        """
        self.occupancy.clear()
        self.evictions.recount(self.pods)
        self._on_node.clear()
        self._label_keys.recount(self.pods.values())
        self.nominations.recount(self.pods)
        self.gangs.recount(self.pods.values())
        for record in self.pods.values():
            if not record.node or record.bound:
                record.volumes = NO_VOLUMES
            elif any(record.volumes):
                self.storage.reserve(record.volumes, record.node)
            self._enter(record)

    # --- bookkeeping ---

    def _happened(self, kind: EventKind, node: str = "") -> None:
        self.changes.add_event(ClusterEvent(kind, node))

    def _record(self, pod: Pod, known: PodRecord | None) -> PodRecord:
        try:
            shape = self.shapes.shape_of(pod)
            asked = keys_asked_by(shape)
            if not asked <= self.shapes.selected_keys:
                self.learn_keys(asked)
                shape = self.shapes.shape_of(pod)  # it may carry such a label itself
        except MalformedValue as error:
            record = record_of(pod, None, defect=str(error))
            self._joining.join(record, known)
            return record
        self.nodes.fit_resources()
        record = record_of(pod, shape)
        self._joining.join(record, known)
        return record

    def _unreserve_volumes(self, record: PodRecord) -> None:
        if any(record.volumes):
            self.storage.unreserve(record.volumes)
            record.volumes = NO_VOLUMES

    def confirm_volumes(self, record: PodRecord) -> None:
        """A pod is bound, and so were its claims before it: the API server's word replaces our reservation.

        A reservation kept for the life of the pod would hold back a volume that others could have by then.
        """
        self._unreserve_volumes(record)

    def _follow_nomination(self, record: PodRecord) -> ClusterEvent:
        """A nomination that ends frees room for others."""
        ended = self.nominations.update(record)
        return ClusterEvent(_KEPT_NO_MORE, ended) if ended else NO_EVENT

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
            self.evictions.count(record, times)
