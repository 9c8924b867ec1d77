"""Pod records: what is kept of a pod after its API object is gone from memory."""

from __future__ import annotations

import msgspec

from koordpy.api.gangs import DECLARES_NOTHING, GangDeclaration, declaration_of, describe
from koordpy.api.keys import (
    BACKFILLED_UNTIL,
    DISABLE_PREEMPTIBLE,
    DISRUPTION_TARGET,
    GANG_TIMEOUT,
    NETWORK_TOPOLOGY_INDEX,
    POD_SCHEDULED,
    PREEMPTION_BY_SCHEDULER,
    QUESTIONED_OBJECT_KEY,
    QUEUE,
    QUOTA_PREEMPTIBLE,
    RESERVED_START,
    RUN_TIME,
    SKIP_PODGROUPER,
    SUBGROUP_NAME,
)
from koordpy.api.meta import Condition, ObjectMeta
from koordpy.api.pod import Pod
from koordpy.api.podgroup.claims import NO_CLAIMS, Claims, claims_of
from koordpy.api.times import seconds_of_instant
from koordpy.state.shapes import Shape
from koordpy.state.storage import NO_VOLUMES, VolumeChoice

_STARTS_PODS_SINGLY = ("ReplicaSet", "DaemonSet", "Node")  # kinds of owners; a Node owns its static pods


class PodRecord(msgspec.Struct, gc=False, eq=False, kw_only=True):
    """One pod, tracked by UID: a pod recreated under the same name is another pod.

    `node` is where the pod counts as usage: bound there by the API server (`bound`), or assumed there by us.
    """

    uid: str
    namespace: str
    name: str
    scheduler: str
    shape: Shape | None  # None while it can be placed nowhere; `defect` says why
    own_shape: Shape | None  # without what its gang's object adds; None while the pod cannot be read
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
    gone_by: float = 0.0  # when its node ends it at the latest, while it terminates
    gated: bool = False
    defect: str = ""
    refusal_seen: str = ""  # the message of its PodScheduled=False condition, as the API server has it
    owner: tuple[str, str] | None = None  # kind and name
    groupable: bool = False  # a grouper would look at its owner
    claims: Claims = NO_CLAIMS  # the gangs that it could belong to
    gang: str = ""  # the id of the one that it does belong to, if any
    needs_object: bool = False  # belongs to it by something that stands for an object, such as a label for PodGroups
    declaration: GangDeclaration = DECLARES_NOTHING  # what it says about its gang
    queue: str = ""  # the queue that it is counted in, or waits for; "": outside
    preemptible: bool = True  # can be taken away from its queue
    queue_stays: bool = False  # it was started in it: another label counts from its next start
    held: str = ""  # why it is not attempted, though nothing of its own is in the way; see `state/gangs/holding.py`
    timed_out: bool = False  # its gang waited in vain: left alone until its owner takes the annotation away

    index: int | None = None  # its rank among the members of its gang, if it says one
    preempts: bool = True
    started: float = 0.0  # when its node began with it
    bound_at: float = 0.0  # when it was bound, as the API server says
    run_time_s: float | None = None  # that it declares itself
    bad_run_time: str = ""  # what it declares of it that cannot be read, for its owner
    deadline_s: float | None = None  # after which its node ends it
    grace_s: float = 30.0  # that it has to end by itself once it is told to
    reserved_start: str = ""  # that it was promised, as its annotation says
    backfilled_until: str = ""  # when it should have ended, if it was let in before a reserved start
    told_for: str = ""  # the job that it was told to leave for, if it is a victim

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def declared_queue(self) -> str:
        """The queue that its own label names."""
        return self.labels.get(QUEUE, "")

    @property
    def subgroup(self) -> str:
        """The part of its gang that it says it belongs to."""
        return self.labels.get(SUBGROUP_NAME, "")

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
        return self.bound and not self.terminating and not self.is_protected

    @property
    def is_protected(self) -> bool:
        """Its labels protect it from eviction."""
        return self.labels.get(DISABLE_PREEMPTIBLE) == "true" or self.labels.get(QUOTA_PREEMPTIBLE) == "false"

    def requests_like(self, other: PodRecord) -> bool:
        """Whether both ask for the same resources."""
        return self.shape is not None and other.shape is not None and self.shape.request is other.shape.request

    @property
    def job(self) -> str:
        """What it is a part of, as far as evictions go: pods of one job are disturbed together or one by one."""
        return self.labels.get(QUESTIONED_OBJECT_KEY) or self.gang or self.uid


def _index(annotations: dict[str, str]) -> int | None:
    """Negative and unreadable ones mean none, as in Koordinator."""
    text = annotations.get(NETWORK_TOPOLOGY_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _owner(meta: ObjectMeta) -> tuple[str, str] | None:
    """Its controller, else the first of its owners."""
    if not meta.owner_references:
        return None
    first = next((each for each in meta.owner_references if each.controller), meta.owner_references[0])
    return first.kind, first.name


def _is_groupable(meta: ObjectMeta) -> bool:
    """Whether its owner could be a gang. Pods of ReplicaSets and DaemonSets start one by one."""
    owners = meta.owner_references
    if not owners or meta.annotations.get(SKIP_PODGROUPER) == "true":
        return False
    return not any(owner.kind in _STARTS_PODS_SINGLY for owner in owners)


def _bad_run_time(meta: ObjectMeta) -> str:
    """Of a pod without a gang; the declarations of members are read with their gang's."""
    complaints = (each for each in declaration_of(meta).complaints if each.key == RUN_TIME)
    return next((describe(each, {}) for each in complaints), "")


def _bound_at(scheduled: Condition | None) -> float:
    if scheduled is None or scheduled.status != "True" or not scheduled.last_transition_time:
        return 0.0
    return seconds_of_instant(scheduled.last_transition_time)


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
    claims, terminating = claims_of(pod), meta.deletion_timestamp is not None
    is_claimed = claims is not NO_CLAIMS
    return PodRecord(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        scheduler=spec.scheduler_name,
        shape=shape,
        own_shape=shape,
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
        gone_by=seconds_of_instant(meta.deletion_timestamp) if meta.deletion_timestamp else 0.0,
        gated=bool(spec.scheduling_gates),
        defect=defect,
        refusal_seen=scheduled.message if scheduled is not None and scheduled.status == "False" else "",
        owner=_owner(meta),
        groupable=_is_groupable(meta),
        claims=claims,
        # What a terminating pod says counts for nothing: its successor may say something else about the gang.
        declaration=declaration_of(meta) if is_claimed and not terminating else DECLARES_NOTHING,
        index=_index(meta.annotations) if is_claimed else None,
        preempts=spec.preemption_policy != "Never",
        started=seconds_of_instant(pod.status.start_time) if pod.status.start_time else 0.0,
        bound_at=_bound_at(scheduled) if spec.node_name else 0.0,
        run_time_s=declaration_of(meta).run_time_s if RUN_TIME in meta.annotations else None,
        bad_run_time=_bad_run_time(meta) if RUN_TIME in meta.annotations and not is_claimed else "",
        deadline_s=spec.active_deadline_seconds,
        grace_s=30.0 if (grace := spec.termination_grace_period_seconds) is None else float(grace),
        reserved_start=meta.annotations.get(RESERVED_START, ""),
        backfilled_until=meta.annotations.get(BACKFILLED_UNTIL, ""),
        told_for=preemptor_of(pod),
        timed_out=is_claimed and meta.annotations.get(GANG_TIMEOUT) == "true",
    )
