"""Pod, as far as scheduling reads it."""

from __future__ import annotations

from typing import Literal

import msgspec

from koordpy.api.affinity import Affinity, Toleration, TopologySpreadConstraint
from koordpy.api.meta import Condition, ObjectMeta, Struct
from koordpy.api.times import seconds_of_instant

Quantities = dict[str, str | int]


class Resources(Struct, frozen=True):
    requests: Quantities = {}


class ContainerPort(Struct, frozen=True):
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class Container(Struct, frozen=True):
    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: Resources = Resources()
    restart_policy: str = ""  # "Always" on an init container makes it a sidecar

    @property
    def is_sidecar(self) -> bool:
        return self.restart_policy == "Always"


class PodResourceClaim(Struct, frozen=True):
    name: str


class Named(Struct, frozen=True):
    """A volume source of which no field matters."""


class ClaimSource(Struct, frozen=True):
    claim_name: str


class GCEDisk(Struct, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class EBSDisk(Struct, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class AzureDisk(Struct, frozen=True):
    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str = ""


class CloudVolume(Struct, frozen=True):
    """A volume of OpenStack Cinder or of Portworx."""

    volume_id: str = msgspec.field(name="volumeID", default="")


class InTreeDisks(Struct, frozen=True):
    """The sources of in-tree plugins, in a pod's volume or in a PersistentVolume."""

    gce_persistent_disk: GCEDisk | None = None
    aws_elastic_block_store: EBSDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: CloudVolume | None = None
    portworx_volume: CloudVolume | None = None


class RBDImage(Struct, frozen=True):
    monitors: tuple[str, ...] = ()
    pool: str = "rbd"
    image: str = ""
    read_only: bool = False


class ISCSIDisk(Struct, frozen=True):
    iqn: str = ""
    read_only: bool = False


class ImageSource(Struct, frozen=True):
    reference: str = ""


class Volume(InTreeDisks, frozen=True):
    """A volume of a pod, with the sources that matter for scheduling."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Named | None = None  # its claim is called `<pod>-<volume>`
    rbd: RBDImage | None = None
    iscsi: ISCSIDisk | None = None
    image: ImageSource | None = None

    @property
    def disk(self) -> GCEDisk | EBSDisk | AzureDisk | CloudVolume | RBDImage | ISCSIDisk | None:
        """A disk that the pod attaches directly, without a claim."""
        old = self.gce_persistent_disk or self.aws_elastic_block_store or self.azure_disk or self.cinder
        return old or self.portworx_volume or self.rbd or self.iscsi


class SchedulingGate(Struct, frozen=True):
    name: str


class SchedulingGroup(Struct, frozen=True):
    """The PodGroup of Kubernetes itself that the pod belongs to; API servers drop it while their gate is off."""

    pod_group_name: str | None = None


class PodSpec(Struct, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Quantities = {}
    resources: Resources | None = None  # pod-level requests
    node_name: str = ""
    active_deadline_seconds: int | None = None
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    preemption_policy: Literal["Never", "PreemptLowerPriority"] = "PreemptLowerPriority"
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    priority_class_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    termination_grace_period_seconds: int | None = None


class Terminated(Struct, frozen=True):
    finished_at: str | None = None
    exit_code: int = 0
    reason: str = ""  # such as OOMKilled


class ContainerState(Struct, frozen=True):
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True):
    """The resources of a container as the kubelet reports them; they differ from the spec during an in-place resize."""

    name: str = ""
    state: ContainerState = ContainerState()
    allocated_resources: Quantities = {}
    resources: Resources | None = None


class PodStatus(Struct, frozen=True):
    allocated_resources: Quantities = {}  # of the pod as a whole
    resources: Resources | None = None  # of the pod as a whole
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    phase: str = ""
    reason: str = ""  # such as Evicted, of a pod that the kubelet has ended
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: str | None = None


class Pod(Struct, frozen=True):
    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus = msgspec.field(default=PodStatus())

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def finished_at(self) -> float | None:
        """When the last of its containers terminated; without that, when the pod started; None without either."""
        states = (each.state.terminated for each in self.status.container_statuses)
        stamps = [state.finished_at for state in states if state is not None and state.finished_at]
        stamps = stamps or [self.status.start_time or ""]
        return max(seconds_of_instant(stamp) for stamp in stamps) if stamps[0] else None

    @property
    def resize_is_infeasible(self) -> bool:
        """Whether the node can never grant the requested in-place resize."""
        pending = self.condition("PodResizePending")
        return pending is not None and pending.status == "True" and pending.reason == "Infeasible"

    def condition(self, kind: str) -> Condition | None:
        for condition in self.status.conditions:  # asked three times for each pod that comes: no generator
            if condition.type == kind:
                return condition
        return None
