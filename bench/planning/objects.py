"""Nodes and pods as a busy API server shows them, managed fields, status and all.

Memory and decoding are measured on these, so they are as long as real ones (about 2 KB each); what is in them differs
from object to object only as far as it does in a cluster: apps of a hundred equal pods, zones, pools.
"""

from __future__ import annotations

from typing import Any

import msgspec

from koordpy.api.decode import Decoder
from koordpy.api.node import Node
from koordpy.api.pod import Pod

Json = dict[str, Any]

ZONES = 16
PODS_PER_APP = 100
SCHEDULER = "koord-scheduler"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"

_decode_node = Decoder("Node", Node)
_decode_pod = Decoder("Pod", Pod)


def node_name(number: int) -> str:
    return f"node-{number:05d}"


def app_of(number: int) -> str:
    return f"app-{number // PODS_PER_APP:04d}"


def node(number: int, *, cpu: int = 32) -> Json:
    """Half have SSDs, one in ten belongs to a tainted pool, one in ten is discouraged."""
    name = node_name(number)
    taints = {
        0: [{"key": "pool", "value": "batch", "effect": "NoSchedule"}],
        1: [{"key": "old", "effect": "PreferNoSchedule"}],
    }.get(number % 10, [])
    labels = {HOSTNAME: name, ZONE: f"zone-{number % ZONES:02d}", "disk": ("ssd", "hdd")[number % 2]}
    amounts = {"cpu": str(cpu), "memory": "128Gi", "pods": "110", "ephemeral-storage": "500Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(name, labels, number),
        "spec": {"taints": taints, "podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [_condition(kind) for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "Linux", "architecture": "amd64"},
        },
    }


def pod(number: int, *, app: str, cpu_m: int = 100, node: str = "", **spec: Any) -> Json:
    """A pod of a ReplicaSet; further arguments are fields of its spec. It runs if it has a node."""
    name = f"{app}-{number:06d}"
    labels = {"app": app, "pod-template-hash": "6c9f5d7b8"}
    volume = {"name": "config", "mountPath": "/etc/config", "readOnly": True}
    container = {
        "name": "main",
        "image": f"registry.example.com/{app}:1.2.3",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": f"{cpu_m}m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "volumeMounts": [volume],
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(name, labels, number)
        | {"namespace": "default", "ownerReferences": [_owner(app)], "generateName": f"{app}-"},
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [container],
            "volumes": [{"name": "config", "configMap": {"name": app}}],
            "tolerations": [_default_toleration("not-ready"), _default_toleration("unreachable")],
            "restartPolicy": "Always",
            "priority": 0,
            **({"nodeName": node} if node else {}),
            **spec,
        },
        "status": _running(name) if node else {"phase": "Pending"},
    }


def typed_node(obj: Json) -> Node:
    return _decode_node(msgspec.json.encode(obj))


def typed_pod(obj: Json) -> Pod:
    """Through bytes, as from the wire."""
    return _decode_pod(msgspec.json.encode(obj))


def _metadata(name: str, labels: dict[str, str], number: int) -> Json:
    written = {"f:metadata": {"f:labels": {".": {}, **{f"f:{key}": {} for key in labels}}}, "f:spec": {"f:x": {}}}
    return {
        "name": name,
        "uid": f"0e5f2f5c-0000-4000-8000-{number:06d}-{name}"[:64],
        "resourceVersion": str(1000 + number),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": labels,
        "managedFields": [
            {"manager": manager, "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": written}
            for manager in ("kube-controller-manager", "kubelet")
        ],
    }


def _owner(app: str) -> Json:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"uid-{app}", "controller": True}


def _default_toleration(condition: str) -> Json:
    key = f"node.kubernetes.io/{condition}"
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def _running(name: str) -> Json:
    state = {"running": {"startedAt": "2026-01-01T00:00:01Z"}}
    status = {"name": "main", "ready": True, "restartCount": 0, "state": state, "containerID": f"cri://{name}"}
    kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "podIP": "10.1.2.3",
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": [_condition(kind) for kind in kinds],
        "containerStatuses": [status],
    }


def _condition(kind: str) -> Json:
    instant = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": "True", "lastTransitionTime": instant, "lastProbeTime": None, "reason": "Fine"}
