"""The owners of pods: read once each, then kept true by a watch of their kind for as long as pods lead to them.

A kind is watched from its first owner on until some time after its last, and only while this process leads. The watch
brings changes (a workload that is scaled, a queue that is changed); an owner that nobody asked for is not kept. Only
kinds whose rule needs it are read whole, the others as metadata.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from koordpy.api.decode import Decoder
from koordpy.api.grouping import Owner, WorkloadPod, group_of
from koordpy.api.meta import ObjectMeta, OwnerReference, Struct
from koordpy.controllers.grouping.discovery import Discovery, Served
from koordpy.controllers.grouping.kinds.table import Kinds
from koordpy.controllers.runtime.versions import is_newer
from koordpy.kube.client import Client
from koordpy.kube.errors import Forbidden, NotFound
from koordpy.kube.watch.reflector import Reflector, Resource

_PODS = "/api/v1/pods"
_ASK_AGAIN_S = 5.0  # a right may be granted at any time
_LINGER_S = 60.0  # a kind is watched for so long after its last owner: jobs come one after the other


class _Object(Struct, frozen=True):
    """Any object; its parts are decoded when a rule reads them."""

    metadata: ObjectMeta
    spec: msgspec.Raw = msgspec.Raw(b"null")
    status: msgspec.Raw = msgspec.Raw(b"null")


@dataclass(eq=False, slots=True)
class _Reading:
    """A request under way, and what the watch shows of its object meanwhile: the answer may be older than that."""

    uid: str
    shown: _Object | None = None
    gone: bool = False

    def newest(self, answer: _Object) -> _Object | None:
        if self.gone:
            return None
        return self.shown if self.shown is not None and is_newer(self.shown.metadata, answer.metadata) else answer


class Owners:
    """Owners by UID. `changed` is told the UID of a kept owner that changed or went.

    `pods` is the record of a pod that we know by its UID: pods own pods (the leader of a group in a LeaderWorkerSet,
    the driver of Spark), and need neither be read nor watched twice.
    """

    def __init__(
        self,
        client: Client,
        kinds: Kinds,
        pods: Callable[[str], WorkloadPod | None],
        changed: Callable[[str], None],
    ) -> None:
        self._client, self._kinds, self._pods, self._changed = client, kinds, pods, changed
        self._discovery = Discovery(client)
        self._known: dict[str, Owner] = {}
        self._watch_of: dict[str, str] = {}  # path of the watch, by UID of the owner
        self._watches: dict[str, _Watch] = {}  # by path
        self._readings: set[_Reading] = set()
        self._denied: dict[str, tuple[Forbidden, float]] = {}  # until when; by path of the kind in a namespace
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Watch the kinds in use, until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                await asyncio.Event().wait()
        finally:
            self._tasks = None
            for kept in (self._known, self._watch_of, self._watches, self._denied):
                kept.clear()

    def known(self, uid: str) -> Owner | None:
        """What was read last."""
        if (pod := self._pods(uid)) is not None:
            return Owner("v1", "Pod", pod.meta)
        return self._known.get(uid)

    async def read(self, reference: OwnerReference, namespace: str) -> Owner | None:
        """The owner, or None if it is gone; raises NotServed or ApiError."""
        known = self.known(reference.uid)
        if known is not None:
            return known
        served = await self._discovery.find(reference.api_version, reference.kind)
        self._check_denied(served, namespace)
        whole = self._kinds.of(group_of(reference.api_version), reference.kind).reads_body
        decode = Decoder(reference.kind, _Object)
        obj = await self._get(served, reference, namespace, decode, whole=whole)
        if obj is None or obj.metadata.uid != reference.uid:
            return None  # gone, or another of the same name
        owner = _owner(reference, obj)
        if served.collection != _PODS:  # of another scheduler: there may be 50,000 of them
            self._known[reference.uid] = owner
            self._watch(served, reference, decode, whole=whole)
        return owner

    async def _get(
        self, served: Served, reference: OwnerReference, namespace: str, decode: Decoder[_Object], *, whole: bool
    ) -> _Object | None:
        path = served.path(namespace, reference.name)
        reading = _Reading(reference.uid)
        self._readings.add(reading)
        try:
            return reading.newest(decode(await self._client.get(path, metadata_only=not whole)))
        except Forbidden as error:
            now = time.monotonic()
            self._denied = {path: denied for path, denied in self._denied.items() if now < denied[1]}
            self._denied[served.path(namespace, "")] = error, now + _ASK_AGAIN_S
            raise
        except NotFound:
            self._discovery.doubt(reference.api_version)  # the object is gone, or its definition
            return None
        finally:
            self._readings.discard(reading)

    def _check_denied(self, served: Served, namespace: str) -> None:
        """A kind that may not be read is not asked for again for each of a thousand pods."""
        error, until = self._denied.get(served.path(namespace, ""), (None, 0.0))
        if error is not None and time.monotonic() < until:
            raise error

    def release(self, uid: str) -> None:
        """No pod leads to this owner any more."""
        self._known.pop(uid, None)
        path = self._watch_of.pop(uid, None)
        watch = self._watches.get(path) if path is not None else None
        if watch is not None:
            watch.uids.discard(uid)
            if not watch.uids:
                watch.end_after(_LINGER_S, lambda: self._end(watch))

    def _watch(self, served: Served, reference: OwnerReference, decode: Decoder[_Object], *, whole: bool) -> None:
        path = served.collection
        watch = self._watches.get(path)
        if watch is None:
            if self._tasks is None:
                return
            watch = self._watches[path] = _Watch(path, self, reference.api_version, reference.kind)
            resource = Resource(path, decode, optional="/apis/" in path, metadata_only=not whole)
            watch.task = self._tasks.create_task(Reflector(self._client, resource, watch).run())
        watch.uids.add(reference.uid)
        watch.keep()
        self._watch_of[reference.uid] = path

    def _end(self, watch: _Watch) -> None:
        if not watch.uids and self._watches.get(watch.path) is watch:
            del self._watches[watch.path]
            watch.task.cancel()

    def seen(self, watch: _Watch, obj: _Object) -> None:
        """The watch shows an owner."""
        for reading in self._readings:
            if reading.uid == obj.metadata.uid:
                reading.shown = obj
        known = self._known.get(obj.metadata.uid)
        if known is None or not is_newer(obj.metadata, known.metadata):
            return
        reference = OwnerReference(watch.kind, api_version=watch.api_version)
        self._known[obj.metadata.uid] = _owner(reference, obj)
        self._changed(obj.metadata.uid)

    def gone(self, uid: str) -> None:
        """The watch shows that an owner was deleted."""
        for reading in self._readings:
            if reading.uid == uid:
                reading.gone = True
        if self._known.pop(uid, None) is not None:
            self._changed(uid)


class _Watch:
    """The sink of the watch of one kind, and who uses it."""

    def __init__(self, path: str, owners: Owners, api_version: str, kind: str) -> None:
        self.path, self._owners, self.api_version, self.kind = path, owners, api_version, kind
        self.uids: set[str] = set()
        self.task: asyncio.Task[None]
        self._timer: asyncio.TimerHandle | None = None

    def keep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end_after(self, seconds: float, end: Callable[[], None]) -> None:
        self.keep()
        self._timer = asyncio.get_running_loop().call_later(seconds, end)

    def upsert(self, obj: _Object) -> None:
        self._owners.seen(self, obj)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        self._owners.gone(uid)


def _owner(reference: OwnerReference, obj: _Object) -> Owner:
    body: dict[str, Any] = {}
    for name, raw in (("spec", obj.spec), ("status", obj.status)):
        value = msgspec.json.decode(raw)
        if value is not None:
            body[name] = value
    return Owner(reference.api_version, reference.kind, obj.metadata, body)
