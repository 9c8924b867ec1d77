"""Delivers the objects of a reflector to its sinks, in the order in which they subscribed.

A sink that raises blocks neither other sinks nor other objects. The change over which it raised, and later changes of
the same object, are redelivered in order at the end of the batch and of the batches after it. A change is given up
after five attempts: a sporadic error loses nothing, and a permanent one loses one object and not the process. Either
way it is a bug in the sink: it is logged with its traceback, and counted.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

import structlog

from koordpy import metrics
from koordpy.api.meta import ObjectMeta

_ATTEMPTS = 5

log = structlog.get_logger()


class HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """A consumer of watch events. It is called between attempts, never during one."""

    def upsert(self, obj: T_contra) -> None:
        """An object was added or updated."""

    def remove(self, key: str, uid: str) -> None:
        """An object was deleted, or does not match the field selector any more."""


class Sinks(Generic[T]):
    """The sinks of one resource."""

    def __init__(self, resource: str) -> None:
        self._resource = resource
        self._subscribers: tuple[_Subscriber[T], ...] = ()
        self._settlers: tuple[_Subscriber[T], ...] = ()
        self.failures = 0  # calls that raised

    def add(self, sink: Sink[T], settle: Callable[[], None] | None) -> None:
        subscriber = _Subscriber(sink, settle)
        self._subscribers += (subscriber,)
        if settle is not None:
            self._settlers += (subscriber,)

    def upsert(self, obj: T) -> None:
        for each in self._subscribers:
            if each.undelivered and obj.metadata.key in each.undelivered:
                each.defer(obj.metadata.key, partial(each.upsert, obj))
                continue
            try:
                each.upsert(obj)
            except Exception as error:  # noqa: BLE001 - see the module docstring
                self._failed(each, obj.metadata.key, error)
                each.defer(obj.metadata.key, partial(each.upsert, obj))

    def remove(self, key: str, uid: str) -> None:
        for each in self._subscribers:
            if each.undelivered and key in each.undelivered:
                each.defer(key, partial(each.remove, key, uid))
                continue
            try:
                each.remove(key, uid)
            except Exception as error:  # noqa: BLE001 - see the module docstring
                self._failed(each, key, error)
                each.defer(key, partial(each.remove, key, uid))

    def settle(self) -> None:
        """A batch has been delivered: redeliver what failed, then settle the sinks."""
        for each in self._subscribers:
            if each.undelivered:
                self._redeliver(each)
        for each in self._settlers:
            try:
                each.settle()
            except Exception as error:  # noqa: BLE001 - see the module docstring
                self._failed(each, "", error)

    def _redeliver(self, subscriber: _Subscriber[T]) -> None:
        for key, undelivered in list(subscriber.undelivered.items()):
            while undelivered.calls and self._redeliver_first(subscriber, key, undelivered):
                undelivered.calls.popleft()
                undelivered.attempts = 0
            if not undelivered.calls:
                del subscriber.undelivered[key]
        if not subscriber.undelivered:
            subscriber.raised_at = None

    def _redeliver_first(self, subscriber: _Subscriber[T], key: str, undelivered: _Undelivered) -> bool:
        """Redeliver the first change; returns whether it was delivered or given up."""
        try:
            undelivered.calls[0]()
        except Exception as error:  # noqa: BLE001 - see the module docstring
            self._failed(subscriber, key, error)
        else:
            return True
        undelivered.attempts += 1
        if undelivered.attempts < _ATTEMPTS:
            return False
        log.error("sink_gave_up", resource=self._resource, sink=subscriber.name, object=key)
        return True

    def _failed(self, subscriber: _Subscriber[T], key: str, error: Exception) -> None:
        """Count the failure, and log one traceback per place that raises, not one per object and attempt."""
        self.failures += 1
        metrics.SINK_FAILURES.labels(self._resource).inc()
        place = _place_of(error)
        if place != subscriber.raised_at:
            subscriber.raised_at = place
            problem = f"{type(error).__name__}: {error}"
            log.error(
                "sink_failed",
                resource=self._resource,
                sink=subscriber.name,
                object=key,
                problem=problem,
                exc_info=error,
            )


class _Undelivered:
    """The changes of one object since its sink raised, oldest first."""

    def __init__(self) -> None:
        self.calls: deque[Callable[[], None]] = deque()
        self.attempts = 1  # of the first


class _Subscriber(Generic[T]):
    def __init__(self, sink: Sink[T], settle: Callable[[], None] | None) -> None:
        self.name = type(sink).__name__
        self.upsert, self.remove, self.settle = sink.upsert, sink.remove, settle or _nothing_to_settle
        self.undelivered: dict[str, _Undelivered] = {}  # by object key
        self.raised_at: tuple[str, int] | None = None  # file and line, while anything is undelivered

    def defer(self, key: str, call: Callable[[], None]) -> None:
        self.undelivered.setdefault(key, _Undelivered()).calls.append(call)


def _place_of(error: Exception) -> tuple[str, int] | None:
    """The file and line that raised."""
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        place = frame.f_code.co_filename, line
    return place


def _nothing_to_settle() -> None:
    pass
