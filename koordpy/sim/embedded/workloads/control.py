"""What the controllers do to the cluster: create, delete, set a status, say so in an event.

Everything goes through the rules of the API (`Writer`), so that a pod from a Job is defaulted, checked and refused as
one from a user.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import lifecycle, namespaces
from koordpy.sim.embedded.errors import ApiError
from koordpy.sim.embedded.request import Request
from koordpy.sim.embedded.writing import Writer

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Key, Stored
    from koordpy.sim.embedded.workloads.dependents import Dependents

Obj = dict[str, Any]

PODS = "pods"
_REQUEST = Request("POST", "/")


class Control:
    """The hands of one controller; `component` is what its events are said by."""

    def __init__(self, backend: Backend, dependents: Dependents, component: str) -> None:
        self._backend = backend
        self._dependents = dependents
        self._component = component
        self.store = backend.store
        self._warned: dict[tuple[str, str, str], Key] = {}

    @property
    def clock(self) -> float:
        return self._backend.clock()

    @property
    def now(self) -> str:
        return self._backend.now()

    def since(self, timestamp: str) -> float:
        """Seconds that have passed since then."""
        return self._backend.clock() - datetime.fromisoformat(timestamp).timestamp()

    def owned(self, owner: Obj, storage: str = PODS) -> list[Stored]:
        return self._dependents.controlled(owner["metadata"]["uid"], storage)

    def create(self, storage: str, owner: Obj, obj: Obj) -> Stored:
        """Create what `owner` controls, in its namespace. Raises ApiError if it is refused."""
        metadata = owner["metadata"]
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
        reference |= {"uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}
        made = obj["metadata"] | {"namespace": metadata["namespace"], "ownerReferences": [reference]}
        return self.create_free(storage, {**obj, "metadata": made})

    def create_free(self, storage: str, obj: Obj) -> Stored:
        """Create something that outlives its maker, such as the claims of a StatefulSet."""
        return Writer(self._backend, self._resource(storage), _REQUEST).create(obj["metadata"]["namespace"], obj)

    def delete(self, stored: Stored, policy: str = "Background") -> None:
        """`policy` is what becomes of its dependents."""
        options = {"propagationPolicy": policy}
        Writer(self._backend, self._resource(stored.storage), _REQUEST).delete_stored(stored, options)

    def update(self, stored: Stored, obj: Obj) -> Stored:
        """Write an object anew; `obj` is a private copy of what is stored, changed."""
        updated, _ = Writer(self._backend, self._resource(stored.storage), _REQUEST).update(*stored.key, obj)
        return updated

    def set_status(self, stored: Stored, status: Obj) -> Stored:
        """Write the status if it differs; a field that is None is left out."""
        wanted = {key: value for key, value in status.items() if value is not None}
        current = self.store.get(stored.storage, *stored.key)
        if current is None or current.obj["metadata"]["uid"] != stored.obj["metadata"]["uid"]:
            return stored
        if current.obj.get("status") == wanted:
            return current
        return self.store.replace(current, {**current.obj, "status": wanted})

    def drop_finalizer(self, stored: Stored, name: str) -> None:
        """Take one finalizer off; an object that waited for nothing else goes."""
        current = self.store.get(stored.storage, *stored.key)
        if current is None or name not in (current.obj["metadata"].get("finalizers") or ()):
            return
        metadata = dict(current.obj["metadata"])
        metadata["finalizers"] = [one for one in metadata["finalizers"] if one != name]
        if not metadata["finalizers"]:
            del metadata["finalizers"]
        changed = {**current.obj, "metadata": metadata}
        if lifecycle.is_finished(changed):
            self.store.remove(current, changed)
            namespaces.sweep(self._backend, current.key[0])
        else:
            self.store.replace(current, changed)

    def event(self, about: Obj, reason: str, message: str) -> None:
        self._tell(about, "Normal", reason, message)

    def warn(self, about: Obj, reason: str, message: str) -> None:
        """As an event; the same again is counted and not told anew, because a controller tries again and again."""
        told = (about["metadata"]["uid"], reason, message)
        stored = self.store.get("events", *self._warned[told]) if told in self._warned else None
        if stored is not None:
            counted = {**stored.obj, "count": stored.obj["count"] + 1, "lastTimestamp": self.now}
            self.store.replace(stored, counted)
        else:
            self._warned[told] = self._tell(about, "Warning", reason, message)

    def _tell(self, about: Obj, kind: str, reason: str, message: str) -> Key:
        metadata = about["metadata"]
        involved = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")}
        event = {
            "metadata": {"generateName": f"{metadata['name']}.", "namespace": metadata["namespace"]},
            "involvedObject": {"kind": about["kind"], "apiVersion": about["apiVersion"], **involved},
            "reason": reason,
            "message": message,
            "type": kind,
            "count": 1,
            "firstTimestamp": self.now,
            "lastTimestamp": self.now,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        try:
            return self.create_free("events", event).key
        except ApiError:  # the namespace is going, and nobody will read it
            return ("", "")

    def _resource(self, storage: str) -> Resource:
        return next(r for r in self._backend.registry.by_path.values() if r.storage == storage)
