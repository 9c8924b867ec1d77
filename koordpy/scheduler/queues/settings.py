"""What the configuration says about queues."""

from __future__ import annotations

from dataclasses import dataclass

from koordpy.quota.amounts import ANY_GPU
from koordpy.quota.membership import DEFAULT_QUEUE


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """How jobs find their queue, and what is counted."""

    default: str = DEFAULT_QUEUE  # of jobs that name none, if it exists
    gpus: tuple[str, ...] = ANY_GPU  # resource names that are counted as GPUs, as shell patterns
