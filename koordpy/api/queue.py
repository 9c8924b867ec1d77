"""Queue (`scheduling.run.ai/v2`): a team's part of the cluster, as KAI defines it.

The struct reads objects that were made under KAI's own definition, which checks next to nothing: numbers may have a
fraction or be out of range, and every field may be missing. `koordpy.quota.tree` says what is wrong with one.
"""

from __future__ import annotations

from koordpy.api.meta import ObjectMeta, StatusCondition, Struct
from koordpy.api.pod import Quantities

GROUP, VERSION, KIND, PLURAL = "scheduling.run.ai", "v2", "Queue", "queues"
DEFAULT_PRIORITY = 100


class QueueResource(Struct, frozen=True):
    """One resource of a queue; a field that is None was not set."""

    quota: float | None = None  # -1: unlimited
    limit: float | None = None  # -1: none
    over_quota_weight: float | None = None


class QueueResources(Struct, frozen=True):
    """A resource that is None is not counted in the queue."""

    gpu: QueueResource | None = None  # in GPUs
    cpu: QueueResource | None = None  # in thousandths of a CPU
    memory: QueueResource | None = None  # in 10^6 bytes


class QueueSpec(Struct, frozen=True):
    display_name: str | None = None
    parent_queue: str | None = None
    priority: int | None = None
    resources: QueueResources | None = None
    preempt_min_runtime: str | None = None  # a Go duration
    reclaim_min_runtime: str | None = None


class QueueStatus(Struct, frozen=True):
    allocated: Quantities = {}
    allocated_non_preemptible: Quantities = {}
    requested: Quantities = {}
    child_queues: tuple[str, ...] = ()
    conditions: tuple[StatusCondition, ...] = ()


class Queue(Struct, frozen=True):
    metadata: ObjectMeta
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()
