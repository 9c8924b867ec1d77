"""Everything the scheduler watches, each resource with the sink that takes it into the picture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from koordpy.api import topology
from koordpy.api.decode import Decoder
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup import GROUPS, VERSION, PodGroup
from koordpy.api.policy import PodDisruptionBudget
from koordpy.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from koordpy.api.workload import Namespace, ReplicaSet, Service
from koordpy.kube.client import Client
from koordpy.kube.watch.reflector import Reflector, Resource
from koordpy.scheduler.ingest.intake import (
    BudgetIntake,
    NamespaceIntake,
    NodeIntake,
    OwnerIntake,
    PodGroupIntake,
    PodIntake,
    ServiceIntake,
    StorageIntake,
    TopologyIntake,
)
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.state.cluster import Cluster

# Finished pods too: a member that has succeeded counts for its gang.
_PODS = Resource("/api/v1/pods", Decoder("Pod", Pod))
_POD_GROUPS = {
    group: Resource(f"/apis/{group}/{VERSION}/podgroups", Decoder("PodGroup", PodGroup), optional=True)
    for group in GROUPS
}
_NODES = Resource("/api/v1/nodes", Decoder("Node", Node))
_TOPOLOGIES = Resource(
    f"/apis/{topology.GROUP}/{topology.VERSION}/clusternetworktopologies",
    Decoder(topology.KIND, topology.ClusterNetworkTopology),
    optional=True,
)
_BUDGETS = Resource("/apis/policy/v1/poddisruptionbudgets", Decoder("PodDisruptionBudget", PodDisruptionBudget))
_NAMESPACES = Resource("/api/v1/namespaces", Decoder("Namespace", Namespace))
_SERVICES = Resource("/api/v1/services", Decoder("Service", Service))
_REPLICATION_CONTROLLERS = Resource("/api/v1/replicationcontrollers", Decoder("ReplicationController", Service))
_REPLICA_SETS = Resource("/apis/apps/v1/replicasets", Decoder("ReplicaSet", ReplicaSet))
_STATEFUL_SETS = Resource("/apis/apps/v1/statefulsets", Decoder("StatefulSet", ReplicaSet))


_CLAIMS = Resource("/api/v1/persistentvolumeclaims", Decoder("PersistentVolumeClaim", PersistentVolumeClaim))
_VOLUMES = Resource("/api/v1/persistentvolumes", Decoder("PersistentVolume", PersistentVolume))
_STORAGE = "/apis/storage.k8s.io/v1/"
_CLASSES = Resource(_STORAGE + "storageclasses", Decoder("StorageClass", StorageClass))
_CSI_NODES = Resource(_STORAGE + "csinodes", Decoder("CSINode", CSINode))
_DRIVERS = Resource(_STORAGE + "csidrivers", Decoder("CSIDriver", CSIDriver))
_CAPACITIES = Resource(_STORAGE + "csistoragecapacities", Decoder("CSIStorageCapacity", CSIStorageCapacity))
_ATTACHMENTS = Resource(_STORAGE + "volumeattachments", Decoder("VolumeAttachment", VolumeAttachment))


class Watches:
    """The reflectors of one process."""

    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        queue: JobQueue,
        jobs: Jobs,
        *,
        on_pod_gone: tuple[Callable[[str], None], ...],
        on_storage_changed: Callable[[], None],
    ) -> None:
        def gone(uid: str) -> None:
            for each in on_pod_gone:
                each(uid)
            on_storage_changed()  # whoever waits for the volumes of this pod need not any more

        pods = PodIntake(cluster, queue, jobs, on_gone=gone)
        self.pods = Reflector(client, _PODS, pods, pods.settle)
        reshaped = jobs.refresh_all
        self.others: tuple[Reflector[Any], ...] = (
            Reflector(client, _NODES, NodeIntake(cluster, queue, jobs)),
            *(
                Reflector(client, resource, PodGroupIntake(group, cluster, queue, jobs))
                for group, resource in _POD_GROUPS.items()
            ),
            Reflector(client, _TOPOLOGIES, TopologyIntake(cluster, queue)),
            Reflector(client, _BUDGETS, BudgetIntake(cluster)),
            Reflector(client, _NAMESPACES, NamespaceIntake(cluster, queue)),
            Reflector(client, _SERVICES, ServiceIntake(cluster, queue, reshaped)),
            Reflector(client, _REPLICATION_CONTROLLERS, OwnerIntake("ReplicationController", cluster, queue, reshaped)),
            Reflector(client, _REPLICA_SETS, OwnerIntake("ReplicaSet", cluster, queue, reshaped)),
            Reflector(client, _STATEFUL_SETS, OwnerIntake("StatefulSet", cluster, queue, reshaped)),
            *_storage(client, cluster, queue, on_storage_changed),
        )

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in (self.pods, *self.others):
                group.create_task(reflector.run())

    async def synced(self) -> None:
        """Return when everything has been listed once."""
        for reflector in (self.pods, *self.others):
            await reflector.synced.wait()

    def checks(self) -> dict[str, Callable[[], str]]:
        """What is wrong with each watch, for `/readyz`."""
        return {f"watch-{reflector.full_name}": _trouble(reflector) for reflector in (self.pods, *self.others)}


def _storage(
    client: Client, cluster: Cluster, queue: JobQueue, on_change: Callable[[], None]
) -> Iterator[Reflector[Any]]:
    storage = cluster.storage
    tables: tuple[tuple[Resource[Any], dict[str, Any]], ...] = (
        (_CLAIMS, storage.claims),
        (_VOLUMES, storage.volumes),
        (_CLASSES, storage.classes),
        (_CSI_NODES, storage.csi_nodes),
        (_DRIVERS, storage.drivers),
        (_CAPACITIES, storage.capacities),
        (_ATTACHMENTS, storage.attachments),
    )
    for resource, table in tables:
        yield Reflector(client, resource, StorageIntake(table, cluster, queue, on_change))


def _trouble(reflector: Reflector[Any]) -> Callable[[], str]:
    return lambda: reflector.trouble or ("" if reflector.synced.is_set() else "not synced yet")
