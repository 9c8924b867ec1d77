"""The picture: nodes, pods and where the pods count.

Two voices change it. The watch says what is (`upsert_*`, `remove_*`); the scheduler assumes what will be
(`assume`, `forget`). Where they disagree the watch wins: a pod that the API server shows on another node moves
there, and a pod that it shows bound is never taken off again by `forget`.

Pods may arrive before their node and nodes may leave before their pods: usage is kept per node *name* and is
counted into the columns whenever the node is known.
"""

from __future__ import annotations

from collections import defaultdict

from koordpy.api.errors import MalformedValue
from koordpy.api.keys import POD_SCHEDULED
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.times import seconds_of_instant
from koordpy.cluster.changes import NOTHING, Change, Happened
from koordpy.cluster.columns import NodeColumns
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.resources import ResourceTable, amount
from koordpy.cluster.shapes import ShapeTable


class Cluster:
    """The one consistent picture that planning reads."""

    def __init__(self) -> None:
        self.resources = ResourceTable()
        self.nodes = NodeColumns(self.resources)
        self.shapes = ShapeTable(self.resources)
        self.pods: dict[str, PodRecord] = {}  # by UID
        self._on_node: defaultdict[str, set[str]] = defaultdict(set)  # node name -> UIDs counted there

    # --- what the API server says about nodes ---

    def upsert_node(self, node: Node) -> Happened:
        """A node appeared or changed; raises MalformedValue, with the picture unchanged, if it cannot be read."""
        name = node.metadata.name
        has = {
            self.resources.row(resource): amount(resource, quantity, "status.allocatable")
            for resource, quantity in node.status.allocatable.items()
        }
        known = self.nodes.row_of(name) is not None
        row = self.nodes.open_row(name)
        difference = self.nodes.set_allocatable(row, has)
        if known:
            return Happened(Change.NODE_GREW, name) if (difference > 0).any() else NOTHING
        for uid in self._on_node.get(name, ()):
            self._count(self.pods[uid], 1)
        return Happened(Change.NODE_ADDED, name)

    def remove_node(self, name: str) -> None:
        """A node left. Its pods stay known, and count again if it returns."""
        if self.nodes.row_of(name) is not None:
            self.nodes.close_row(name)

    # --- what the API server says about pods ---

    def upsert_pod(self, pod: Pod) -> tuple[PodRecord, Happened]:
        """A pod appeared or changed: its record, and what that changed for others."""
        known = self.pods.get(pod.metadata.uid)
        record = self._record(pod)
        if known is not None and not record.bound:
            record.node = known.node  # still assumed where we put it; the API server has not heard of it yet
        self.pods[record.uid] = record
        if known is not None and known.node == record.node and known.shape is record.shape:
            return record, NOTHING
        freed = self._leave(known) if known is not None else NOTHING
        self._enter(record)
        return record, freed

    def remove_pod(self, uid: str) -> tuple[PodRecord | None, Happened]:
        """A pod is gone or finished: whatever it held is free."""
        record = self.pods.pop(uid, None)
        return record, self._leave(record) if record is not None else NOTHING

    # --- what the scheduler assumes ---

    def assume(self, uid: str, node: str) -> None:
        """Reserve: count a pod on a node before the API server has heard of it."""
        record = self.pods[uid]
        record.node = node
        self._enter(record)

    def forget(self, uid: str) -> Happened:
        """Unreserve: take back an assumption; what the API server has confirmed stays."""
        record = self.pods.get(uid)
        if record is None or record.bound:
            return NOTHING
        freed = self._leave(record)
        record.node = ""
        return freed

    def forget_all(self) -> None:
        """Take back every assumption, as when leadership was lost: what was accepted will be seen on the watch."""
        for record in self.pods.values():
            if record.node and not record.bound:
                self.forget(record.uid)

    # --- bookkeeping ---

    def _record(self, pod: Pod) -> PodRecord:
        meta, spec = pod.metadata, pod.spec
        shape, defect = None, ""
        try:
            shape = self.shapes.shape_of(pod)
            self.nodes.fit_resources()
        except MalformedValue as error:
            defect = str(error)
        scheduled = pod.condition(POD_SCHEDULED)
        return PodRecord(
            uid=meta.uid,
            namespace=meta.namespace,
            name=meta.name,
            scheduler=spec.scheduler_name,
            shape=shape,
            priority=spec.priority,
            created=seconds_of_instant(meta.creation_timestamp) if meta.creation_timestamp else 0.0,
            version=meta.resource_version,
            node=spec.node_name,
            bound=bool(spec.node_name),
            terminating=meta.deletion_timestamp is not None,
            gated=bool(spec.scheduling_gates),
            defect=defect,
            refusal_seen=scheduled.message if scheduled is not None and scheduled.status == "False" else "",
        )

    def _enter(self, record: PodRecord) -> None:
        if record.node:
            self._on_node[record.node].add(record.uid)
            self._count(record, 1)

    def _leave(self, record: PodRecord) -> Happened:
        if not record.node:
            return NOTHING
        uids = self._on_node[record.node]
        uids.discard(record.uid)
        if not uids:
            del self._on_node[record.node]
        self._count(record, -1)
        return Happened(Change.ROOM_FREED, record.node)

    def _count(self, record: PodRecord, times: int) -> None:
        row = self.nodes.row_of(record.node)
        if row is not None and record.shape is not None:
            self.nodes.take(row, record.shape, times)
