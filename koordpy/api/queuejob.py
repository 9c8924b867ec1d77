"""QueueJob and SchedulingSpec of kube-arbitrator, and PriorityClass, which orders them."""

from __future__ import annotations

from typing import Any

import msgspec

from koordpy.api.meta import ObjectMeta, StatusCondition, Struct

GROUP = "arbitrator.incubator.k8s.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "QueueJob"


class SchedSpec(Struct, frozen=True, omit_defaults=True):
    """How the pods of a job are scheduled as a whole."""

    min_available: int | None = None
    node_selector: dict[str, str] = {}
    priority_class_name: str = ""
    priority: int | None = None


class SchedulingSpec(Struct, frozen=True):
    """The spec is kept as it came: whether it is what its QueueJob wants is a comparison, and not a reading."""

    metadata: ObjectMeta
    spec: dict[str, Any] = {}


class TaskSpec(Struct, frozen=True):
    """`template` and `selector` are kept as they came: the template goes to the API server as the user wrote it."""

    name: str = ""
    replicas: int = 1
    template: dict[str, Any] = {}
    selector: dict[str, Any] | None = None


class QueueJobSpec(Struct, frozen=True):
    scheduler_name: str = ""
    sched_spec: SchedSpec | None = None
    scheduling_spec: SchedSpec | None = None  # its older name
    task_specs: tuple[TaskSpec, ...] = ()
    network: str = "None"
    max_restarts: int | None = None
    suspend: bool = False
    ttl_seconds_after_finished: int | None = None

    @property
    def scheduling(self) -> SchedSpec:
        return self.sched_spec or self.scheduling_spec or SchedSpec()

    @property
    def replicas(self) -> int:
        return sum(task.replicas for task in self.task_specs)

    @property
    def minimum(self) -> int:
        """How many pods start together: all of them where nothing is said."""
        said = self.scheduling.min_available
        return self.replicas if said is None else said


class TaskStatus(Struct, frozen=True):
    """What is remembered of a task when its pods are gone; indexes as in `0-3,7`."""

    name: str
    started_indexes: str = ""
    completed_indexes: str = ""
    removed_indexes: str = ""


class QueueJobStatus(Struct, frozen=True):
    """Nothing here is None: a merge patch would remove the field, and no field is ever absent by intention."""

    phase: str = ""
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    min_available: int = 0
    restarts: int = 0
    incarnation: int = 0
    template_incarnation: int = 0
    template_hash: str = ""
    last_restart_time: str | None = None
    completion_time: str = ""  # empty while the job has not ended
    observed_generation: int = 0
    task_statuses: tuple[TaskStatus, ...] = ()
    conditions: tuple[StatusCondition, ...] = ()

    @property
    def ended(self) -> bool:
        return self.phase in ("Completed", "Failed")


class QueueJob(Struct, frozen=True):
    metadata: ObjectMeta
    spec: QueueJobSpec = QueueJobSpec()
    status: QueueJobStatus = msgspec.field(default=QueueJobStatus())
