"""The spec of one Queue as integers, or what is wrong with it.

Without a fraction that gets lost: 0.7 GPU is 700 thousandths, although no binary float is 0.7.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from koordpy.api.errors import MalformedValue
from koordpy.api.queue import DEFAULT_PRIORITY, Queue, QueueResource, QueueResources
from koordpy.api.times import seconds_of_duration
from koordpy.quota.amounts import CPU, GPU, MEMORY, MILLI, RESOURCES, UNLIMITED, K

_SCALE = {CPU: 1, MEMORY: 10**6, GPU: MILLI}  # what one unit of the spec is in amounts


class Spec(NamedTuple):
    """A queue's own numbers, each `[K]`. A resource that is not counted has neither quota nor limit."""

    parent: str  # empty: none
    priority: int
    quota: tuple[int, ...]
    limit: tuple[int, ...]
    weight: tuple[float, ...]
    counted: tuple[bool, ...]
    preempt_min_runtime: float | None  # seconds
    reclaim_min_runtime: float | None


def spec_of(queue: Queue) -> Spec:
    """Raises MalformedValue, which names the field, the value and what is wrong with it."""
    spec = queue.spec
    blocks = [_block(spec.resources or QueueResources(), kind) for kind in range(K)]
    return Spec(
        parent=spec.parent_queue or "",
        priority=DEFAULT_PRIORITY if spec.priority is None else spec.priority,
        quota=tuple(_amount(block, "quota", 0, kind) for kind, block in enumerate(blocks)),
        limit=tuple(_amount(block, "limit", -1, kind) for kind, block in enumerate(blocks)),
        weight=tuple(_weight(block, kind) for kind, block in enumerate(blocks)),
        counted=tuple(block is not None for block in blocks),
        preempt_min_runtime=_seconds(spec.preempt_min_runtime, "preemptMinRuntime"),
        reclaim_min_runtime=_seconds(spec.reclaim_min_runtime, "reclaimMinRuntime"),
    )


def _block(resources: QueueResources, kind: int) -> QueueResource | None:
    block: QueueResource | None = getattr(resources, RESOURCES[kind])
    return block


def _amount(block: QueueResource | None, field: str, default: int, kind: int) -> int:
    if block is None:
        return UNLIMITED
    value: float | None = getattr(block, field)
    if value is None:
        value = default
    if value == -1:
        return UNLIMITED
    if value < 0:
        raise MalformedValue(_path(kind, field), _plain(value), "is neither -1 (unlimited) nor at least 0")
    return min(int(Decimal(str(value)) * _SCALE[kind]), UNLIMITED)


def _weight(block: QueueResource | None, kind: int) -> float:
    if block is None:
        return 0.0
    weight = 1.0 if block.over_quota_weight is None else block.over_quota_weight
    if weight < 0:
        raise MalformedValue(_path(kind, "overQuotaWeight"), _plain(weight), "is negative")
    return weight


def _seconds(text: str | None, field: str) -> float | None:
    if not text:
        return None
    try:
        seconds = seconds_of_duration(text)
    except MalformedValue as error:
        raise MalformedValue(f"spec.{field}", text, error.problem) from None
    if seconds < 0:
        raise MalformedValue(f"spec.{field}", text, "is negative")
    return seconds


def _path(kind: int, field: str) -> str:
    return f"spec.resources.{RESOURCES[kind]}.{field}"


def _plain(value: float) -> float:
    """-2 rather than -2.0, as its owner wrote it."""
    return int(value) if value == int(value) else value
