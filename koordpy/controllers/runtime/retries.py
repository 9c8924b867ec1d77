"""Setbacks: what happens when a status cannot be written, and what is said about it.

Nothing is remembered of what should have been written: the object is looked at again later, and what is true then is
written. A thousand objects that fail for one reason are one line in the log.
"""

from __future__ import annotations

import structlog

from koordpy import metrics
from koordpy.controllers.runtime.workqueue import Agenda
from koordpy.kube.backoff import Backoff
from koordpy.kube.client import NotLeading
from koordpy.kube.errors import ApiError, Conflict, Forbidden, Invalid

_WITHOUT_NEWS_S = 2.0  # after a request that is wrong in itself
_NOT_LEADING_S = 0.2
_REFUSED = "the installed definition refuses what koordpy writes; `koordpy crds` prints one that does not"

log = structlog.get_logger()


class Setbacks:
    """Of one kind, by the name that it has in logs and metrics."""

    def __init__(self, kind: str, agenda: Agenda) -> None:
        self._kind, self._agenda = kind, agenda
        self._backoffs: dict[str, Backoff] = {}  # of objects whose last write failed
        self.trouble = ""  # why writes fail; empty while all is well

    def wrote(self) -> None:
        """A write took effect."""
        metrics.writes(f"{self._kind}-status", "ok").inc()
        if self.trouble:
            log.info(self._line("recovered"))
        self.trouble = ""

    def settled(self, key: str) -> None:
        """There is nothing more to write for this object now."""
        self._backoffs.pop(key, None)

    def failed(self, key: str, error: ApiError) -> float:
        """How long to leave the object alone; a request that is wrong in itself waits for news."""
        if isinstance(error, NotLeading):
            return _NOT_LEADING_S
        metrics.writes(f"{self._kind}-status", type(error).__name__.lower()).inc()
        if isinstance(error, Invalid):
            log.warning(self._line("refused"), object=key, problem=str(error), hint=_REFUSED)
            return _WITHOUT_NEWS_S
        if not isinstance(error, Conflict):
            self._complain(error)
        self._agenda.note(key)
        return self._backoffs.setdefault(key, Backoff(first_s=0.5, most_s=60.0)).next_s(at_least_s=error.retry_after)

    def _complain(self, error: ApiError) -> None:
        """One line when trouble begins or changes its nature; not one per object."""
        if type(error).__name__ != self.trouble.partition(":")[0]:
            hint = "grant the permission to koordpy's account" if isinstance(error, Forbidden) else "trying again"
            log.warning(self._line("failed"), problem=str(error), hint=hint)
        self.trouble = f"{type(error).__name__}: {error}"

    def _line(self, what: str) -> str:
        return f"{self._kind}_status_{what}"
