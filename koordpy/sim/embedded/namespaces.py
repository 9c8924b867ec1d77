"""Namespaces as containers: nothing is created in a missing or terminating one, and deleting empties it.

The real server leaves the emptying to a controller; here it happens in the deletion itself, and the
namespace goes when the last object in it does (a pod may still be terminating gracefully).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import errors, lifecycle
from koordpy.sim.embedded.customresources import STORAGE as DEFINITIONS
from koordpy.sim.embedded.strategies import strategy_of

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Stored

Obj = dict[str, Any]
_IMMORTAL = ("default", "kube-system", "kube-public")
INITIAL = (*_IMMORTAL, "kube-node-lease")


def check_open(backend: Backend, resource: Resource, namespace: str, name: str) -> None:
    """Refuse to create in a namespace that is absent (404) or being deleted (403)."""
    if not resource.namespaced:
        return
    stored = backend.store.get("namespaces", "", namespace)
    if stored is None:
        raise errors.not_found(backend.registry.by_path["", "v1", "namespaces"], namespace)
    if "deletionTimestamp" in stored.obj["metadata"]:
        told = f"unable to create new content in namespace {namespace} because it is being terminated"
        error = errors.forbidden(resource, name, told)
        cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated"}
        error.details = {**(error.details or {}), "causes": [{**cause, "field": "metadata.namespace"}]}
        raise error


def check_mortal(resource: Resource, name: str) -> None:
    """Refuse to delete what the admission of the real server keeps: too much relies on these to be there."""
    if name in _IMMORTAL:
        raise errors.forbidden(resource, name, "this namespace may not be deleted")


def terminate(backend: Backend, stored: Stored) -> tuple[Stored, bool]:
    name = stored.key[1]
    if "deletionTimestamp" not in stored.obj["metadata"]:
        metadata = {**stored.obj["metadata"], "deletionTimestamp": backend.now()}
        status = {**stored.obj.get("status", {}), "phase": "Terminating"}
        stored = backend.store.replace(stored, {**stored.obj, "metadata": metadata, "status": status})
    for item in backend.store.in_namespace(name):
        _delete_content(backend, item)
    return stored, sweep(backend, name)


def _delete_content(backend: Backend, item: Stored) -> None:
    resource = next(r for r in backend.registry.by_path.values() if r.storage == item.storage)
    lifecycle.delete(backend, item, strategy_of(resource), {"propagationPolicy": "Background"})


def sweep(backend: Backend, name: str) -> bool:
    """Let a terminating namespace go once it is empty. Returns whether it went."""
    stored = backend.store.get("namespaces", "", name) if name else None
    if stored is None or "deletionTimestamp" not in stored.obj["metadata"]:
        return False
    if stored.obj["metadata"].get("finalizers") or backend.store.in_namespace(name):
        return False
    backend.store.remove(stored, {**stored.obj, "spec": {}})
    return True


def drop_instances(backend: Backend, gone: Stored) -> None:
    """A deleted CustomResourceDefinition takes its objects with it."""
    if gone.storage == DEFINITIONS:
        spec = gone.obj["spec"]
        for item in tuple(backend.store.items(f"{spec['names']['plural']}.{spec['group']}")):
            backend.store.remove(item)
