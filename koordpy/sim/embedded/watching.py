"""Watches: a stream of lines, one per change, with bookmarks and an end.

A `Watch` hears the store's changes from the moment it is made, so nothing is lost between its start and the
first read. Time comes from the running loop only. Encoded objects are shared with every other watcher.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

from koordpy.sim.embedded import customresources, errors, forms
from koordpy.sim.embedded.reading import matcher
from koordpy.sim.embedded.store import ADDED, DELETED, MODIFIED, Change, Stored

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.request import Request
    from koordpy.sim.embedded.resources import Resource

Obj = dict[str, Any]

BOOKMARK_EVERY = 60.0  # seconds, as the real server
BOOKMARK_BEFORE_END = 2.0  # seconds before a watch times out, so that its client can resume from there
DEFAULT_TIMEOUT = 1800.0  # seconds; the real server picks something between this and its double
BACKLOG = 50_000  # lines; a client this far behind is cut off and must list again
_END_OF_INITIAL = {"k8s.io/initial-events-end": "true"}


class Watch:
    """Async iterator over chunks of lines; must be closed with `aclose`."""

    def __init__(
        self,
        backend: Backend,
        resource: Resource,
        request: Request,
        namespace: str,
        *,
        name: str = "",
    ) -> None:
        self._store = backend.store
        self._resource = resource
        self._namespace = namespace
        self._matches = matcher(request, resource, name)
        self._encode = forms.of_event(backend, resource, request)
        self._type_of_bookmark = forms.type_of_bookmark(resource, request)
        self._bookmarks = request.flag("allowWatchBookmarks")
        self._lines: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self._ended = False
        try:
            self._start(request)
        except errors.ApiError as error:
            if error.code != 410:
                raise
            self._lines.append(msgspec.json.encode({"type": "ERROR", "object": error.status()}) + b"\n")
            self._ended = True  # the real server, too, begins a stream to say that it cannot
        self._subscriptions = [self._store.subscribe(resource.storage, self._hear)]
        if resource.custom:
            self._subscriptions.append(self._store.subscribe(customresources.STORAGE, self._hear_definition))
        now = asyncio.get_running_loop().time()
        self._end_at = now + _timeout(request)
        self._bookmark_at = self._next_bookmark(now)

    def _start(self, request: Request) -> None:
        """Queue what the client has not seen: everything, or the changes since its resourceVersion."""
        rv = request.query.get("resourceVersion", "")
        if rv and not rv.isdecimal():
            raise errors.bad_request(f"Invalid resourceVersion {rv!r}: it must be a number from a list or watch")
        initial = request.flag("sendInitialEvents")
        if initial:
            _check_initial_events(request)
        if initial or rv in ("", "0"):
            for stored in self._store.items(self._resource.storage, self._namespace):
                if self._matches is None or self._matches(stored.obj):
                    self._lines.append(self._line(ADDED, stored))
            if initial:
                self._lines.append(self._bookmark(_END_OF_INITIAL))
        else:
            for change in self._store.since(self._resource.storage, int(rv)):
                self._hear(change)

    def _hear(self, change: Change) -> None:
        if self._namespace and change.new.key[0] != self._namespace:
            return
        line = self._translated(change)
        if line is None:
            return
        if len(self._lines) >= BACKLOG:
            self._ended = True
        self._lines.append(line)
        self._wake.set()

    def _hear_definition(self, change: Change) -> None:
        """The watches of a custom resource end with its definition, as on the real server."""
        if change.kind == DELETED and change.new.key[1] == self._resource.full_name:
            self.end()

    def _translated(self, change: Change) -> bytes | None:
        """With a selector, starting to match is ADDED and ceasing to match is DELETED."""
        if self._matches is None:
            return self._line(change.kind, change.new)
        matched = change.old is not None and self._matches(change.old.obj)
        matches = change.kind != DELETED and self._matches(change.new.obj)
        if matches:
            return self._line(MODIFIED if matched else ADDED, change.new)
        if not matched or change.old is None:
            return None
        return self._line(DELETED, change.new if change.kind == DELETED else _at(change.old, change.rv))

    def _line(self, kind: str, stored: Stored) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), self._encode(stored))

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        metadata: Obj = {"resourceVersion": str(self._store.rv), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        obj = {**self._type_of_bookmark, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": obj}) + b"\n"

    def _next_bookmark(self, now: float) -> float:
        if not self._bookmarks:
            return self._end_at
        last = self._end_at - BOOKMARK_BEFORE_END
        return min(now + BOOKMARK_EVERY, last) if now < last else self._end_at

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._lines:
            if self._ended:
                raise StopAsyncIteration
            due = min(self._bookmark_at, self._end_at)
            try:
                async with asyncio.timeout_at(due):
                    await self._wake.wait()
            except TimeoutError:  # the clock is not asked again: it may be a hair early, and stand still in tests
                if due < self._end_at:
                    self._lines.append(self._bookmark())
                    self._bookmark_at = self._next_bookmark(due)
                else:
                    self._ended = True
            self._wake.clear()
        chunk = b"".join(self._lines)
        self._lines.clear()
        return chunk

    def end(self) -> None:
        """Finish the stream after what is already queued."""
        self._ended = True
        self._wake.set()

    async def aclose(self) -> None:
        for unsubscribe in self._subscriptions:
            unsubscribe()
        self.end()


def _timeout(request: Request) -> float:
    text = request.query.get("timeoutSeconds", "")
    return float(text) if text.isdecimal() and int(text) else DEFAULT_TIMEOUT


def _at(stored: Stored, rv: int) -> Stored:
    """The old state of an object, told under the resourceVersion at which it ceased to match."""
    metadata = {**stored.obj["metadata"], "resourceVersion": str(rv)}
    return Stored(stored.storage, stored.key, {**stored.obj, "metadata": metadata}, rv)


def _check_initial_events(request: Request) -> None:
    if request.query.get("resourceVersionMatch") != "NotOlderThan":
        told = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise errors.invalid("ListOptions", "meta.k8s.io", "", [errors.forbidden_field("resourceVersionMatch", told)])
