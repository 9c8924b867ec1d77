"""Disks of drivers that once were part of Kubernetes, in the words of the CSI drivers that have taken their place.

Only what scheduling needs: the driver and the handle by which a disk counts towards a node's limit, and the node
affinity of a volume in the driver's own labels. What cannot be translated is left as it is: the kubelet will say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from koordpy.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from koordpy.api.keys import BETA_REGION, BETA_ZONE, MIGRATED_PLUGINS, REGION, ZONE
from koordpy.api.pod import AzureDisk, InTreeDisks
from koordpy.api.storage import CSINode, CSISource, PersistentVolume

_NO_LABELS: Mapping[str, str] = {}
_EBS_URL = re.compile(r"aws://[^/]*/+(vol-[^/]*)/*")
_GCE_PARTS_OF_A_ZONE = 3  # europe-west4-a


class _Heir(NamedTuple):
    """Who has taken over an in-tree plugin."""

    plugin: str  # the name that classes and CSINodes use
    driver: str
    zone_key: str = ""  # the node label for zones, if the driver has its own


_EBS = _Heir("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone")
_GCE = _Heir("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone")
_AZURE = _Heir("kubernetes.io/azure-disk", "disk.csi.azure.com")
_CINDER = _Heir("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone")
_PORTWORX = _Heir("kubernetes.io/portworx-volume", "pxd.portworx.com")
_DRIVERS = {heir.plugin: heir.driver for heir in (_EBS, _GCE, _AZURE, _CINDER, _PORTWORX)}


def driver_of(provisioner: str) -> str:
    """The driver that makes the volumes of a class."""
    return _DRIVERS.get(provisioner, provisioner)


def as_csi(disks: InTreeDisks, labels: Mapping[str, str] = _NO_LABELS) -> CSISource | None:
    """The disk of a pod, or of a volume with these labels, as its driver knows it; None if no driver does."""
    if disks.aws_elastic_block_store is not None:
        heir, handle = _EBS, _ebs_handle(disks.aws_elastic_block_store.volume_id)
    elif disks.gce_persistent_disk is not None:
        heir, handle = _GCE, _gce_handle(disks.gce_persistent_disk.pd_name, labels)
    elif disks.azure_disk is not None:
        heir, handle = _AZURE, _azure_handle(disks.azure_disk)
    elif disks.cinder is not None:
        heir, handle = _CINDER, disks.cinder.volume_id
    elif disks.portworx_volume is not None:
        heir, handle = _PORTWORX, disks.portworx_volume.volume_id
    else:
        return None
    return CSISource(heir.driver, handle) if handle else None


def translated_affinity(volume: PersistentVolume) -> tuple[str, NodeSelector] | None:
    """The plugin of a volume, and where it is reached from on nodes that have migrated it; None if that is the same."""
    if volume.spec.aws_elastic_block_store is not None:
        heir = _EBS
    elif volume.spec.gce_persistent_disk is not None:
        heir = _GCE
    elif volume.spec.cinder is not None:
        heir = _CINDER
    else:
        return None
    if as_csi(volume.spec, volume.metadata.labels) is None:
        return None
    required = volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None
    terms = _in_zones_of(heir, required.node_selector_terms if required is not None else (), volume.metadata.labels)
    return (heir.plugin, NodeSelector(terms)) if terms else None


def has_migrated(csi_node: CSINode | None, plugin: str) -> bool:
    """The node leaves the disks of an in-tree plugin to its heir."""
    return csi_node is not None and plugin in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


# --- handles ---


def _ebs_handle(volume_id: str) -> str:
    """Once, volumes were named by a URL with their zone in it; empty if it is none of that kind."""
    if not volume_id.startswith("aws://"):
        return volume_id
    found = _EBS_URL.fullmatch(volume_id)
    return found[1] if found else ""


def _gce_handle(name: str, labels: Mapping[str, str]) -> str:
    """A disk is in one zone, in several of a region, or nobody says; empty if the zones make no region."""
    label = labels.get(BETA_ZONE) or labels.get(ZONE, "")
    zones = label.split("__")
    if len(zones) == 1:
        return f"projects/UNSPECIFIED/zones/{label or 'UNSPECIFIED'}/disks/{name}"
    parts = [zone.split("-") for zone in zones]
    regions = {"-".join(each[:2]) for each in parts if len(each) == _GCE_PARTS_OF_A_ZONE}
    if len(regions) != 1 or any(len(each) != _GCE_PARTS_OF_A_ZONE for each in parts):
        return ""
    return f"projects/UNSPECIFIED/regions/{regions.pop()}/disks/{name}"


def _azure_handle(disk: AzureDisk) -> str:
    """The driver takes managed disks only."""
    return disk.disk_uri if disk.kind in ("Managed", "") else ""


# --- node affinity ---


def _in_zones_of(
    heir: _Heir, terms: tuple[NodeSelectorTerm, ...], labels: Mapping[str, str]
) -> tuple[NodeSelectorTerm, ...]:
    """Terms about zones ask for the driver's label instead; without any, the volume's own zone is asked for."""
    zone, region = _keys_in_use(terms, labels)
    if _values(terms, zone):
        terms = _renamed(terms, zone, heir.zone_key)
    elif zones := sorted({each.strip() for each in labels.get(zone, "").split("__")} - {""}):
        here = NodeSelectorRequirement(heir.zone_key, "In", tuple(zones))
        terms = tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, here))
            for term in terms or (NodeSelectorTerm(),)
        )
    return _renamed(terms, region, REGION) if _values(terms, region) else terms


def _keys_in_use(terms: tuple[NodeSelectorTerm, ...], labels: Mapping[str, str]) -> tuple[str, str]:
    """The labels for zone and region: those of today, unless the volume is so old that it has only others."""
    asked = {each.key for term in terms for each in term.match_expressions}
    old = BETA_ZONE in asked and ZONE not in asked
    old |= not asked & {ZONE, BETA_ZONE} and BETA_ZONE in labels and ZONE not in labels
    return (BETA_ZONE, BETA_REGION) if old else (ZONE, REGION)


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> set[str]:
    """What the terms name under a label."""
    return {value for term in terms for each in term.match_expressions if each.key == key for value in each.values}


def _renamed(terms: tuple[NodeSelectorTerm, ...], before: str, after: str) -> tuple[NodeSelectorTerm, ...]:
    def renamed(each: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return msgspec.structs.replace(each, key=after) if each.key == before else each

    return tuple(
        msgspec.structs.replace(term, match_expressions=tuple(map(renamed, term.match_expressions))) for term in terms
    )
