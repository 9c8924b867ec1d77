"""The reconciler of Queues: writes the status of one Queue if it differs, and reports what is wrong with it.

The status is computed from the index at the moment of the reconcile, so a failed write needs no memory but its place in
the work queue. The reconciler writes nothing but `status` and events. A Queue whose pods are all of another scheduler,
such as KAI, is left to that scheduler's own controller: two that wrote one status would overwrite each other for ever.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from koordpy import metrics
from koordpy.api.decode import Decoder
from koordpy.api.meta import ObjectMeta, StatusCondition
from koordpy.api.queue import GROUP, KIND, PLURAL, VERSION, Queue
from koordpy.api.times import instant_of_seconds
from koordpy.controllers.queues.counts import Counts
from koordpy.controllers.queues.index import QueueIndex
from koordpy.controllers.queues.status import ready_condition, ready_in, status_of
from koordpy.controllers.runtime.statuswriter import StatusWriter
from koordpy.kube.client import Client
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.writes import ObjectRef

_PAUSE_S = 0.5  # between two reconciles of one Queue: pods that start together come within some tenths of a second

log = structlog.get_logger()


class QueueReconciler:
    """Writes through `client`, which refuses to write unless this process leads."""

    def __init__(self, client: Client, index: QueueIndex, events: EventRecorder, clock: Callable[[], float]) -> None:
        self._client, self._index, self._events, self._clock = client, index, events, clock
        self._writer = StatusWriter(Decoder(KIND, Queue), _path_of, probe="child_queues")
        self._told: dict[str, tuple[str, str]] = {}  # UID and problem of each queue that got an event
        self._left_alone: set[str] = set()

    async def reconcile(self, key: str) -> float:
        """Write the status of one Queue if it differs; returns how long to hold the key back."""
        queue = self._index.queue(key)
        if queue is None:
            self._told.pop(key, None)
            self._left_alone.discard(key)
            return _PAUSE_S
        counts = self._index.total(key)
        if counts.foreign and not counts.pods:
            self._leave_alone(key)
            return _PAUSE_S
        tree = self._index.tree
        row = tree.rows[key]
        ready = ready_condition(tree.verdicts[row], instant_of_seconds(self._clock()), queue.status)
        # The event first: the next leader takes a problem that the condition shows for reported.
        await self._tell(queue, ready)
        await self._update_status(queue, counts, tree.child_names[row], ready)
        return _PAUSE_S

    async def _update_status(
        self, queue: Queue, counts: Counts, children: tuple[str, ...], ready: StatusCondition
    ) -> None:
        wanted = status_of(counts, children, ready, queue.status)
        if not self._writer.differs(wanted, queue.status):
            return
        self._index.record_write(await self._writer.write(self._client, queue.metadata, wanted))
        metrics.writes("queue-status", "ok").inc()
        log.debug("queue_status", queue=queue.metadata.name, allocated=wanted.allocated)

    async def _tell(self, queue: Queue, ready: StatusCondition) -> None:
        """One warning for each problem; the condition shows it for as long as it lasts."""
        meta = queue.metadata
        if ready.status == "True":
            self._told.pop(meta.name, None)
            return
        shown = ready_in(queue.status)
        if self._told.get(meta.name) == (meta.uid, ready.message) or (shown and shown.message == ready.message):
            return
        about = ObjectRef(f"{GROUP}/{VERSION}", KIND, "", meta.name, meta.uid)
        note = Note(about, "Warning", ready.reason, "Reading", ready.message, "koordpy-controllers")
        await self._events.record(note, self._clock())
        self._told[meta.name] = meta.uid, ready.message
        log.warning("queue_not_ready", queue=meta.name, reason=ready.reason, problem=ready.message)

    def _leave_alone(self, name: str) -> None:
        if name not in self._left_alone:
            self._left_alone.add(name)
            log.info("queue_left_alone", queue=name, hint="all its pods ask for another scheduler")


def _path_of(meta: ObjectMeta) -> str:
    return f"/apis/{GROUP}/{VERSION}/{PLURAL}/{meta.name}"
