"""A sink that survives errors of our own: one object must not cost all others their scheduler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic

import structlog

from koordpy.kube.watch.sinks import Sink, T
from koordpy.scheduler.recovery import Recovery

log = structlog.get_logger()


class GuardedSink(Generic[T]):
    """Hands everything on; after an exception counts are made anew, and the object is tried once more.

    Only an error that has to do with the object itself happens again. The object is then left out: what was known of it
    before still counts.
    """

    def __init__(self, sink: Sink[T], recovery: Recovery) -> None:
        self._sink, self._recovery = sink, recovery

    def upsert(self, obj: T) -> None:
        if not self._tell(partial(self._sink.upsert, obj), obj.metadata.key):
            self._tell(partial(self._sink.upsert, obj), obj.metadata.key)

    def remove(self, key: str, uid: str) -> None:
        if not self._tell(partial(self._sink.remove, key, uid), key):
            self._tell(partial(self._sink.remove, key, uid), key)

    def _tell(self, tell: Callable[[], None], key: str) -> bool:
        try:
            tell()
        except Exception:
            log.exception("ingest_failed", object=key, hint="please report this; nothing else is affected")
            self._recovery.run()
            return False
        return True
