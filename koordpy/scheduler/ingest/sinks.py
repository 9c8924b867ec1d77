"""Every sink of the scheduler: what hears about which kind of object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from koordpy.api.coordination import Lease
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup import coscheduling, kai, native, schedulingspec
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.api.policy import PodDisruptionBudget, PriorityClass
from koordpy.api.queue import Queue
from koordpy.api.topologystatus import TopologyObject
from koordpy.api.workload import Namespace, Service
from koordpy.kube.watch.sinks import Sink
from koordpy.scheduler.execute.inflight import InFlight
from koordpy.scheduler.grouper import Grouper
from koordpy.scheduler.ingest.budgets import BudgetSink
from koordpy.scheduler.ingest.guard import GuardedSink
from koordpy.scheduler.ingest.nodes import NodeSink
from koordpy.scheduler.ingest.podgroups import GangDefinitions, PodGroupSink, SchedulingSpecSink
from koordpy.scheduler.ingest.pods import PodSink
from koordpy.scheduler.ingest.priorityclasses import PriorityClassSink
from koordpy.scheduler.ingest.queues import QueueSink
from koordpy.scheduler.ingest.storage import StorageSink
from koordpy.scheduler.ingest.topologies import TopologySink
from koordpy.scheduler.ingest.workloads import NamespaceSink, OwnerSink, ServiceSink
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.recovery import Recovery
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.storage import Storage

_OWNERS = ("ReplicationController", "ReplicaSet", "StatefulSet")


@dataclass(frozen=True, slots=True)
class Sinks:
    """One for each kind, guarded; the watches feed them, and so do tests."""

    pods: Sink[Pod]
    settle_pods: Callable[[], None]  # to be called when all pods that came together were told
    nodes: Sink[Node]
    gang_objects: Mapping[str, Sink[Any]]  # by API version
    gang_objects_served: Callable[[str, bool], None]  # to be called with an API version that is installed, or is not
    priority_classes: Sink[PriorityClass]
    grouper: Sink[Lease]
    queues: Sink[Queue]
    settle_queues: Callable[[], None]  # to be called when all Queues that came together were told
    topologies: Sink[TopologyObject]
    budgets: Sink[PodDisruptionBudget]
    namespaces: Sink[Namespace]
    services: Sink[Service]
    owners: Mapping[str, Sink[Any]]  # by kind
    storage: Mapping[str, Sink[Any]]  # by kind

    @classmethod
    def build(
        cls,
        cluster: Cluster,
        jobs: Jobs,
        wakeups: Wakeups,
        recovery: Recovery,
        *,
        in_flight: InFlight,
        grouper: Grouper,
        book: QueueBook,
        on_pending: tuple[Callable[[Pod, PodRecord], None], ...],
        on_pod_gone: tuple[Callable[[str], None], ...] = (),
        on_pod_finished: Callable[[Pod, PodRecord | None], None],
        on_storage_changed: Callable[[], None],
        on_foreign_bind: Callable[[PodRecord], None],
    ) -> Sinks:
        tables = _storage_tables(cluster.storage)
        pods = PodSink(
            cluster,
            jobs,
            wakeups,
            in_flight,
            on_pending=on_pending,
            on_gone=on_pod_gone,
            on_finished=on_pod_finished,
            on_foreign_bind=on_foreign_bind,
        )

        queues = QueueSink(book, cluster, wakeups)

        def guarded(sink: Sink[Any]) -> Sink[Any]:
            return GuardedSink(sink, recovery)

        return cls(
            guarded(pods),
            partial(recovery.guard, pods.settle),
            guarded(NodeSink(cluster, wakeups)),
            {version: guarded(sink) for version, sink in _gang_object_sinks(cluster, wakeups)},
            GangDefinitions(cluster, wakeups).served,
            guarded(PriorityClassSink(cluster, wakeups)),
            guarded(grouper),
            guarded(queues),
            partial(recovery.guard, queues.settle),
            guarded(TopologySink(cluster, wakeups)),
            guarded(BudgetSink(cluster)),
            guarded(NamespaceSink(cluster, wakeups)),
            guarded(ServiceSink(cluster, wakeups)),
            {kind: guarded(OwnerSink(kind, cluster, wakeups)) for kind in _OWNERS},
            {kind: guarded(StorageSink(table, cluster, wakeups, on_storage_changed)) for kind, table in tables.items()},
        )


def _gang_object_sinks(cluster: Cluster, wakeups: Wakeups) -> Iterator[tuple[str, Sink[Any]]]:
    """By API version."""
    adapters: dict[str, Callable[[Any], GangObject]] = {kai.API_VERSION: kai.gang_object_of}
    for group in coscheduling.GROUPS:
        adapters[f"{group}/{coscheduling.VERSION}"] = partial(coscheduling.gang_object_of, group)
    for version in native.VERSIONS:
        adapters[f"{native.GROUP}/{version}"] = partial(native.gang_object_of, version)
    for api_version, read in adapters.items():
        yield api_version, PodGroupSink(api_version, read, cluster, wakeups)
    yield schedulingspec.API_VERSION, SchedulingSpecSink(schedulingspec.API_VERSION, cluster, wakeups)


def _storage_tables(storage: Storage) -> dict[str, dict[str, Any]]:
    """By kind."""
    return {
        "PersistentVolumeClaim": storage.claims,
        "PersistentVolume": storage.volumes,
        "StorageClass": storage.classes,
        "CSINode": storage.csi_nodes,
        "CSIDriver": storage.drivers,
        "CSIStorageCapacity": storage.capacities,
        "VolumeAttachment": storage.attachments,
    }
