"""Pod records: what is kept of a pod after its API object is gone from memory."""

from __future__ import annotations

import msgspec

from koordpy.api.gangs import DECLARES_NOTHING, GangDeclaration, declaration_of, membership_of
from koordpy.api.keys import (
    DISABLE_PREEMPTIBLE,
    DISRUPTION_TARGET,
    GANG_TIMEOUT,
    NETWORK_TOPOLOGY_INDEX,
    POD_SCHEDULED,
    PREEMPTION_BY_SCHEDULER,
    QUESTIONED_OBJECT_KEY,
    QUOTA_PREEMPTIBLE,
)
from koordpy.api.pod import Pod
from koordpy.api.times import seconds_of_instant
from koordpy.state.shapes import Shape
from koordpy.state.storage import NO_VOLUMES, VolumeChoice


class PodRecord(msgspec.Struct, gc=False, eq=False, kw_only=True):
    """One pod, tracked by UID: a pod recreated under the same name is another pod.

    `node` is where the pod counts as usage: bound there by the API server (`bound`), or assumed there by us.
    """

    uid: str
    namespace: str
    name: str
    scheduler: str
    shape: Shape | None  # None while the pod cannot be read; `defect` says why
    labels: dict[str, str]
    priority: int
    eviction_class: int = 0  # what the eviction policy makes of it
    created: float
    version: str  # resourceVersion
    generation: int = 0
    node: str = ""
    bound: bool = False
    nominated_node: str = ""  # as we have decided; else as the API server has it
    nominated_seen: str = ""  # as the API server has it
    volumes: VolumeChoice = NO_VOLUMES  # reserved for it while it is assumed
    terminating: bool = False
    gated: bool = False
    defect: str = ""
    refusal_seen: str = ""  # the message of its PodScheduled=False condition, as the API server has it
    gang: str = ""  # namespace/name of the gang that it belongs to, if any
    by_pod_group: bool = False  # belongs to it by a label that stands for a PodGroup
    declaration: GangDeclaration = DECLARES_NOTHING  # what it says about its gang
    timed_out: bool = False  # its gang waited in vain: left alone until its owner takes the annotation away

    index: int | None = None  # its rank among the members of its gang, if it says one
    preempts: bool = True
    started: float = 0.0  # when its node began with it
    told_for: str = ""  # the job that it was told to leave for, if it is a victim

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def preempted_for(self) -> str:
        """The job that it leaves for, if it is a victim on its way out."""
        return self.told_for if self.terminating else ""

    @property
    def schedulable(self) -> bool:
        """May be attempted: not placed, not on its way out, not held back by a gate or by its gang's time-out."""
        return not (self.node or self.terminating or self.gated or self.timed_out)

    @property
    def evictable(self) -> bool:
        """May have to leave for a job of higher priority."""
        labels = self.labels
        return (
            self.bound
            and not self.terminating
            and labels.get(DISABLE_PREEMPTIBLE) != "true"
            and labels.get(QUOTA_PREEMPTIBLE) != "false"
        )

    @property
    def job(self) -> str:
        """What it is a part of, as far as evictions go: pods of one job are disturbed together or one by one."""
        return self.labels.get(QUESTIONED_OBJECT_KEY) or self.gang or self.uid


def _index(annotations: dict[str, str]) -> int | None:
    """Negative and unreadable ones mean none, as in Koordinator."""
    text = annotations.get(NETWORK_TOPOLOGY_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def preemptor_of(pod: Pod) -> str:
    """`koord-scheduler: preempting to accommodate higher priority pods, preemptor: default/a, triggerpod: ...`."""
    target = pod.condition(DISRUPTION_TARGET)
    if target is None or target.status != "True" or target.reason != PREEMPTION_BY_SCHEDULER:
        return ""
    _, found, rest = target.message.partition(", preemptor: ")
    return rest.partition(", triggerpod: ")[0] if found else "?"


def record_of(pod: Pod, shape: Shape | None, defect: str = "") -> PodRecord:
    meta, spec = pod.metadata, pod.spec
    scheduled = pod.condition(POD_SCHEDULED)
    membership, terminating = membership_of(meta), meta.deletion_timestamp is not None
    # What a terminating pod says counts for nothing: its successor may say something else about the gang.
    says = membership is not None and not terminating
    return PodRecord(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        scheduler=spec.scheduler_name,
        shape=shape,
        labels=meta.labels,
        priority=spec.priority,
        created=seconds_of_instant(meta.creation_timestamp) if meta.creation_timestamp else 0.0,
        version=meta.resource_version,
        generation=meta.generation,
        node=spec.node_name,
        bound=bool(spec.node_name),
        nominated_node=pod.status.nominated_node_name,
        nominated_seen=pod.status.nominated_node_name,
        terminating=terminating,
        gated=bool(spec.scheduling_gates),
        defect=defect,
        refusal_seen=scheduled.message if scheduled is not None and scheduled.status == "False" else "",
        gang=membership.gang if membership is not None else "",
        by_pod_group=says and membership is not None and membership.by_pod_group,
        declaration=declaration_of(meta) if says else DECLARES_NOTHING,
        index=_index(meta.annotations) if membership is not None else None,
        preempts=spec.preemption_policy != "Never",
        started=seconds_of_instant(pod.status.start_time) if pod.status.start_time else 0.0,
        told_for=preemptor_of(pod),
        timed_out=membership is not None and meta.annotations.get(GANG_TIMEOUT) == "true",
    )
