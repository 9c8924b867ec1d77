"""PersistentVolumeClaims, PersistentVolumes, StorageClasses and the objects of CSI drivers."""

from __future__ import annotations

import msgspec

from koordpy.api.affinity import NodeSelector
from koordpy.api.meta import LabelSelector, ObjectMeta, Struct
from koordpy.api.pod import InTreeDisks, Resources


class ClaimSpec(Struct, frozen=True):
    access_modes: tuple[str, ...] = ()
    resources: Resources = Resources()
    volume_name: str = ""
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""
    selector: LabelSelector | None = None


class ClaimStatus(Struct, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(Struct, frozen=True):
    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class ClaimReference(Struct, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Struct, frozen=True):
    required: NodeSelector | None = None


class CSISource(Struct, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeSpec(InTreeDisks, frozen=True):
    capacity: dict[str, str | int] = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSISource | None = None


class VolumeStatus(Struct, frozen=True):
    phase: str = ""


class PersistentVolume(Struct, frozen=True):
    metadata: ObjectMeta
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class TopologyRequirement(Struct, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(Struct, frozen=True):
    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Struct, frozen=True):
    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class DriverAllocatable(Struct, frozen=True):
    count: int | None = None


class NodeDriver(Struct, frozen=True):
    name: str
    allocatable: DriverAllocatable | None = None


class CSINodeSpec(Struct, frozen=True):
    drivers: tuple[NodeDriver, ...] | None = ()  # null on a node without any


class CSINode(Struct, frozen=True):
    """The CSI drivers of the node of the same name."""

    metadata: ObjectMeta
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True):
    storage_capacity: bool = False


class CSIDriver(Struct, frozen=True):
    metadata: ObjectMeta
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Struct, frozen=True):
    metadata: ObjectMeta
    storage_class_name: str
    node_topology: LabelSelector | None = None
    capacity: str | int | None = None
    maximum_volume_size: str | int | None = None


class AttachmentSource(Struct, frozen=True):
    persistent_volume_name: str = ""


class AttachmentSpec(Struct, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(Struct, frozen=True):
    metadata: ObjectMeta
    spec: AttachmentSpec = msgspec.field(default=AttachmentSpec())
