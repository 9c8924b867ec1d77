"""Every sink of the scheduler: what hears about which kind of object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from koordpy.api.podgroup import GROUPS
from koordpy.scheduler.ingest.budgets import BudgetSink
from koordpy.scheduler.ingest.nodes import NodeSink
from koordpy.scheduler.ingest.podgroups import PodGroupSink
from koordpy.scheduler.ingest.pods import PodSink
from koordpy.scheduler.ingest.storage import StorageSink
from koordpy.scheduler.ingest.topologies import TopologySink
from koordpy.scheduler.ingest.workloads import NamespaceSink, OwnerSink, ServiceSink
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.recovery import Recovery
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster

_OWNERS = ("ReplicationController", "ReplicaSet", "StatefulSet")


@dataclass(frozen=True, slots=True)
class Sinks:
    """One for each kind; the watches feed them, and so do tests."""

    pods: PodSink
    nodes: NodeSink
    pod_groups: dict[str, PodGroupSink]  # by API group
    topologies: TopologySink
    budgets: BudgetSink
    namespaces: NamespaceSink
    services: ServiceSink
    owners: dict[str, OwnerSink]  # by kind
    storage: dict[str, StorageSink[Any]]  # by kind

    @classmethod
    def build(
        cls,
        cluster: Cluster,
        jobs: Jobs,
        wakeups: Wakeups,
        recovery: Recovery,
        *,
        on_pod_gone: tuple[Callable[[str], None], ...] = (),
        on_storage_changed: Callable[[], None],
    ) -> Sinks:
        storage = cluster.storage
        tables: dict[str, dict[str, Any]] = {
            "PersistentVolumeClaim": storage.claims,
            "PersistentVolume": storage.volumes,
            "StorageClass": storage.classes,
            "CSINode": storage.csi_nodes,
            "CSIDriver": storage.drivers,
            "CSIStorageCapacity": storage.capacities,
            "VolumeAttachment": storage.attachments,
        }
        return cls(
            PodSink(cluster, jobs, wakeups, recovery, on_pod_gone),
            NodeSink(cluster, wakeups),
            {group: PodGroupSink(group, cluster, wakeups) for group in GROUPS},
            TopologySink(cluster, wakeups),
            BudgetSink(cluster),
            NamespaceSink(cluster, wakeups),
            ServiceSink(cluster, wakeups),
            {kind: OwnerSink(kind, cluster, wakeups) for kind in _OWNERS},
            {kind: StorageSink(table, cluster, wakeups, on_storage_changed) for kind, table in tables.items()},
        )
