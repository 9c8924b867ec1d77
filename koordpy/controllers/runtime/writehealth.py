"""Whether the objects of one kind can be written, for the log, the metrics and `/readyz`.

A thousand objects that fail for one reason are one line in the log. This module only reports: the work queue retries.
"""

from __future__ import annotations

from collections.abc import Hashable

import structlog

from koordpy import metrics
from koordpy.kube.client import NotLeading
from koordpy.kube.errors import ApiError, Conflict, Forbidden, Invalid, NotFound

_REFUSED = "the installed definition refuses what koordpy writes; `koordpy crds` prints one that does not"

log = structlog.get_logger()


class WriteHealth:
    """Of one kind, under the name that it has in logs and metrics. Objects are known by their key in the work queue."""

    def __init__(self, kind: str, what: str = "status") -> None:
        self._kind, self._what = kind, what
        self._failing: set[Hashable] = set()
        self._refused: dict[Hashable, str] = {}  # the reasons that the log has
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why writes fail; empty while none does."""
        return self._trouble

    def reset(self) -> None:
        """Forget what failed: another process leads, and writes it."""
        self._failing.clear()
        self._refused.clear()
        self._trouble = ""

    def succeeded(self, key: Hashable) -> None:
        """The object is up to date, or gone."""
        self._no_longer_fails(key)
        self._refused.pop(key, None)

    def refused(self, key: Hashable, error: Invalid) -> None:
        """The API server does not accept the status of this object. One line for each object and reason."""
        self._no_longer_fails(key)  # the API server answers, and the permission is there
        self._count(error)
        if self._refused.get(key) != str(error):
            self._refused[key] = str(error)
            log.warning(self._event("refused"), object=str(key), problem=str(error), hint=_REFUSED)

    def failed(self, key: Hashable, error: ApiError) -> None:
        """A write failed. One line when trouble begins or its kind changes, not one for each object."""
        if isinstance(error, NotLeading):  # it was not sent
            return
        if isinstance(error, NotFound):  # deleted, and the watch event follows; or an API server does not have it yet
            log.debug(self._event("not_found"), problem=str(error))
            return
        self._count(error)
        if isinstance(error, Conflict):  # another client wrote the object at the same time: nothing is wrong
            return
        self._failing.add(key)
        if type(error).__name__ != self._trouble.partition(":")[0]:
            hint = "grant the permission to koordpy's account" if isinstance(error, Forbidden) else "trying again"
            log.warning(self._event("failed"), problem=str(error), hint=hint)
        self._trouble = f"{type(error).__name__}: {error}"

    def _no_longer_fails(self, key: Hashable) -> None:
        self._failing.discard(key)
        if self._trouble and not self._failing:
            log.info(self._event("recovered"))
            self._trouble = ""

    def _count(self, error: ApiError) -> None:
        metrics.writes(f"{self._kind}-{self._what}", type(error).__name__.lower()).inc()

    def _event(self, what: str) -> str:
        return f"{self._kind}_{self._what}_{what}"
