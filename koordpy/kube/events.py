"""Events in `events.k8s.io/v1`, as kube-scheduler records them."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from contextlib import suppress
from typing import Literal, NamedTuple
from urllib.parse import quote

from koordpy.api.times import micro_instant_of_seconds
from koordpy.kube.client import MERGE_PATCH, Client
from koordpy.kube.errors import AlreadyExists, NotFound
from koordpy.kube.writes import ObjectRef

_LONGEST_NOTE = 1024  # the API server refuses more
_SERIES_S = 6 * 60.0  # as client-go: an equal event within this time joins the series of the first
_MOST_REMEMBERED = 4096


class _Recorded(NamedTuple):
    """The last event of a series."""

    name: str
    times: int
    at: float


class Note(NamedTuple):
    """The content of an event about an object."""

    about: ObjectRef
    kind: Literal["Normal", "Warning"]
    reason: str
    action: str
    text: str
    controller: str


class EventRecorder:
    """Writes events in the name of a scheduler. An equal event soon after becomes a series of the first."""

    def __init__(self, client: Client, instance: str) -> None:
        self._client, self._instance = client, instance
        self._recent: OrderedDict[Note, _Recorded] = OrderedDict()

    async def record_once(self, note: Note, now: float) -> None:
        """Record an event that an object has once in its life: there will be no series."""
        await self._create(note, now)

    async def record(self, note: Note, now: float) -> None:
        """Record an event, or extend the series of an equal one."""
        recorded = self._recent.pop(note, None)
        if recorded is not None and now - recorded.at <= _SERIES_S:
            try:
                await self._extend_series(note, recorded, now)
            except NotFound:  # events expire after an hour, or somebody deleted it
                recorded = None
            else:
                self._remember(note, _Recorded(recorded.name, recorded.times + 1, now))
                return
        self._remember(note, _Recorded(await self._create(note, now), 1, now))

    async def _create(self, note: Note, now: float) -> str:
        """Create an event and return its name. The name is chosen here, so that a retried create finds the first."""
        name = f"{note.about.name[:230]}.{secrets.token_hex(8)}"
        with suppress(AlreadyExists):
            await self._client.write("POST", _events(note.about), self._body(note, name, now))
        return name

    async def _extend_series(self, note: Note, recorded: _Recorded, now: float) -> None:
        series = {"count": recorded.times + 1, "lastObservedTime": micro_instant_of_seconds(now)}
        path = f"{_events(note.about)}/{quote(recorded.name)}"
        await self._client.write("PATCH", path, {"series": series}, content_type=MERGE_PATCH)

    def _remember(self, note: Note, recorded: _Recorded) -> None:
        self._recent[note] = recorded
        while len(self._recent) > _MOST_REMEMBERED:
            self._recent.popitem(last=False)

    def _body(self, note: Note, name: str, now: float) -> dict[str, object]:
        about = note.about
        text = note.text if len(note.text) <= _LONGEST_NOTE else note.text[: _LONGEST_NOTE - 4] + " ..."
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": _namespace(about)},
            "eventTime": micro_instant_of_seconds(now),
            "reportingController": note.controller,
            "reportingInstance": self._instance,
            "regarding": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
            "type": note.kind,
            "reason": note.reason,
            "action": note.action,
            "note": text,
        }


def _events(about: ObjectRef) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{quote(_namespace(about))}/events"


def _namespace(about: ObjectRef) -> str:
    """Events about cluster-scoped objects are in `default`, where `kubectl describe` finds them."""
    return about.namespace or "default"
