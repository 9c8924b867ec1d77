"""Everything the scheduler watches, each resource with the sink that takes it into the state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
from koordpy.scheduler.ingest.sinks import Sinks

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
_STORAGE = "/apis/storage.k8s.io/v1/"
_STORAGE_KINDS: dict[str, Resource[Any]] = {
    "PersistentVolumeClaim": Resource(
        "/api/v1/persistentvolumeclaims", Decoder("PersistentVolumeClaim", PersistentVolumeClaim)
    ),
    "PersistentVolume": Resource("/api/v1/persistentvolumes", Decoder("PersistentVolume", PersistentVolume)),
    "StorageClass": Resource(_STORAGE + "storageclasses", Decoder("StorageClass", StorageClass)),
    "CSINode": Resource(_STORAGE + "csinodes", Decoder("CSINode", CSINode)),
    "CSIDriver": Resource(_STORAGE + "csidrivers", Decoder("CSIDriver", CSIDriver)),
    "CSIStorageCapacity": Resource(
        _STORAGE + "csistoragecapacities", Decoder("CSIStorageCapacity", CSIStorageCapacity)
    ),
    "VolumeAttachment": Resource(_STORAGE + "volumeattachments", Decoder("VolumeAttachment", VolumeAttachment)),
}


class Watches:
    """The reflectors of the scheduler."""

    def __init__(self, client: Client, sinks: Sinks) -> None:
        self.pods = Reflector(client, _PODS, sinks.pods, sinks.settle_pods)
        self.others: tuple[Reflector[Any], ...] = (
            Reflector(client, _NODES, sinks.nodes),
            *(Reflector(client, resource, sinks.pod_groups[group]) for group, resource in _POD_GROUPS.items()),
            Reflector(client, _TOPOLOGIES, sinks.topologies),
            Reflector(client, _BUDGETS, sinks.budgets),
            Reflector(client, _NAMESPACES, sinks.namespaces),
            Reflector(client, _SERVICES, sinks.services),
            Reflector(client, _REPLICATION_CONTROLLERS, sinks.owners["ReplicationController"]),
            Reflector(client, _REPLICA_SETS, sinks.owners["ReplicaSet"]),
            Reflector(client, _STATEFUL_SETS, sinks.owners["StatefulSet"]),
            *(Reflector(client, resource, sinks.storage[kind]) for kind, resource in _STORAGE_KINDS.items()),
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


def _trouble(reflector: Reflector[Any]) -> Callable[[], str]:
    return lambda: reflector.trouble or ("" if reflector.synced.is_set() else "not synced yet")
