"""Delivers what a reflector hears to its sinks, in the order in which they subscribed.

A sink that raises keeps neither the others nor later objects from being delivered. What it raised over is delivered to
it again at the end of the batch and of the batches after it, the changes of one object in their order, and given up
after five attempts: an error that happens once is healed, and one that always happens costs one object and not the
process. Either way it is a mistake in the sink: it is logged with its traceback, and counted.
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
    """Who is told. Called between plans, never during one."""

    def upsert(self, obj: T_contra) -> None:
        """An object appeared or changed."""

    def remove(self, key: str, uid: str) -> None:
        """An object is gone, or left the field selector."""


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
            if each.owed and obj.metadata.key in each.owed:
                each.owe(obj.metadata.key, partial(each.upsert, obj))
                continue
            try:
                each.upsert(obj)
            except Exception as error:  # noqa: BLE001 - see the module docstring
                self._failed(each, obj.metadata.key, error)
                each.owe(obj.metadata.key, partial(each.upsert, obj))

    def remove(self, key: str, uid: str) -> None:
        for each in self._subscribers:
            if each.owed and key in each.owed:
                each.owe(key, partial(each.remove, key, uid))
                continue
            try:
                each.remove(key, uid)
            except Exception as error:  # noqa: BLE001 - see the module docstring
                self._failed(each, key, error)
                each.owe(key, partial(each.remove, key, uid))

    def settle(self) -> None:
        """All that came together has been delivered."""
        for each in self._subscribers:
            if each.owed:
                self._catch_up(each)
        for each in self._settlers:
            try:
                each.settle()
            except Exception as error:  # noqa: BLE001 - see the module docstring
                self._failed(each, "", error)

    def _catch_up(self, subscriber: _Subscriber[T]) -> None:
        for key, owed in list(subscriber.owed.items()):
            while owed.calls and self._is_over(subscriber, key, owed):
                owed.calls.popleft()
                owed.attempts = 0
            if not owed.calls:
                del subscriber.owed[key]
        if not subscriber.owed:
            subscriber.raised_at = None

    def _is_over(self, subscriber: _Subscriber[T], key: str, owed: _Owed) -> bool:
        """Make the first of the calls; says whether it was delivered or given up."""
        try:
            owed.calls[0]()
        except Exception as error:  # noqa: BLE001 - see the module docstring
            self._failed(subscriber, key, error)
        else:
            return True
        owed.attempts += 1
        if owed.attempts < _ATTEMPTS:
            return False
        log.error("sink_gave_up", resource=self._resource, sink=subscriber.name, object=key)
        return True

    def _failed(self, subscriber: _Subscriber[T], key: str, error: Exception) -> None:
        """Count it; and log one traceback for each place that raises, not one for each object and attempt."""
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


class _Owed:
    """What happened to one object since its sink raised, oldest first."""

    def __init__(self) -> None:
        self.calls: deque[Callable[[], None]] = deque()
        self.attempts = 1  # of the first


class _Subscriber(Generic[T]):
    def __init__(self, sink: Sink[T], settle: Callable[[], None] | None) -> None:
        self.name = type(sink).__name__
        self.upsert, self.remove, self.settle = sink.upsert, sink.remove, settle or _nothing_to_settle
        self.owed: dict[str, _Owed] = {}  # by the key of the object
        self.raised_at: tuple[str, int] | None = None  # where in the code, while anything is owed

    def owe(self, key: str, call: Callable[[], None]) -> None:
        self.owed.setdefault(key, _Owed()).calls.append(call)


def _place_of(error: Exception) -> tuple[str, int] | None:
    """The file and the line that raised."""
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        place = frame.f_code.co_filename, line
    return place


def _nothing_to_settle() -> None:
    pass
