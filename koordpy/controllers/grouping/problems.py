"""Tells people why their pods are not grouped: a Warning event `PodGrouperWarning` on each pod and on the owner.

Each object is told once, and again every half an hour while it lasts, so that the event does not expire. This module
decides nothing: the pods wait because they are not grouped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

import structlog

from koordpy.api.grouping import Owner, WorkloadPod
from koordpy.kube.errors import ApiError
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.writes import ObjectRef, PodRef

REASON = "PodGrouperWarning"
AGAIN_S = 30 * 60.0  # an event expires after an hour
_MOST_REMEMBERED = 10_000
_MOST_PODS = 100  # of one workload; the owner is told in any case

log = structlog.get_logger()


class Problems:
    """What was told when, by UID of the object."""

    def __init__(self, events: EventRecorder, clock: Callable[[], float], controller: str) -> None:
        self._events, self._clock, self._controller = events, clock, controller
        self._told: OrderedDict[str, tuple[str, float]] = OrderedDict()

    async def tell(self, problem: str, pods: Iterable[WorkloadPod], owner: Owner | None = None) -> None:
        """One event for each object that has not heard of it. An event that cannot be written is told later."""
        about = [PodRef(pod.meta.namespace, pod.meta.name, pod.uid).as_object for pod in list(pods)[:_MOST_PODS]]
        if owner is not None:
            meta = owner.metadata
            about.append(ObjectRef(owner.api_version, owner.kind, meta.namespace, meta.name, meta.uid))
        for each in about:
            await self._tell(each, problem)

    def solved(self, uids: Iterable[str]) -> None:
        """Nothing is wrong with these objects any more, or they are gone."""
        for uid in uids:
            self._told.pop(uid, None)

    async def _tell(self, about: ObjectRef, problem: str) -> None:
        now = self._clock()
        told, at = self._told.get(about.uid, ("", 0.0))
        if told == problem and now < at + AGAIN_S:
            return
        if told != problem:
            log.warning("not_grouped", kind=about.kind, object=f"{about.namespace}/{about.name}", problem=problem)
        try:
            await self._events.record(Note(about, "Warning", REASON, "Grouping", problem, self._controller), now)
        except ApiError as error:
            log.debug("event_failed", problem=str(error))
            return
        self._told[about.uid] = problem, now
        while len(self._told) > _MOST_REMEMBERED:
            self._told.popitem(last=False)
