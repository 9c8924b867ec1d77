"""Claims, volumes and what belongs to them, as API JSON (`..._json`) and as the picture takes them.

Every argument has a sane default: a claim of 1Gi that waits for its first consumer, a free volume of 10Gi, a class
without a provisioner. `claim(bound_to="pv1")` and `volume(claim="data")` are the two sides of a finished binding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
from tests.builders import Json, pod_json, typed, with_identity

HOSTNAME = "kubernetes.io/hostname"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
DRIVER = "disks.example.com"


def claim_json(
    name: str = "data",
    *,
    size: str = "1Gi",
    storage_class: str = "local",
    namespace: str = "default",
    modes: Iterable[str] = ("ReadWriteOnce",),
    bound_to: str = "",
    phase: str = "",
    owner: str = "",
    deleting: bool = False,
    beta_class: str = "",
    selected_node: str = "",
    **spec: Any,
) -> Json:
    """`owner` is the UID of the pod that an ephemeral claim was made for; further arguments go into the spec."""
    annotations = _given(**{BETA_CLASS: beta_class, SELECTED_NODE: selected_node})
    annotations |= {BIND_COMPLETED: "yes"} if bound_to else {}
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}] if owner else None
    gone = "2026-01-02T00:00:00Z" if deleting else None
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": namespace,
            **_given(annotations=annotations, ownerReferences=owners, deletionTimestamp=gone),
        },
        "spec": {
            "accessModes": list(modes),
            "resources": {"requests": _given(storage=size)},
            "storageClassName": storage_class,
            **_given(volumeName=bound_to),
            **spec,
        },
        "status": {"phase": phase or ("Bound" if bound_to else "Pending")},
    }


def volume_json(
    name: str = "pv1",
    *,
    size: str = "10Gi",
    storage_class: str = "local",
    modes: Iterable[str] = ("ReadWriteOnce",),
    nodes: Iterable[str] = (),
    claim: str = "",
    claim_uid: str = "",
    claim_namespace: str = "default",
    phase: str = "",
    labels: dict[str, str] | None = None,
    csi: str = "",
    driver: str = DRIVER,
    deleting: bool = False,
    beta_class: str = "",
    **spec: Any,
) -> Json:
    """`nodes` are the only ones that reach it; `claim` is whom it belongs to; `csi` is its handle."""
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [_in(HOSTNAME, *nodes)]}]}} if nodes else None
    source = {"csi": {"driver": driver, "volumeHandle": csi}} if csi else {"local": {"path": "/mnt"}}
    gone = "2026-01-02T00:00:00Z" if deleting else None
    reference = {"kind": "PersistentVolumeClaim", "namespace": claim_namespace, "name": claim, **_given(uid=claim_uid)}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            **_given(labels=labels, deletionTimestamp=gone, annotations=_given(**{BETA_CLASS: beta_class})),
        },
        "spec": {
            "capacity": {"storage": size},
            "accessModes": list(modes),
            "storageClassName": storage_class,
            **source,
            **_given(nodeAffinity=affinity, claimRef=reference if claim else None),
            **spec,
        },
        "status": {"phase": phase or ("Bound" if claim else "Available")},
    }


def storage_class_json(
    name: str = "local", *, provisioner: str = NO_PROVISIONER, waits: bool = True, zones: Iterable[str] = ()
) -> Json:
    """`zones` are its allowed topologies."""
    allowed = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": list(zones)}]}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        **_given(allowedTopologies=allowed if zones else None),
    }


def csi_node_json(name: str = "n1", *, limit: int | None = None, driver: str = DRIVER) -> Json:
    allocatable = {} if limit is None else {"allocatable": {"count": limit}}
    drivers = [{"name": driver, "nodeID": name, **allocatable}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def csi_driver_json(name: str = DRIVER, *, tracks_capacity: bool = True) -> Json:
    return {"metadata": {"name": name}, "spec": {"storageCapacity": tracks_capacity}}


def capacity_json(
    name: str = "room", *, capacity: str = "", largest: str = "", storage_class: str = "fast", nodes: Iterable[str] = ()
) -> Json:
    """What a driver says it has left on some nodes; on all, when none are named."""
    return {
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": storage_class,
        "nodeTopology": {"matchExpressions": [_in(HOSTNAME, *nodes)]} if nodes else {},
        **_given(capacity=capacity, maximumVolumeSize=largest),
    }


def attachment_json(volume: str, node: str = "n1", *, driver: str = DRIVER) -> Json:
    spec = {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return {"metadata": {"name": f"{volume}-at-{node}"}, "spec": spec}


def pod_with_json(*claims: str, name: str = "p1", ephemeral: Iterable[str] = (), **arguments: Any) -> Json:
    """A pod that uses these claims; `ephemeral` are names of volumes for each of which it gets a claim of its own."""
    disks = arguments.pop("disks", ())
    body = pod_json(name, **arguments)
    named = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}} for i, claim in enumerate(claims)]
    own = [{"name": volume, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}} for volume in ephemeral]
    body["spec"]["volumes"] = named + own + [{"name": f"d{i}", **disk} for i, disk in enumerate(disks)]
    return body


def claim(name: str = "data", **arguments: Any) -> PersistentVolumeClaim:
    return typed(with_identity(claim_json(name, **arguments)), PersistentVolumeClaim)


def volume(name: str = "pv1", **arguments: Any) -> PersistentVolume:
    return typed(with_identity(volume_json(name, **arguments)), PersistentVolume)


def storage_class(name: str = "local", **arguments: Any) -> StorageClass:
    return typed(with_identity(storage_class_json(name, **arguments)), StorageClass)


def csi_node(name: str = "n1", **arguments: Any) -> CSINode:
    return typed(with_identity(csi_node_json(name, **arguments)), CSINode)


def csi_driver(name: str = DRIVER, **arguments: Any) -> CSIDriver:
    return typed(with_identity(csi_driver_json(name, **arguments)), CSIDriver)


def capacity(name: str = "room", **arguments: Any) -> CSIStorageCapacity:
    return typed(with_identity(capacity_json(name, **arguments)), CSIStorageCapacity)


def attachment(volume: str, node: str = "n1", **arguments: Any) -> VolumeAttachment:
    return typed(with_identity(attachment_json(volume, node, **arguments)), VolumeAttachment)


def pod_with(*claims: str, **arguments: Any) -> Pod:
    return typed(with_identity(pod_with_json(*claims, **arguments)), Pod)


def _in(key: str, *values: str) -> Json:
    return {"key": key, "operator": "In", "values": list(values)}


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value}
