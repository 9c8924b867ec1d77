"""A picture with storage in it, and what planning one pod on it says."""

from __future__ import annotations

from typing import Any

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.pods import plan
from koordpy.state.cluster import Cluster
from koordpy.state.storage import VolumeChoice

PROFILE = default_profile("koord-scheduler")
TABLES = {
    PersistentVolumeClaim: "claims",
    PersistentVolume: "volumes",
    StorageClass: "classes",
    CSINode: "csi_nodes",
    CSIDriver: "drivers",
    CSIStorageCapacity: "capacities",
    VolumeAttachment: "attachments",
}


def cluster_of(*objects: Any) -> Cluster:
    """A picture of nodes, pods and storage."""
    cluster = Cluster()
    tell(cluster, *objects)
    return cluster


def tell(cluster: Cluster, *objects: Any) -> None:
    """As the watches would."""
    for each in objects:
        if isinstance(each, Node):
            cluster.upsert_node(each)
        elif isinstance(each, Pod):
            cluster.upsert_pod(each)
        else:
            getattr(cluster.storage, TABLES[type(each)])[each.metadata.key] = each
            cluster.storage.changed()


def answer(cluster: Cluster, *pods: Pod) -> Plan | Refusal:
    """The pods as one job."""
    return plan(Job("job", tuple(cluster.upsert_pod(pod) for pod in pods)), cluster, PROFILE)


def refusal(cluster: Cluster, *pods: Pod) -> str:
    """Why the job cannot run, without the preamble that counts the nodes."""
    refused = answer(cluster, *pods)
    assert isinstance(refused, Refusal), refused
    return refused.message.removeprefix(f"0/{len(cluster.nodes)} nodes are available: ").removesuffix(".")


def placed(cluster: Cluster, pod: Pod) -> Placement:
    plan_ = answer(cluster, pod)
    assert isinstance(plan_, Plan), plan_.message
    return plan_.placements[0]


def chosen(cluster: Cluster, pod: Pod) -> dict[str, str]:
    """Which volume each claim gets, where the pod goes; empty for one to be provisioned. Claims by name."""
    return by_claim(placed(cluster, pod).volumes)


def by_claim(volumes: VolumeChoice) -> dict[str, str]:
    found = {key.partition("/")[2]: name for key, name in volumes.static}
    return found | {key.partition("/")[2]: "" for key in volumes.provisioned}


def assumed(cluster: Cluster, pod: Pod) -> Placement:
    """Plan the pod and reserve what was planned."""
    placement = placed(cluster, pod)
    cluster.assume(placement.uid, placement.node, placement.volumes)
    return placement


def promises(cluster: Cluster) -> list[Any]:
    """Everything that storage remembers for pods; empty when nothing is reserved."""
    storage = cluster.storage
    return [promise for name, table in vars(storage).items() if "reserved" in name for promise in table.items()]
