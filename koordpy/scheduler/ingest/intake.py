"""What the watches say, turned into changes of the picture and places in the queue.

Each sink is told one object at a time, between plans. It keeps the picture true first and wakes jobs second, so that
a job that is woken sees what woke it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

import structlog

from koordpy import metrics
from koordpy.api.errors import MalformedValue
from koordpy.api.meta import LabelSelector, ObjectMeta
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup import PodGroup
from koordpy.api.policy import PodDisruptionBudget
from koordpy.api.topology import NAME as TOPOLOGY_NAME
from koordpy.api.topology import ClusterNetworkTopology, Layer, chain
from koordpy.api.workload import Namespace, ReplicaSet, Service
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Wants
from koordpy.state.cluster import Cluster
from koordpy.state.events import NO_EVENT, ClusterEvent, EventKind
from koordpy.state.pods import PodRecord
from koordpy.state.room import Room
from koordpy.state.storage import NO_VOLUMES

log = structlog.get_logger()


class HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=HasMetadata)

_OTHER_SELECTORS = ClusterEvent(EventKind.SELECTORS, "")


class NodeIntake:
    """Nodes into columns."""

    def __init__(self, cluster: Cluster, queue: JobQueue, jobs: Jobs) -> None:
        self._cluster, self._queue, self._jobs = cluster, queue, jobs

    def upsert(self, node: Node) -> None:
        try:
            event = self._cluster.upsert_node(node)
        except MalformedValue as error:
            metrics.MALFORMED.labels("Node").inc()
            log.warning("malformed_object", kind="Node", object=node.metadata.name, problem=str(error))
            return
        self._changed(node.metadata.name, event)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - nodes are known by name
        self._changed(key, self._cluster.remove_node(key))

    def _changed(self, name: str, event: ClusterEvent) -> None:
        wake(self._cluster, self._queue, event)
        if event.kind:
            self._jobs.recheck_nominations({name})
        self._jobs.recheck_waiting(name)  # also if it shrank, which is good news for nobody


class PodIntake:
    """Pods into records; ours that are pending, into the queue.

    Twenty members of a gang that come at once are one piece of news about it. So what pods mean for gangs and for those
    who sleep is not worked out pod by pod, but when all that came together is in the picture: whoever feeds pods in
    calls `settle` then, before anything is planned.
    """

    def __init__(self, cluster: Cluster, queue: JobQueue, jobs: Jobs, on_gone: Callable[[str], None]) -> None:
        self._cluster, self._queue, self._jobs, self._on_gone = cluster, queue, jobs, on_gone
        self._news: list[ClusterEvent] = []
        self._entered: list[str] = []  # nodes that pods have come to

    def upsert(self, pod: Pod) -> None:
        if pod.is_finished:
            self._ended(pod.metadata.uid, self._cluster.finish_pod(pod))
            return
        known = self._cluster.pods.get(pod.metadata.uid)
        was_on = known.node if known is not None else ""
        with reshaping(self._cluster, self._jobs.refresh_all):
            record, event = self._cluster.upsert_pod(pod)
        if record.bound and any(record.volumes):
            # Its claims were bound before it was, so the API server's word replaces ours. A promise kept for the life
            # of the pod would hold back a volume that others could have by then.
            self._cluster.storage.unreserve(record.volumes)
            record.volumes = NO_VOLUMES
        if record.terminating and not record.bound:  # an assumption about a pod on its way out holds room for nobody
            event = event.merged_with(self._cluster.forget(record.uid))
        if record.defect:
            self._complain(record)
        self._jobs.pod_changed(record)
        if event is not NO_EVENT:
            self._news.append(event)
        if record.node and record.node != was_on:
            self._entered.append(record.node)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - pods are known by UID
        _, event = self._cluster.remove_pod(uid)
        self._cluster.gangs.finished_gone(uid)
        self._ended(uid, event)

    def _ended(self, uid: str, event: ClusterEvent) -> None:
        self._jobs.pod_gone(uid)
        self._on_gone(uid)
        if event is not NO_EVENT:
            self._news.append(event)

    def settle(self) -> None:
        """Everything that came together is in: gangs get their places first, and then others are woken by the news."""
        self._jobs.sync()
        news, self._news = self._news, []
        for event in news:
            wake(self._cluster, self._queue, event)
        entered, self._entered = dict.fromkeys(self._entered), []
        self._jobs.recheck_nominations(entered)
        for node in entered:
            if self._cluster.nodes.is_overcommitted(node):  # by somebody else: whoever only waits gives way
                self._jobs.recheck_waiting(node)

    def _complain(self, record: PodRecord) -> None:
        metrics.MALFORMED.labels("Pod").inc()
        log.warning("malformed_object", kind="Pod", object=record.key, problem=record.defect)


class PodGroupIntake:
    """PodGroups of one API group into gangs."""

    def __init__(self, api_group: str, cluster: Cluster, queue: JobQueue, jobs: Jobs) -> None:
        self._api_group, self._cluster, self._queue, self._jobs = api_group, cluster, queue, jobs

    def upsert(self, pod_group: PodGroup) -> None:
        self._set(pod_group.metadata.key, pod_group)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        self._set(key, None)

    def _set(self, key: str, pod_group: PodGroup | None) -> None:
        gangs = self._cluster.gangs
        went_whole = (gang := gangs.get(key)) is not None and gang.goes_whole
        gangs.set_pod_group(self._api_group, key, pod_group)
        self._jobs.sync()
        if went_whole and (gang := gangs.get(key)) is not None and not gang.goes_whole:
            for node in {member.node for member in gang.bound.values()}:  # some of them may be evicted by now
                wake(self._cluster, self._queue, ClusterEvent(EventKind.VICTIMS, node))


class TopologyIntake:
    """The ClusterNetworkTopology that counts. A broken one changes nothing: the last good tree stays."""

    def __init__(self, cluster: Cluster, queue: JobQueue) -> None:
        self._cluster, self._queue = cluster, queue

    def upsert(self, topology: ClusterNetworkTopology) -> None:
        if topology.metadata.name != TOPOLOGY_NAME:
            return
        try:
            layers = chain(topology.spec)
        except MalformedValue as error:
            metrics.MALFORMED.labels("ClusterNetworkTopology").inc()
            log.warning("malformed_object", kind="ClusterNetworkTopology", object=TOPOLOGY_NAME, problem=str(error))
            return
        self._set(layers)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        if key == TOPOLOGY_NAME:
            self._set(())

    def _set(self, layers: tuple[Layer, ...]) -> None:
        if self._cluster.topology.set_layers(layers):
            wake(self._cluster, self._queue, ClusterEvent(EventKind.DOMAINS, ""))


class BudgetIntake:
    """PodDisruptionBudgets, which a preemption violates only if it must."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def upsert(self, budget: PodDisruptionBudget) -> None:
        try:
            self._cluster.budgets.upsert(budget)
        except MalformedValue as error:
            self._cluster.budgets.remove(budget.metadata.key)
            metrics.MALFORMED.labels("PodDisruptionBudget").inc()
            log.warning("malformed_object", kind="PodDisruptionBudget", object=budget.metadata.key, problem=str(error))

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        self._cluster.budgets.remove(key)


class NamespaceIntake:
    """Namespace labels, which affinity terms select by."""

    def __init__(self, cluster: Cluster, queue: JobQueue) -> None:
        self._cluster, self._queue = cluster, queue

    def upsert(self, namespace: Namespace) -> None:
        labels = namespace.metadata.labels
        wake(self._cluster, self._queue, self._cluster.set_namespace(namespace.metadata.name, labels))

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        wake(self._cluster, self._queue, self._cluster.set_namespace(key, None))


class ServiceIntake:
    """Service selectors, by which pods are spread that do not say how."""

    def __init__(self, cluster: Cluster, queue: JobQueue, on_reshaped: Callable[[], None]) -> None:
        self._cluster, self._queue, self._on_reshaped = cluster, queue, on_reshaped

    def upsert(self, service: Service) -> None:
        meta = service.metadata
        with reshaping(self._cluster, self._on_reshaped):
            self._cluster.set_service(meta.namespace, meta.name, service.spec.selector)
        wake(self._cluster, self._queue, _OTHER_SELECTORS)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        namespace, _, name = key.partition("/")
        self._cluster.set_service(namespace, name, None)
        wake(self._cluster, self._queue, _OTHER_SELECTORS)


class OwnerIntake:
    """The selectors of ReplicaSets, StatefulSets and ReplicationControllers, to the same end."""

    def __init__(self, kind: str, cluster: Cluster, queue: JobQueue, on_reshaped: Callable[[], None]) -> None:
        self._kind, self._cluster, self._queue, self._on_reshaped = kind, cluster, queue, on_reshaped

    def upsert(self, owner: ReplicaSet | Service) -> None:
        meta, selector = owner.metadata, owner.spec.selector
        if isinstance(selector, dict):
            selector = LabelSelector(match_labels=selector)
        with reshaping(self._cluster, self._on_reshaped):
            self._cluster.set_owner(self._kind, meta.namespace, meta.name, selector)
        wake(self._cluster, self._queue, _OTHER_SELECTORS)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        namespace, _, name = key.partition("/")
        self._cluster.set_owner(self._kind, namespace, name, None)
        wake(self._cluster, self._queue, _OTHER_SELECTORS)


class StorageIntake(Generic[T]):
    """Claims, volumes, classes and drivers, each kind into its own table."""

    def __init__(self, table: dict[str, T], cluster: Cluster, queue: JobQueue, on_change: Callable[[], None]) -> None:
        self._table, self._cluster, self._queue, self._on_change = table, cluster, queue, on_change

    def upsert(self, obj: T) -> None:
        self._table[obj.metadata.key] = obj
        self._changed()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        self._table.pop(key, None)
        self._changed()

    def _changed(self) -> None:
        self._cluster.storage.changed()
        self._on_change()
        wake(self._cluster, self._queue, ClusterEvent(EventKind.STORAGE, ""))


@contextmanager
def reshaping(cluster: Cluster, on_reshaped: Callable[[], None]) -> Iterator[None]:
    """Tells when pods were given other shapes within: their places in the queue are by shape."""
    before = cluster.reshapings
    yield
    if cluster.reshapings != before:
        on_reshaped()


def wake(cluster: Cluster, queue: JobQueue, event: ClusterEvent) -> None:
    """Wake what the change could cure, if the node it event on has room for it."""
    if event is not NO_EVENT and queue.anybody_sleeps and event.kind:
        found = (cluster.nodes.row_of(name) for name in (event.node, event.other_node))
        rows = [row for row in found if row is not None]
        room = Room(cluster)
        queue.wake(event.kind, lambda wants, priority: _has_room(room, rows, wants, priority))


def _has_room(room: Room, rows: list[int], wants: Wants, priority: int) -> bool:
    """One of these nodes has a slot for some of the job, and all nodes together have slots for the rest."""
    if not any(room.on(row, shape, priority) for shape, _ in wants for row in rows):
        return False
    return all(room.anywhere(shape, count, priority) for shape, count in wants)
