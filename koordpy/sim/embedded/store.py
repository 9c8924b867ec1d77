"""Objects in memory, one resourceVersion for all of them, and the window of changes that watches replay.

A stored object is never mutated: a write replaces the `Stored` record, so that a list, a watch event and a
page of an older list can share one record and the bytes it was serialised to. The store knows no rules of
the API (`lifecycle.py` and the strategies do) and must never await.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from koordpy.sim.embedded.errors import expired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Obj = dict[str, Any]
Key = tuple[str, str]  # namespace ("" for cluster-scoped), name

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
HISTORY = 20_000  # changes; a client further behind than that lists again, as with a compacted etcd


class Stored:
    """One version of one object. `obj` must be treated as frozen."""

    __slots__ = ("_encoded", "key", "obj", "rv", "storage")

    def __init__(self, storage: str, key: Key, obj: Obj, rv: int) -> None:
        self.storage = storage
        self.key = key
        self.obj = obj
        self.rv = rv
        self._encoded: dict[str, bytes] = {}

    def encoded(self, view: str, convert: Callable[[Obj], Obj] | None) -> bytes:
        """The JSON of one served version of the object, made once however many watchers ask for it."""
        made = self._encoded.get(view)
        if made is None:
            made = msgspec.json.encode(convert(self.obj) if convert else self.obj)
            self._encoded[view] = made
        return made

    def private_copy(self) -> Obj:
        """A copy that a writer may change in place. Encoding and decoding is the fastest deep copy."""
        copy: Obj = msgspec.json.decode(self.encoded("", None))
        return copy


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one object at one resourceVersion; `new` of a deletion is its last state."""

    rv: int
    kind: str
    new: Stored
    old: Stored | None


class Store:
    def __init__(self, history: int = HISTORY) -> None:
        self.rv = 1
        self._objects: dict[str, dict[Key, Stored]] = {}
        self._sorted: dict[str, list[Stored]] = {}
        self._history: deque[Change] = deque()
        self._history_limit = history
        self._forgotten_rv = 1  # the newest change that is no longer in the window
        self._listeners: dict[str, list[Callable[[Change], None]]] = {}
        self._hear_all: list[Callable[[Change], None]] = []

    def get(self, storage: str, namespace: str, name: str) -> Stored | None:
        objects = self._objects.get(storage)
        return objects.get((namespace, name)) if objects else None

    def items(self, storage: str, namespace: str = "") -> list[Stored]:
        """All objects in the order of their keys, as etcd gives them; `namespace` narrows them."""
        found = self._sorted.get(storage)
        if found is None:
            found = _in_key_order(self._objects.get(storage, {}).values())
            self._sorted[storage] = found
        return [item for item in found if item.key[0] == namespace] if namespace else found

    def items_at(self, storage: str, namespace: str, rv: int) -> list[Stored]:
        """The same list as it was at an older resourceVersion: later changes are undone, newest first."""
        objects = dict(self._objects.get(storage, {}))
        for change in reversed(self.since(storage, rv)):
            if change.old is None:
                objects.pop(change.new.key, None)
            else:
                objects[change.new.key] = change.old
        return _in_key_order(item for item in objects.values() if namespace in ("", item.key[0]))

    def in_namespace(self, namespace: str) -> list[Stored]:
        return [item for objects in self._objects.values() for item in objects.values() if item.key[0] == namespace]

    def since(self, storage: str, rv: int) -> list[Change]:
        """The changes after `rv`, oldest first. Raises 410 if some of them are forgotten."""
        if rv < self._forgotten_rv:
            raise expired(f"too old resource version: {rv} ({self._forgotten_rv})")
        found = []
        for change in reversed(self._history):
            if change.rv <= rv:
                break
            if change.new.storage == storage:
                found.append(change)
        found.reverse()
        return found

    def forget_history(self) -> None:
        """Drop the window, as a compaction does: every older resourceVersion is 410 from now on."""
        self._history.clear()
        self._forgotten_rv = self.rv

    def create(self, storage: str, key: Key, obj: Obj) -> Stored:
        return self._commit(ADDED, storage, key, obj, None)

    def replace(self, old: Stored, obj: Obj) -> Stored:
        return self._commit(MODIFIED, old.storage, old.key, obj, old)

    def remove(self, old: Stored, obj: Obj | None = None) -> Stored:
        """Delete; `obj` is the last state to tell the watchers, if it differs from what is stored."""
        return self._commit(DELETED, old.storage, old.key, obj or old.obj, old)

    def subscribe(self, storage: str, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` with every change from now on, until the returned function is called."""
        listeners = self._listeners.setdefault(storage, [])
        listeners.append(listener)

        def unsubscribe() -> None:
            if listener in listeners:
                listeners.remove(listener)

        return unsubscribe

    def subscribe_all(self, listener: Callable[[Change], None]) -> None:
        """Call `listener` with every change of anything, for as long as there is a store."""
        self._hear_all.append(listener)

    def _commit(self, kind: str, storage: str, key: Key, obj: Obj, old: Stored | None) -> Stored:
        self.rv += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self.rv)}
        new = Stored(storage, key, {**obj, "metadata": metadata}, self.rv)
        objects = self._objects.setdefault(storage, {})
        if kind == DELETED:
            del objects[key]
        else:
            objects[key] = new
        self._sorted.pop(storage, None)
        self._remember(Change(self.rv, kind, new, old))
        return new

    def _remember(self, change: Change) -> None:
        self._history.append(change)
        if len(self._history) > self._history_limit:
            self._forgotten_rv = self._history.popleft().rv
        for listener in tuple(self._listeners.get(change.new.storage, ())):
            listener(change)
        for listener in self._hear_all:
            listener(change)


def _in_key_order(items: Iterable[Stored]) -> list[Stored]:
    return sorted(items, key=lambda item: item.key)
