"""Who belongs to whom: the objects that name another one as their owner, found by the owner's uid.

Kept up to date from every change in the store, so that nobody has to search. It must never write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Change, Key, Store, Stored

Obj = dict[str, Any]


class Place(NamedTuple):
    """Where an object is stored."""

    storage: str
    key: Key


def place_of(stored: Stored) -> Place:
    return Place(stored.storage, stored.key)


def owners(obj: Obj) -> list[Obj]:
    return obj["metadata"].get("ownerReferences") or []


def controller_of(obj: Obj) -> Obj | None:
    return next((owner for owner in owners(obj) if owner.get("controller")), None)


class Dependents:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_owner: dict[str, dict[Place, None]] = {}  # the keys in the order of their creation

    def hear(self, change: Change) -> None:
        """Must be called with every change; most are of objects without an owner."""
        if not owners(change.new.obj) and (change.old is None or not owners(change.old.obj)):
            return
        before = {owner["uid"] for owner in owners(change.old.obj)} if change.old else set()
        after = {owner["uid"] for owner in owners(change.new.obj)} if change.kind != "DELETED" else set()
        if before == after:
            return
        place = place_of(change.new)
        for uid in before - after:
            known = self._by_owner[uid]
            del known[place]
            if not known:
                del self._by_owner[uid]
        for uid in after - before:
            self._by_owner.setdefault(uid, {})[place] = None

    def count(self, uid: str) -> int:
        return len(self._by_owner.get(uid, ()))

    def of(self, uid: str) -> Iterator[Stored]:
        for place in tuple(self._by_owner.get(uid, ())):
            stored = self._store.get(place.storage, *place.key)
            if stored is not None:
                yield stored

    def controlled(self, uid: str, storage: str) -> list[Stored]:
        """Those of one resource whose controller it is, oldest first."""
        found = (stored for stored in self.of(uid) if stored.storage == storage)
        return [stored for stored in found if (controller_of(stored.obj) or {}).get("uid") == uid]
