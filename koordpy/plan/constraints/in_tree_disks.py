"""CSI migration: disks of in-tree plugins, translated to the CSI drivers that replace these plugins.

The module translates only what scheduling needs: the driver and the volume handle by which a disk counts towards a
node's limit, and the node affinity of a volume in the driver's own labels. A disk that cannot be translated stays as it
is; the kubelet reports it.
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


class _Migration(NamedTuple):
    """An in-tree plugin and the CSI driver that replaces it."""

    plugin: str  # the name that StorageClasses and CSINodes use
    driver: str
    zone_key: str = ""  # the driver's own node label for zones, if it has one


_EBS = _Migration("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone")
_GCE = _Migration("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone")
_AZURE = _Migration("kubernetes.io/azure-disk", "disk.csi.azure.com")
_CINDER = _Migration("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone")
_PORTWORX = _Migration("kubernetes.io/portworx-volume", "pxd.portworx.com")
_DRIVERS = {each.plugin: each.driver for each in (_EBS, _GCE, _AZURE, _CINDER, _PORTWORX)}


def driver_of(provisioner: str) -> str:
    """The CSI driver that provisions the volumes of a StorageClass."""
    return _DRIVERS.get(provisioner, provisioner)


def as_csi(disks: InTreeDisks, labels: Mapping[str, str] = _NO_LABELS) -> CSISource | None:
    """The CSI source of a pod's disk, or of the disk of a volume with these labels; None if it cannot be translated."""
    if disks.aws_elastic_block_store is not None:
        migration, handle = _EBS, _ebs_handle(disks.aws_elastic_block_store.volume_id)
    elif disks.gce_persistent_disk is not None:
        migration, handle = _GCE, _gce_handle(disks.gce_persistent_disk.pd_name, labels)
    elif disks.azure_disk is not None:
        migration, handle = _AZURE, _azure_handle(disks.azure_disk)
    elif disks.cinder is not None:
        migration, handle = _CINDER, disks.cinder.volume_id
    elif disks.portworx_volume is not None:
        migration, handle = _PORTWORX, disks.portworx_volume.volume_id
    else:
        return None
    return CSISource(migration.driver, handle) if handle else None


def translated_affinity(volume: PersistentVolume) -> tuple[str, NodeSelector] | None:
    """The in-tree plugin of a volume, and its affinity for nodes that have migrated it; None: it is not translated."""
    if volume.spec.aws_elastic_block_store is not None:
        migration = _EBS
    elif volume.spec.gce_persistent_disk is not None:
        migration = _GCE
    elif volume.spec.cinder is not None:
        migration = _CINDER
    else:
        return None
    if as_csi(volume.spec, volume.metadata.labels) is None:
        return None
    required = volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None
    terms = _in_zones_of(
        migration, required.node_selector_terms if required is not None else (), volume.metadata.labels
    )
    return (migration.plugin, NodeSelector(terms)) if terms else None


def has_migrated(csi_node: CSINode | None, plugin: str) -> bool:
    """Whether the node uses the CSI driver for disks of an in-tree plugin."""
    return csi_node is not None and plugin in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


# --- handles ---


def _ebs_handle(volume_id: str) -> str:
    """The volume ID; old volumes have it in a URL with their zone. Empty if the URL cannot be read."""
    if not volume_id.startswith("aws://"):
        return volume_id
    found = _EBS_URL.fullmatch(volume_id)
    return found[1] if found else ""


def _gce_handle(name: str, labels: Mapping[str, str]) -> str:
    """The handle of a zonal disk, a regional one, or one without a label; empty if its zones are in several regions."""
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
    """The disk URI; empty for an unmanaged disk, which the driver does not support."""
    return disk.disk_uri if disk.kind in ("Managed", "") else ""


# --- node affinity ---


def _in_zones_of(
    migration: _Migration, terms: tuple[NodeSelectorTerm, ...], labels: Mapping[str, str]
) -> tuple[NodeSelectorTerm, ...]:
    """The terms with the driver's zone label; terms without a zone get the zone of the volume's own label."""
    zone, region = _keys_in_use(terms, labels)
    if _values(terms, zone):
        terms = _renamed(terms, zone, migration.zone_key)
    elif zones := sorted({each.strip() for each in labels.get(zone, "").split("__")} - {""}):
        here = NodeSelectorRequirement(migration.zone_key, "In", tuple(zones))
        terms = tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, here))
            for term in terms or (NodeSelectorTerm(),)
        )
    return _renamed(terms, region, REGION) if _values(terms, region) else terms


def _keys_in_use(terms: tuple[NodeSelectorTerm, ...], labels: Mapping[str, str]) -> tuple[str, str]:
    """The labels for zone and region in use: the well-known ones, or the beta ones of an old volume."""
    asked = {each.key for term in terms for each in term.match_expressions}
    old = BETA_ZONE in asked and ZONE not in asked
    old |= not asked & {ZONE, BETA_ZONE} and BETA_ZONE in labels and ZONE not in labels
    return (BETA_ZONE, BETA_REGION) if old else (ZONE, REGION)


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> set[str]:
    """The values of a label in the terms."""
    return {value for term in terms for each in term.match_expressions if each.key == key for value in each.values}


def _renamed(terms: tuple[NodeSelectorTerm, ...], before: str, after: str) -> tuple[NodeSelectorTerm, ...]:
    def renamed(each: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return msgspec.structs.replace(each, key=after) if each.key == before else each

    return tuple(
        msgspec.structs.replace(term, match_expressions=tuple(map(renamed, term.match_expressions))) for term in terms
    )
