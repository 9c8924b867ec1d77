"""What queues have to hear about pods; they are counted in `koordpy.scheduler.queues`.

A pod is in at most one queue, or outside. The state asks which one when a pod appears, and tells whatever changes what
a queue has or wants. Without Queue objects nothing follows from that.
"""

from __future__ import annotations

from typing import Protocol

from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord


class QueueLedger(Protocol):
    """Counts pods for queues."""

    def queue_of(self, record: PodRecord, gang: Gang | None) -> str:
        """The queue that a pod names or falls to, also one that does not exist; "" for a pod outside of queues."""

    def is_preemptible(self, record: PodRecord, gang: Gang | None) -> bool:
        """Whether a pod can be taken away from its queue."""

    def count(self, uid: str, record: PodRecord | None) -> None:
        """A pod appeared, changed, was assumed or unreserved, or is gone (None)."""


class NoQueues:
    """There are no Queue objects."""

    def queue_of(self, record: PodRecord, gang: Gang | None) -> str:  # noqa: ARG002
        return ""

    def is_preemptible(self, record: PodRecord, gang: Gang | None) -> bool:  # noqa: ARG002
        return True

    def count(self, uid: str, record: PodRecord | None) -> None:
        pass
