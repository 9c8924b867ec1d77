"""What users are told: pod conditions and events, from the same refusals and plans that the scheduler acts on.

A pod that stays pending for the same reason costs no write: what the API server already says is not said again,
also not after a restart. Reports travel in a lane of their own behind the binds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Literal

import structlog

from koordpy import metrics
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError, Conflict, NotFound
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.lane import Lane
from koordpy.kube.writes import PodRef, Unscheduled, say_unscheduled
from koordpy.plan.answer import Refusal

_LANE_WIDTH = 8
_CONFLICT_PAUSES_S = (0.02, 0.1, 0.5, 2.0)
_SAY_AGAIN_FIRST_S = 2.0
_SAY_AGAIN_MOST_S = 60.0

log = structlog.get_logger()


class Reporter:
    """Tells the API server what was decided."""

    def __init__(self, client: Client, cluster: Cluster, instance: str, wall: Callable[[], float] = time.time) -> None:
        self._client, self._cluster, self._wall = client, cluster, wall
        self._events = EventRecorder(client, instance)
        self._said: dict[str, str] = {}  # UID -> the message that was last put into the lane
        self.lane = Lane(_LANE_WIDTH)

    def scheduled(self, pod: PodRecord, node: str) -> None:
        """The bind is through."""
        self._said.pop(pod.uid, None)
        note = f"Successfully assigned {pod.key} to {node}"
        self._event(pod, "Normal", "Scheduled", "Binding", note)

    def refused(self, pod: PodRecord, refusal: Refusal) -> None:
        """The pod stays pending: condition and event, if they would say something new."""
        said = self._said.get(pod.uid, pod.refusal_seen)
        if said == refusal.message:
            return
        self._said[pod.uid] = refusal.message
        self.lane.put(partial(self._set_condition, pod.uid, refusal))
        self._event(pod, "Warning", "FailedScheduling", "Scheduling", refusal.message)

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._said.pop(uid, None)

    def start_over(self) -> None:
        """Leadership was lost and won again: what was not sent is not certain to have been said."""
        self.lane.clear()
        self._said.clear()

    async def _set_condition(self, uid: str, refusal: Refusal, after_s: float = _SAY_AGAIN_FIRST_S) -> None:
        """Skipped when the pod is placed by now or a newer message follows; repeated when the pod changed meanwhile."""
        for pause_s in _CONFLICT_PAUSES_S:
            pod = self._cluster.pods.get(uid)
            if pod is None or pod.node or self._said.get(uid) != refusal.message:
                return
            try:
                told = Unscheduled(refusal.reason, refusal.message, pod.version, pod.generation, self._wall())
                await say_unscheduled(self._client, ref(pod), told)
            except Conflict:
                await asyncio.sleep(pause_s)  # the watch is about to tell what changed
            except (NotFound, NotLeading):
                return
            except ApiError as error:
                self._lost("condition", pod, error)
                break
            else:
                metrics.WRITES.labels("condition", "ok").inc()
                return
        self._say_later(uid, refusal, after_s)

    def _say_later(self, uid: str, refusal: Refusal, after_s: float) -> None:
        """A parked pod may not be tried again for hours, and autoscalers act on its condition: it must get there."""
        again = partial(self._set_condition, uid, refusal, min(2 * after_s, _SAY_AGAIN_MOST_S))
        asyncio.get_running_loop().call_later(after_s, self.lane.put, again)

    def _event(self, pod: PodRecord, kind: Literal["Normal", "Warning"], reason: str, action: str, text: str) -> None:
        note = Note(ref(pod), kind, reason, action, text, controller=pod.scheduler)
        self.lane.put(partial(self._record, pod, note))

    async def _record(self, pod: PodRecord, note: Note) -> None:
        try:
            await self._events.record(note, self._wall())
        except (NotFound, NotLeading):
            return  # the namespace is gone, or it is no longer ours to say
        except ApiError as error:
            self._lost("event", pod, error)
            return
        metrics.WRITES.labels("event", "ok").inc()

    def _lost(self, what: str, pod: PodRecord, error: ApiError) -> None:
        metrics.WRITES.labels(what, "failed").inc()
        log.warning("report_failed", what=what, pod=pod.key, problem=str(error))


def ref(pod: PodRecord) -> PodRef:
    """The pod, as writes name it."""
    return PodRef(pod.namespace, pod.name, pod.uid)
