"""Garbage collection: what an object owned goes after it, or before it, or is left alone, as its deletion asks.

Background is the default. Foreground and orphan wait under a finalizer that the API server has set and that is taken
off here. A dependent that names an owner which never was is left alone: users write such things by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.lifecycle import FOREGROUND, ORPHAN
from koordpy.sim.embedded.workloads.control import Control
from koordpy.sim.embedded.workloads.dependents import Place, owners, place_of

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.store import Change, Stored
    from koordpy.sim.embedded.workloads.dependents import Dependents

Obj = dict[str, Any]


class GarbageCollector:
    def __init__(self, backend: Backend, dependents: Dependents) -> None:
        self._backend = backend
        self._dependents = dependents
        self._control = Control(backend, dependents, "garbage-collector-controller")
        self._gone: dict[str, None] = {}  # uids of owners that were deleted, in that order
        self._waiting: dict[Place, None] = {}  # owners that wait under one of the two finalizers

    def hear(self, change: Change) -> bool:
        """Remember what the change means for dependents; returns whether there is something to collect."""
        metadata = change.new.obj["metadata"]
        if change.kind == "DELETED":
            self._waiting.pop(place_of(change.new), None)
            if self._has_dependents(metadata["uid"]):
                self._gone[metadata["uid"]] = None
            return bool(self._gone or (self._waiting and owners(change.new.obj)))
        finalizers = metadata.get("finalizers")
        if finalizers and "deletionTimestamp" in metadata and (ORPHAN in finalizers or FOREGROUND in finalizers):
            self._waiting[place_of(change.new)] = None
            return True
        return False

    def collect(self) -> None:
        while self._gone:
            uid = next(iter(self._gone))
            del self._gone[uid]
            for dependent in self._dependents.of(uid):
                self._lose_owner(dependent, uid)
        for place in tuple(self._waiting):
            owner = self._backend.store.get(place.storage, *place.key)
            if owner is not None:
                self._see_to(owner)

    def _has_dependents(self, uid: str) -> bool:
        return next(self._dependents.of(uid), None) is not None

    def _lose_owner(self, dependent: Stored, uid: str) -> None:
        """Delete a dependent, unless another of its owners is still there."""
        if any(owner["uid"] != uid and self._is_there(dependent, owner) for owner in owners(dependent.obj)):
            self._disown(dependent, uid)
        elif "deletionTimestamp" not in dependent.obj["metadata"]:
            self._control.delete(dependent)

    def _is_there(self, dependent: Stored, owner: Obj) -> bool:
        for resource in self._backend.registry.by_path.values():
            if (resource.api_version, resource.kind) == (owner["apiVersion"], owner["kind"]):
                namespace = dependent.key[0] if resource.namespaced else ""
                found = self._backend.store.get(resource.storage, namespace, owner["name"])
                return found is not None and found.obj["metadata"]["uid"] == owner["uid"]
        return False

    def _disown(self, dependent: Stored, uid: str) -> None:
        metadata = dict(dependent.obj["metadata"])
        metadata["ownerReferences"] = [owner for owner in owners(dependent.obj) if owner["uid"] != uid]
        if not metadata["ownerReferences"]:
            del metadata["ownerReferences"]
        self._backend.store.replace(dependent, {**dependent.obj, "metadata": metadata})

    def _see_to(self, owner: Stored) -> None:
        metadata = owner.obj["metadata"]
        finalizers, uid = metadata.get("finalizers") or (), metadata["uid"]
        if ORPHAN in finalizers:
            for dependent in self._dependents.of(uid):
                self._disown(dependent, uid)
            self._control.drop_finalizer(owner, ORPHAN)
        elif FOREGROUND in finalizers:
            for dependent in self._dependents.of(uid):
                if "deletionTimestamp" not in dependent.obj["metadata"]:
                    nested = self._has_dependents(dependent.obj["metadata"]["uid"])
                    self._control.delete(dependent, "Foreground" if nested else "Background")
            if not any(_blocks(dependent, uid) for dependent in self._dependents.of(uid)):
                self._control.drop_finalizer(owner, FOREGROUND)
        else:
            del self._waiting[place_of(owner)]


def _blocks(dependent: Stored, uid: str) -> bool:
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners(dependent.obj))
