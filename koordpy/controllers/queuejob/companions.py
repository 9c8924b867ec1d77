"""What a QueueJob has beside its pods, under its own name: the SchedulingSpecs and the Services that there are.

Each kind is a sink of its watch, and of the answers to our own writes. It keeps only what some QueueJob controls: an
object of somebody else is never changed or deleted, because nobody here knows of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from koordpy.api.meta import ObjectMeta
from koordpy.api.queuejob import QueueJob
from koordpy.controllers.queuejob.gone import Gone
from koordpy.controllers.queuejob.pods import owner_of
from koordpy.controllers.runtime.versions import is_newer


class _HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=_HasMetadata)


class Companions(Generic[T]):
    """One kind. `changed` is told namespace/name of every object of the kind, whosever it is."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._known: dict[str, T] = {}
        self._gone = Gone()

    def of(self, job: QueueJob) -> T | None:
        """The one that is the QueueJob's own."""
        found = self._known.get(job.metadata.key)
        return found if found is not None and is_owned(found.metadata, job) else None

    def upsert(self, obj: T) -> None:
        """One was added or updated, or we have written it."""
        meta, known = obj.metadata, self._known.get(obj.metadata.key)
        if meta.uid in self._gone or not is_newer(meta, known.metadata if known else None):
            return
        if owner_of(meta) is not None:
            self._known[meta.key] = obj
        else:
            self._known.pop(meta.key, None)
        self._changed(meta.key)

    def remove(self, key: str, uid: str) -> None:
        """One was deleted, or the API server has accepted its deletion."""
        self._gone.add(uid)
        known = self._known.get(key)
        if known is not None and known.metadata.uid == uid:
            del self._known[key]
        self._changed(key)


def is_owned(meta: ObjectMeta, job: QueueJob) -> bool:
    owner = owner_of(meta)
    return owner is not None and owner.uid == job.metadata.uid
