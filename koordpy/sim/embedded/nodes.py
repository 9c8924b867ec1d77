"""Simulated nodes: the Node objects that kubelets would register."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Obj = dict[str, Any]

_HEALTHY = {
    "MemoryPressure": "KubeletHasSufficientMemory",
    "DiskPressure": "KubeletHasNoDiskPressure",
    "PIDPressure": "KubeletHasSufficientPID",
}


def simulated_node(
    name: str,
    *,
    cpu: str = "16",
    memory: str = "64Gi",
    pods: int = 110,
    extended: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: list[Obj] | None = None,
    now: str | None = None,
) -> Obj:
    """A Ready node; `extended` are amounts of other resources, such as `{"nvidia.com/gpu": "8"}`."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "100Gi"}
    amounts |= extended or {}
    known = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": known | dict(labels or {})},
        "spec": {"taints": taints} if taints else {},
        "status": {
            "capacity": amounts,
            "allocatable": dict(amounts),
            "conditions": _conditions(now),
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": _node_info(),
        },
    }


def lease_of(node: Obj) -> Obj:
    """The Lease by which a kubelet says that it lives; nobody watches it here, so it is never renewed."""
    name, registered = node["metadata"]["name"], node["metadata"]["creationTimestamp"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": registered.replace("Z", ".000000Z")}
    return {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec}


def _conditions(now: str | None) -> list[Obj]:
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now} if now else {}
    conditions = [{"type": kind, "status": "False", "reason": why, **times} for kind, why in _HEALTHY.items()]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", **times}
    return [*conditions, ready]


def _node_info() -> Obj:
    fields = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion")
    simulated: Obj = dict.fromkeys(fields, "simulated")
    versions = {"kubeletVersion": "v1.36.3", "kubeProxyVersion": "v1.36.3"}
    return simulated | versions | {"operatingSystem": "linux", "architecture": "amd64"}
