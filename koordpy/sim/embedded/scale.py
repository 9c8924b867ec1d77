"""The subresource `scale`: the replicas of a workload and nothing else, which is what `kubectl scale` writes.

It is another view of the stored object: a write changes `spec.replicas` by the rules of a write to the object itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import errors, patch
from koordpy.sim.embedded.request import Response
from koordpy.sim.embedded.selectors import as_text
from koordpy.sim.embedded.writing import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Writer

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.request import Request
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Stored

Obj = dict[str, Any]


def answer(backend: Backend, resource: Resource, request: Request, namespace: str, name: str) -> Response:
    stored = backend.store.get(resource.storage, namespace, name)
    if stored is None:
        raise errors.not_found(resource, name)
    if request.method == "GET":
        return Response.of(_scale(resource, stored))
    if request.method == "PUT":
        wanted = request.object()
    elif request.method == "PATCH":
        wanted = _patched(request, _scale(resource, stored))
    else:
        raise errors.method_not_allowed()
    return Response.of(_scale(resource, _scaled(backend, resource, request, stored, wanted)))


def _scale(resource: Resource, stored: Stored) -> Obj:
    metadata, spec = stored.obj["metadata"], stored.obj.get("spec") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    selector = spec.get("selector") or {}
    if resource.kind == "ReplicationController":
        selector = {"matchLabels": selector}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": {"replicas": (stored.obj.get("status") or {}).get("replicas", 0), "selector": as_text(selector)},
    }


def _patched(request: Request, scale: Obj) -> Obj:
    kind = request.content_type
    if kind == JSON_PATCH:
        return patch.json_patch(scale, request.any_json())
    if kind in (MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH):  # no list in a Scale: all three mean the same
        merged: Obj = patch.merge_patch(scale, request.json())
        return merged
    raise errors.unsupported_media_type([JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH])


def _scaled(backend: Backend, resource: Resource, request: Request, stored: Stored, wanted: Obj) -> Stored:
    replicas = (wanted.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise errors.bad_request(f"spec.replicas must be a whole number, not {replicas!r}")
    if replicas < 0:
        told = errors.invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise errors.invalid("Scale", "autoscaling", stored.key[1], [told])
    changed = stored.private_copy()
    changed.setdefault("spec", {})["replicas"] = replicas
    changed["metadata"]["resourceVersion"] = (wanted.get("metadata") or {}).get("resourceVersion", "")
    if not changed["metadata"]["resourceVersion"]:
        changed["metadata"]["resourceVersion"] = stored.obj["metadata"]["resourceVersion"]
    scaled, _ = Writer(backend, resource, request).update(*stored.key, changed)
    return scaled
