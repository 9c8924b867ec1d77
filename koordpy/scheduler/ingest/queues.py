"""Queues into the book, and with them every pod into its queue."""

from __future__ import annotations

from koordpy.api.queue import Queue
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster


class QueueSink:
    """The sink of the watch of Queues. A tree that changes counts all pods anew: once for all that came together."""

    def __init__(self, book: QueueBook, cluster: Cluster, wakeups: Wakeups) -> None:
        self._book, self._cluster, self._wakeups = book, cluster, wakeups
        self._is_stale = False

    def upsert(self, queue: Queue) -> None:
        self._is_stale |= self._book.set_queue(queue.metadata.name, queue)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - of one name there is one at a time
        self._is_stale |= self._book.set_queue(key, None)

    def settle(self) -> None:
        """Everything that came together is in."""
        if self._is_stale:
            self._is_stale = False
            self._cluster.recount_queues()
            self._wakeups.deliver()
