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
_SERIES_S = 6 * 60.0  # as client-go: said again within this time, it is the same story
_MOST_REMEMBERED = 4096


class _Said(NamedTuple):
    name: str
    times: int
    at: float


class Note(NamedTuple):
    """What is to be said about an object, by whom."""

    about: ObjectRef
    kind: Literal["Normal", "Warning"]
    reason: str
    action: str
    text: str
    controller: str


class EventRecorder:
    """Writes events in the name of a scheduler. What is said again soon becomes a series of the first event."""

    def __init__(self, client: Client, instance: str) -> None:
        self._client, self._instance = client, instance
        self._recent: OrderedDict[Note, _Said] = OrderedDict()

    async def record_once(self, note: Note, now: float) -> None:
        """Of something that happens to an object once in its life: there will be no series to remember it for."""
        await self._create(note, now)

    async def record(self, note: Note, now: float) -> None:
        said = self._recent.pop(note, None)
        if said is not None and now - said.at <= _SERIES_S:
            try:
                await self._repeat(note, said, now)
            except NotFound:  # the API server forgets events after an hour, or somebody deleted it
                said = None
            else:
                self._remember(note, _Said(said.name, said.times + 1, now))
                return
        self._remember(note, _Said(await self._create(note, now), 1, now))

    async def _create(self, note: Note, now: float) -> str:
        """Says what it is called. A name chosen here makes a retry harmless: the second create finds the first."""
        name = f"{note.about.name[:230]}.{secrets.token_hex(8)}"
        with suppress(AlreadyExists):
            await self._client.write("POST", _events(note.about), self._body(note, name, now))
        return name

    async def _repeat(self, note: Note, said: _Said, now: float) -> None:
        series = {"count": said.times + 1, "lastObservedTime": micro_instant_of_seconds(now)}
        path = f"{_events(note.about)}/{quote(said.name)}"
        await self._client.write("PATCH", path, {"series": series}, content_type=MERGE_PATCH)

    def _remember(self, note: Note, said: _Said) -> None:
        self._recent[note] = said
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
    """Events live in namespaces; those about what does not are where `kubectl describe` looks for them."""
    return about.namespace or "default"
