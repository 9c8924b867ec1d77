"""How an object comes into being, changes and goes: uid, generation, finalizers, grace periods.

The same for every resource; what differs per resource is asked of its `Strategy`.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import errors
from koordpy.sim.embedded.backend import timestamp

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.strategies import Strategy

Obj = dict[str, Any]

_KEPT_ON_UPDATE = (
    "uid",
    "creationTimestamp",
    "generateName",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
_EMPTY_IS_ABSENT = ("labels", "annotations", "finalizers", "ownerReferences", "managedFields")
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_PROPAGATION = {"Orphan": ORPHAN, "Foreground": FOREGROUND}
_MODIFIED = ("ResourceVersion", "modified")
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that generated names spell no words


def typed(resource: Resource, obj: Obj) -> Obj:
    """The object with its type first, which is where the encoder and `Reader` expect it."""
    metadata = obj.get("metadata") or {}
    for key in _EMPTY_IS_ABSENT:
        if key in metadata and not metadata[key]:
            del metadata[key]
    rest = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": metadata,
        **rest,
    }


def begin(backend: Backend, metadata: Obj, strategy: Strategy) -> None:
    """Give a new object what only the server gives. Changes `metadata` in place."""
    for key in ("resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(key, None)
    metadata.pop("generation", None)
    metadata["uid"] = backend.new_uid()
    metadata["creationTimestamp"] = backend.now()
    if strategy.generation:
        metadata["generation"] = 1


def generated_name(backend: Backend, prefix: str) -> str:
    number = int(backend.new_uid().replace("-", "")[:12], 16)
    suffix = ""
    for _ in range(5):
        number, digit = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[digit]
    return prefix[:58] + suffix


def carry_over(new: Obj, old: Obj) -> None:
    """What a client may not change is taken from the stored metadata. Changes `new` in place."""
    for key in _KEPT_ON_UPDATE:
        if key in old:
            new[key] = old[key]
        else:
            new.pop(key, None)
    new["resourceVersion"] = old["resourceVersion"]


def raise_generation(new: Obj, old: Obj) -> None:
    """Count a change of anything but metadata; also of a status, where that is not written on its own."""
    keys = (new.keys() | old.keys()) - {"metadata"}
    if any(new.get(key) != old.get(key) for key in keys):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def is_finished(obj: Obj) -> bool:
    """Nothing keeps a deleted object: no finalizer, and its grace period is over."""
    metadata = obj["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (obj["kind"] == "Namespace" and obj.get("spec", {}).get("finalizers"))
    )


def check_preconditions(resource: Resource, stored: Stored, options: Obj) -> None:
    """Of a deletion or eviction. The real server names the kind here, where it names the resource elsewhere."""
    metadata, wanted = stored.obj["metadata"], options.get("preconditions") or {}
    for key, name, what in (("uid", "UID", "deleted and then recreated"), ("resourceVersion", *_MODIFIED)):
        asked = wanted.get(key)
        if asked and asked != metadata[key]:
            told = f"the {name} in the precondition ({asked}) does not match the {name} in record ({metadata[key]})"
            message = f"{told}. The object might have been {what}"
            raise errors.conflict(resource, stored.key[1], message, named=resource.kind)


def delete(backend: Backend, stored: Stored, strategy: Strategy, options: Obj) -> tuple[Stored, bool]:
    """Delete, or mark as being deleted. Returns the last state and whether the object is gone.

    A resource that knows grace periods is always marked first, even if the period is zero: watchers see it
    terminating and then going, as two changes.
    """
    obj = _for_dependents(stored.obj, strategy, options)
    marked = _marked(backend, obj, strategy.grace(obj, options.get("gracePeriodSeconds")))
    if is_finished(marked) and not strategy.graceful:
        return backend.store.remove(stored), True
    if marked is not stored.obj:
        stored = backend.store.replace(stored, marked)
    if is_finished(marked):
        return backend.store.remove(stored), True
    return stored, False


def _for_dependents(obj: Obj, strategy: Strategy, options: Obj) -> Obj:
    """The object with the finalizer under which the garbage collector first sees to its dependents."""
    policy = options.get("propagationPolicy")
    if policy is None:
        orphans = options.get("orphanDependents", strategy.orphans)
        policy = "Orphan" if orphans else "Background"
    metadata = obj["metadata"]
    others = [name for name in metadata.get("finalizers") or () if name not in _PROPAGATION.values()]
    asked = [_PROPAGATION[policy]] if policy in _PROPAGATION else []
    if "propagationPolicy" not in options and not asked and len(others) < len(metadata.get("finalizers") or ()):
        return obj  # somebody wrote the finalizer, and this deletion does not say otherwise
    if [*others, *asked] == (metadata.get("finalizers") or []):
        return obj
    kept = {key: value for key, value in metadata.items() if key != "finalizers"}
    return {**obj, "metadata": kept | ({"finalizers": [*others, *asked]} if others or asked else {})}


def _marked(backend: Backend, obj: Obj, grace: int) -> Obj:
    """The object with a deletion timestamp; a second deletion may only shorten the grace period."""
    metadata = obj["metadata"]
    if "deletionTimestamp" in metadata:
        if grace >= metadata.get("deletionGracePeriodSeconds", 0):
            return obj
        granted = metadata["deletionGracePeriodSeconds"]
        began = _seconds(metadata["deletionTimestamp"]) - granted
        marks: Obj = {"deletionTimestamp": timestamp(began + grace)}
    else:
        marks = {"deletionTimestamp": timestamp(backend.clock() + grace)}
    marks["deletionGracePeriodSeconds"] = grace
    if "generation" in metadata and "deletionTimestamp" not in metadata:
        marks["generation"] = metadata["generation"] + 1
    return {**obj, "metadata": {**metadata, **marks}}


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
