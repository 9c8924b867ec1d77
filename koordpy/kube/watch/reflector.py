"""The reflector: lists and watches one resource, and delivers each change to its sinks exactly once.

A reflector lists in pages and delivers the objects, watches from the list's resource version, and resumes after every
interruption from the last version it has seen. When that version is too old (410), it lists again and delivers only the
difference, deletions included. It keeps only `(uid, resourceVersion)` per object.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Generic

import msgspec
import structlog

from koordpy import metrics
from koordpy.api.decode import UNREADABLE, Decoder, WatchEvent, decode_event, decode_status, resource_version_of
from koordpy.api.errors import MalformedObject
from koordpy.kube.backoff import Backoff
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, Forbidden, Gone, NotFound, Unauthorized, Unavailable, error_of
from koordpy.kube.watch.sinks import Sink, Sinks, T

_PAGE = 500
_WATCH_S = 300  # as client-go: long enough to be cheap, short enough to balance watches over API servers
_LINES_PER_TURN = 200  # then other tasks get a turn; about 10 ms of pods
# An idle watch gets a bookmark about once a minute. A longer silence can mean that the connection is dead without TCP
# noticing, so the watch is reopened. It is no failure: a kube-apiserver that has seen no change of the resource since
# its start sends the first bookmark after two minutes.
_SILENCE_S = 70.0
_EXTEND_EVERY_S = (
    1.0  # the timeout is not extended for each event: with a thousand a second, timers would cost too much
)
# An object of etcd's maximum size, 1.5 MiB, is a few times as long in JSON.
_MOST_LINE = 64 * 2**20
# For a resource whose definition is not installed: one short request, seldom after the first seconds.
_RETRY_MISSING_FIRST_S, _RETRY_MISSING_MOST_S = 2.0, 5.0

log = structlog.get_logger()


@dataclass(frozen=True)
class Resource(Generic[T]):
    """A resource to list and watch."""

    path: str  # "/api/v1/pods"
    decode: Decoder[T]
    field_selector: str = ""
    of_a_version: bool = False  # other versions of it are watched as well
    optional: bool = False  # its definition may be missing, and may be installed later
    metadata_only: bool = False  # the server sends PartialObjectMetadata

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[1]

    @property
    def api_version(self) -> str:
        """That of its definition: `group/version`; core resources have none."""
        return "/".join(self.path.split("/")[2:4])

    @property
    def full_name(self) -> str:
        """The name, with its API group if several groups may have it."""
        if not self.optional:
            return self.name
        group, version = self.api_version.split("/")
        return f"{self.name}.{version}.{group}" if self.of_a_version else f"{self.name}.{group}"

    def query(self) -> dict[str, str | int]:
        return {"fieldSelector": self.field_selector} if self.field_selector else {}


class Reflector(Generic[T]):
    """Keeps the sinks of one resource up to date."""

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        sink: Sink[T] | None = None,
        settle: Callable[[], None] | None = None,
    ) -> None:
        self._client, self.resource = client, resource
        self._sinks = Sinks[T](resource.full_name)
        self._is_running = False
        self._known: dict[str, tuple[str, str]] = {}  # key -> uid, resourceVersion, as delivered to the sinks
        self._version = ""  # resourceVersion to resume from; empty: list first
        self._lists_wanted = 1
        self._watch_timeout: asyncio.Timeout | None = None
        self._backoff = Backoff(first_s=0.2, most_s=30.0)
        self._is_served = True  # False: not installed
        self._retry_missing_s = _RETRY_MISSING_FIRST_S
        self._on_served: tuple[Callable[[bool], None], ...] = ()
        self.synced = asyncio.Event()
        self.trouble = ""  # why the last request failed; empty after a success
        if sink is not None:
            self.subscribe(sink, settle)

    @property
    def full_name(self) -> str:
        return self.resource.full_name

    def subscribe(self, sink: Sink[T], settle: Callable[[], None] | None = None) -> None:
        """Deliver to this sink too; call it before `run`. `settle` is called after each batch of objects."""
        if self._is_running:  # it would miss the objects listed before
            raise RuntimeError(f"{self.full_name}: subscribe before the reflector runs")
        self._sinks.add(sink, settle)

    def on_served(self, tell: Callable[[bool], None]) -> None:
        """Tell when an optional resource turns out not to be installed (False), and when it is there after all."""
        self._on_served += (tell,)

    async def run(self) -> None:
        """List and watch, until cancelled."""
        self._is_running = True
        while True:
            try:
                if self._version:
                    await self._watch()
                else:
                    await self._list()
            except Gone:
                self._restart("expired")
                self._version = ""
                await asyncio.sleep(self._backoff.next_s())  # a server that always answers 410 is no busy loop
            except NotFound as error:
                if not self.resource.optional:
                    await self._failed(error)
                else:
                    self._not_installed()
                    await asyncio.sleep(self._retry_missing_s)
                    self._retry_missing_s = min(2 * self._retry_missing_s, _RETRY_MISSING_MOST_S)
            except ApiError as error:
                await self._failed(error)

    async def _failed(self, error: ApiError) -> None:
        self._log_failure(error)
        self._restart(type(error).__name__.lower())
        await asyncio.sleep(self._backoff.next_s(at_least_s=error.retry_after))

    def _not_installed(self) -> None:
        """The definition is not installed (any more): all known objects are gone."""
        for key in list(self._known):
            self._gone(key)
        self._sinks.settle()
        self._version = ""
        self._recovered()
        self._note_served(served=False)
        self.synced.set()

    def _note_served(self, *, served: bool) -> None:
        if served != self._is_served:
            self._is_served = served
            self._retry_missing_s = _RETRY_MISSING_FIRST_S
            for tell in self._on_served:
                tell(served)

    async def resync(self) -> None:
        """List again now, and return when the sinks have everything that was true at this moment."""
        self._lists_wanted += 1
        self.synced.clear()
        self._version = ""
        if self._watch_timeout is not None and not self._watch_timeout.expired():
            self._watch_timeout.reschedule(asyncio.get_running_loop().time())
        await self.synced.wait()

    async def _list(self) -> None:
        wanted = self._lists_wanted
        seen: set[str] = set()
        token = ""
        while True:
            query = self.resource.query() | {"limit": _PAGE} | ({"continue": token} if token else {})
            page = await self._client.page(self.resource.path, metadata_only=self.resource.metadata_only, **query)
            for raw in page.items:
                self._listed(raw, seen)
            self._sinks.settle()
            token = page.metadata.continue_
            if not token:
                break
            await asyncio.sleep(0)  # a page of pods is 15 ms of decoding; let binds run between pages
        for key in self._known.keys() - seen:
            self._gone(key)
        self._sinks.settle()
        self._recovered()
        self._note_served(served=True)
        if wanted == self._lists_wanted:  # otherwise this list is older than a later call of resync
            self._version = page.metadata.resource_version
            self.synced.set()

    def _listed(self, raw: msgspec.Raw, seen: set[str]) -> None:
        try:
            obj = self.resource.decode(raw)
        except MalformedObject as error:
            _skip(error)
            seen.add(error.key)  # it exists: the last version that could be decoded still counts
            return
        seen.add(obj.metadata.key)
        self._changed(obj)

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        opened = extended = clock()
        received = False
        query = self.resource.query() | {
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": _WATCH_S + random.randrange(60),  # noqa: S311 - jitter
        }
        try:
            async with (
                asyncio.timeout(_SILENCE_S) as self._watch_timeout,
                self._client.watch(self.resource.path, metadata_only=self.resource.metadata_only, **query) as chunks,
            ):
                self._recovered()
                async for lines in _lines(chunks):
                    if not self._version:
                        return
                    if clock() > extended + _EXTEND_EVERY_S:
                        extended = clock()
                        self._watch_timeout.reschedule(extended + _SILENCE_S)
                    await self._apply_in_turns(lines)
                    received = True
        except TimeoutError:
            if self._version:  # not cancelled by resync: silence
                self._restart("silent")
            return
        finally:
            self._watch_timeout = None
        if not received and clock() - opened < 1.0:
            raise Unavailable(f"watch of {self.resource.name}: ended as soon as it was opened")

    async def _apply_in_turns(self, lines: list[bytes]) -> None:
        for start in range(0, len(lines), _LINES_PER_TURN):
            if start:
                await asyncio.sleep(0)
            if not self._version:  # resync was called: buffered events are older than its list
                return
            try:
                self._apply_all(lines[start : start + _LINES_PER_TURN])
            finally:
                self._sinks.settle()
        self._backoff.reset()

    def _apply_all(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            try:
                event = decode_event(line)
            except UNREADABLE as error:
                raise Unavailable(f"watch of {self.resource.name}: unreadable line: {error}") from None
            self._apply(event)

    def _apply(self, event: WatchEvent) -> None:
        if event.type == "ERROR":
            status = decode_status(event.object)
            raise error_of("WATCH", self.resource.path, status.code, bytes(event.object))
        if event.type == "BOOKMARK":
            reached = resource_version_of(event.object)
            self._version = self._version if not reached or _is_older(reached, self._version) else reached
            return
        try:
            obj = self.resource.decode(event.object)
        except MalformedObject as error:
            _skip(error)
            self._version = resource_version_of(event.object) or self._version
            if event.type == "DELETED":
                self._gone(error.key)
            return
        if _is_older(obj.metadata.resource_version, self._version):
            return  # told before, such as by a cache that lags behind the list: what is known by now is newer
        self._version = obj.metadata.resource_version
        if event.type == "DELETED":
            self._gone(obj.metadata.key)
        else:
            self._changed(obj)

    def _changed(self, obj: T) -> None:
        meta = obj.metadata
        before, now = self._known.get(meta.key), (meta.uid, meta.resource_version)
        if before == now:
            return
        if before is not None and before[0] != meta.uid:  # deleted and recreated between two events
            self._sinks.remove(meta.key, before[0])
        self._known[meta.key] = now
        self._sinks.upsert(obj)

    def _gone(self, key: str) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._sinks.remove(key, known[0])

    def _restart(self, cause: str) -> None:
        metrics.WATCH_RESTARTS.labels(self.resource.name, cause).inc()

    def _log_failure(self, error: ApiError) -> None:
        """Log one line when requests begin to fail or fail differently; not one per retry."""
        if type(error).__name__ != self.trouble.partition(":")[0]:
            hint = {
                Forbidden: "grant the permission to koordpy's account, then it goes on by itself",
                Unauthorized: "the credentials have expired or are wrong; renew them, then it goes on by itself",
            }.get(type(error), "trying again")
            log.warning("watch_failed", resource=self.resource.full_name, problem=str(error), hint=hint)
        self.trouble = f"{type(error).__name__}: {error}"

    def _recovered(self) -> None:
        if self.trouble:
            log.info("watch_recovered", resource=self.resource.full_name)
        self.trouble = ""


def _is_older(seen: str, known: str) -> bool:
    """Whether a resource version is below another; kube-apiserver's are numbers that grow, others' may be any text."""
    return seen.isdecimal() and known.isdecimal() and int(seen) < int(known)


def _skip(error: MalformedObject) -> None:
    metrics.MALFORMED.labels(error.kind).inc()
    log.warning("malformed_object", kind=error.kind, object=error.key, problem=error.problem)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Complete lines, as many as have arrived; an incomplete one at the end of a stream is dropped."""
    rest: list[bytes] = []  # a line that has not ended yet
    length = 0
    async for chunk in chunks:
        rest.append(chunk)
        length += len(chunk)
        if b"\n" in chunk:
            *lines, last = (chunk if len(rest) == 1 else b"".join(rest)).split(b"\n")
            rest, length = [last] if last else [], len(last)
            yield [line for line in lines if line]
        elif length > _MOST_LINE:
            raise Unavailable(f"a line of a watch has over {_MOST_LINE} bytes")
