"""Reports a spec that cannot be used: one warning event and one log line for each problem.

The condition in the status shows the problem for as long as it lasts. The event is written once: the next leader does
not repeat it. This module never decides whether a spec is valid.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from koordpy.api.meta import ObjectMeta
from koordpy.api.topology import GROUP, KIND, VERSION
from koordpy.controllers.topology.status import INVALID_SPEC
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.writes import ObjectRef

log = structlog.get_logger()


class ProblemReporter:
    """`notice` first, then `send`, which is retried until the event is written."""

    def __init__(self, events: EventRecorder, clock: Callable[[], float]) -> None:
        self._events, self._clock = events, clock
        self._noticed = ("", "")  # UID of the topology, and its problem
        self._unsent = ""

    def notice(self, meta: ObjectMeta, problem: str, in_condition: str) -> None:
        """`problem` is empty for a valid spec. A problem that the condition already shows was reported before us."""
        if (meta.uid, problem) == self._noticed:
            return
        self._noticed = meta.uid, problem
        self._unsent = problem if problem != in_condition else ""
        if self._unsent:
            log.warning("topology_invalid", problem=problem, hint="mend the spec; the status tells when it is used")

    async def send(self, meta: ObjectMeta) -> Exception | None:
        """Write the event, if there is one to write. An error is returned: an event must not hold up the status."""
        if not self._unsent:
            return None
        about = ObjectRef(f"{GROUP}/{VERSION}", KIND, meta.namespace, meta.name, meta.uid)
        note = Note(about, "Warning", INVALID_SPEC, "Reading", self._unsent, "koordpy-controllers")
        try:
            await self._events.record(note, self._clock())
        except Exception as error:  # noqa: BLE001 - the caller raises it, once the status is written
            return error
        self._unsent = ""
        return None
