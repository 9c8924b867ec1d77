"""Every resource that is watched: where it is served, and what its objects are decoded to.

One process watches each of them once (`kube/watch/shared.py`). So controllers that want the same kind subscribe to the
resource that stands here.
"""

from __future__ import annotations

from typing import Any

from koordpy.api import queue, topology
from koordpy.api.coordination import Lease
from koordpy.api.decode import Decoder
from koordpy.api.definitions import INSTALL
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup import kai, native, schedulingspec
from koordpy.api.podgroup.coscheduling import GROUPS, VERSION, PodGroup
from koordpy.api.policy import PodDisruptionBudget, PriorityClass
from koordpy.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from koordpy.api.topologystatus import TopologyObject
from koordpy.api.workload import Namespace, ReplicaSet, Service
from koordpy.kube.watch.definitions import Definition
from koordpy.kube.watch.reflector import Resource

# Finished pods too: a member that has succeeded counts for its gang.
PODS = Resource("/api/v1/pods", Decoder("Pod", Pod))
NODES = Resource("/api/v1/nodes", Decoder("Node", Node))
POD_GROUPS = {  # of the coscheduling kind, by API group
    group: Resource(f"/apis/{group}/{VERSION}/podgroups", Decoder("PodGroup", PodGroup), optional=True)
    for group in GROUPS
}
POD_GROUP_DEFINITION = Definition(
    "podgroups",
    tuple(POD_GROUPS.values()),
    f"{INSTALL}; until then pods that name a PodGroup wait",
    is_waited_for=True,
)
KAI_POD_GROUPS = Resource(f"/apis/{kai.API_VERSION}/podgroups", Decoder("PodGroup", kai.KaiPodGroup), optional=True)
NATIVE_POD_GROUPS = {
    version: Resource(
        f"/apis/{native.GROUP}/{version}/podgroups",
        Decoder("PodGroup", native.NativePodGroup),
        optional=True,
        of_a_version=True,
    )
    for version in native.VERSIONS
}
SCHEDULING_SPECS = Resource(
    f"/apis/{schedulingspec.API_VERSION}/schedulingspecs",
    Decoder("SchedulingSpec", schedulingspec.SchedulingSpec),
    optional=True,
)
# The objects of gangs of every front-end, by API version.
GANG_OBJECTS: dict[str, Resource[Any]] = {
    **{f"{group}/{VERSION}": resource for group, resource in POD_GROUPS.items()},
    kai.API_VERSION: KAI_POD_GROUPS,
    **{f"{native.GROUP}/{version}": resource for version, resource in NATIVE_POD_GROUPS.items()},
    schedulingspec.API_VERSION: SCHEDULING_SPECS,
}
QUEUES = Resource(
    f"/apis/{queue.GROUP}/{queue.VERSION}/{queue.PLURAL}", Decoder(queue.KIND, queue.Queue), optional=True
)
PRIORITY_CLASSES = Resource("/apis/scheduling.k8s.io/v1/priorityclasses", Decoder("PriorityClass", PriorityClass))


def lease(namespace: str, name: str) -> Resource[Lease]:
    """One lease, such as that of the grouper."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    return Resource(path, Decoder("Lease", Lease), field_selector=f"metadata.name={name}")


TOPOLOGIES = Resource(
    f"/apis/{topology.GROUP}/{topology.VERSION}/clusternetworktopologies",
    Decoder(topology.KIND, TopologyObject),
    field_selector=f"metadata.name={topology.NAME}",
    optional=True,
)
BUDGETS = Resource("/apis/policy/v1/poddisruptionbudgets", Decoder("PodDisruptionBudget", PodDisruptionBudget))
NAMESPACES = Resource("/api/v1/namespaces", Decoder("Namespace", Namespace))
SERVICES = Resource("/api/v1/services", Decoder("Service", Service))
OWNERS: dict[str, Resource[Any]] = {
    "ReplicationController": Resource("/api/v1/replicationcontrollers", Decoder("ReplicationController", Service)),
    "ReplicaSet": Resource("/apis/apps/v1/replicasets", Decoder("ReplicaSet", ReplicaSet)),
    "StatefulSet": Resource("/apis/apps/v1/statefulsets", Decoder("StatefulSet", ReplicaSet)),
}
_STORAGE = "/apis/storage.k8s.io/v1/"
STORAGE: dict[str, Resource[Any]] = {
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
