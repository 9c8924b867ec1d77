"""The API as one function: a `Request` in, a `Response` out. No sockets, no threads, no HTTP library.

Paths are parsed here and handed to the verbs; what a verb does is in `reading`, `watching` and `writing`,
what only pods have in `podoperations`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import discovery, errors, forms, openapi, podoperations, reviews, scale
from koordpy.sim.embedded.protobuf import MEDIA_TYPE
from koordpy.sim.embedded.reading import find_page
from koordpy.sim.embedded.request import JSON_TYPE, Request, Response
from koordpy.sim.embedded.watching import Watch
from koordpy.sim.embedded.writing import Writer

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Stored

Obj = dict[str, Any]
Handle = Callable[[Request], Awaitable[Response]]
_READ = ("application/json", "", "application/yaml", MEDIA_TYPE)


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Api:
    """The served API over one backend. `handle` never raises but for cancellation."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    async def handle(self, request: Request) -> Response:
        try:
            return self._answer(request)
        except errors.ApiError as error:
            return Response.of_error(error)

    def _answer(self, request: Request) -> Response:
        parts = [part for part in request.path.split("/") if part]
        depth = 2 if parts[:1] == ["api"] else 3
        if parts[:1] not in (["api"], ["apis"]) or len(parts) <= depth:
            return self._describe(request, parts)
        request.check_acceptable()
        group, version = ("", parts[1]) if depth == 2 else (parts[1], parts[2])
        target = self._target(group, version, parts[depth:])
        if not target.resource.storage:
            return self._review(request, target)
        if target.name:
            return self._on_object(request, target)
        return self._on_collection(request, target)

    def _describe(self, request: Request, parts: list[str]) -> Response:
        """Paths that are not about objects: discovery, OpenAPI, health."""
        if request.method not in ("GET", "HEAD"):
            raise errors.method_not_allowed()
        found = discovery.answer(self.backend.registry, parts) or openapi.answer(self.backend.registry, parts, request)
        if found is None:
            raise errors.no_such_path()
        return found

    def _target(self, group: str, version: str, parts: list[str]) -> Target:
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
            namespace, parts = parts[1], parts[2:]
        resource = self.backend.registry.find(group, version, parts[0])
        if resource is None:
            raise errors.no_such_path(f"the embedded API serves no {parts[0]} of {group or 'core'}/{version}")
        if len(parts) > 3:
            raise errors.no_such_path()
        name = parts[1] if len(parts) > 1 else ""
        if bool(namespace) != resource.namespaced and (namespace or name):
            raise errors.no_such_path()
        subresource = parts[2] if len(parts) > 2 else ""
        if subresource and subresource not in resource.subresources:
            raise podoperations.no_subresource(resource, subresource)
        return Target(resource, namespace, name, subresource)

    def _review(self, request: Request, target: Target) -> Response:
        if request.method != "POST" or target.name:
            raise errors.method_not_allowed()
        if target.resource.kind == "Binding":
            body = _object(request)
            name = (body.get("metadata") or {}).get("name", "")
            return podoperations.bind(self.backend, request, target.namespace, name, body)
        return Response.of(reviews.allow(target.resource, _object(request)), 201)

    def _on_collection(self, request: Request, target: Target) -> Response:
        method, resource = request.method, target.resource
        if method == "GET":
            if request.flag("watch"):
                return self._watch(request, target)
            return self._list(request, target)
        if method == "POST":
            if resource.namespaced and not target.namespace:
                raise errors.method_not_allowed()
            return self._create(request, target)
        if method == "DELETE":
            return self._delete_collection(request, target)
        raise errors.method_not_allowed()

    def _on_object(self, request: Request, target: Target) -> Response:
        if target.subresource in ("binding", "eviction", "scale"):
            return self._on_view(request, target)
        method = request.method
        if method == "GET":
            if request.flag("watch"):
                return self._watch(request, target)
            return self._get(request, target)
        if method == "PUT":
            writer = Writer(self.backend, target.resource, request)
            stored, created = writer.update(target.namespace, target.name, _object(request), target.subresource)
            return self._written(request, writer, stored, 201 if created else 200)
        if method == "PATCH":
            writer = Writer(self.backend, target.resource, request)
            stored, created = writer.patch(target.namespace, target.name, target.subresource)
            return self._written(request, writer, stored, 201 if created else 200)
        if method == "DELETE" and not target.subresource:
            return self._delete(request, target)
        raise errors.method_not_allowed()

    def _on_view(self, request: Request, target: Target) -> Response:
        """Subresources that take another kind of object than the resource itself."""
        if target.subresource == "scale":
            return scale.answer(self.backend, target.resource, request, target.namespace, target.name)
        if request.method != "POST":
            raise errors.method_not_allowed()
        operation = podoperations.bind if target.subresource == "binding" else podoperations.evict
        return operation(self.backend, request, target.namespace, target.name, _object(request))

    def _get(self, request: Request, target: Target) -> Response:
        stored = self.backend.store.get(target.resource.storage, target.namespace, target.name)
        if stored is None:
            raise errors.not_found(target.resource, target.name)
        return Response(200, forms.of_object(self.backend, target.resource, request, stored))

    def _list(self, request: Request, target: Target) -> Response:
        page = find_page(self.backend, target.resource, request, target.namespace)
        return Response(200, forms.of_page(self.backend, target.resource, request, page))

    def _watch(self, request: Request, target: Target) -> Response:
        return Response(200, Watch(self.backend, target.resource, request, target.namespace, name=target.name))

    def _create(self, request: Request, target: Target) -> Response:
        writer = Writer(self.backend, target.resource, request)
        return self._written(request, writer, writer.create(target.namespace, _object(request)), 201)

    def _written(self, request: Request, writer: Writer, stored: Stored, status: int) -> Response:
        headers = dict(JSON_TYPE)
        if writer.warnings:
            headers["Warning"] = ", ".join(f'299 - "{_quoted(text)}"' for text in writer.warnings)
        return Response(status, forms.of_object(self.backend, writer.resource, request, stored), headers)

    def _delete(self, request: Request, target: Target) -> Response:
        writer = Writer(self.backend, target.resource, request)
        last, gone = writer.delete(target.namespace, target.name, _delete_options(request))
        if not gone or writer.strategy.returns_deleted:
            return Response(200, forms.of_object(self.backend, target.resource, request, last))
        details = {"name": target.name, "group": target.resource.group, "kind": target.resource.plural}
        details["uid"] = last.obj["metadata"]["uid"]
        details = {key: value for key, value in details.items() if value}
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return Response.of(success | {"details": details})

    def _delete_collection(self, request: Request, target: Target) -> Response:
        page = find_page(self.backend, target.resource, request, target.namespace)
        writer = Writer(self.backend, target.resource, request)
        options = _delete_options(request)
        for stored in page.items:
            writer.delete_stored(stored, options)
        return Response(200, forms.of_page(self.backend, target.resource, request, page))


def _object(request: Request) -> Obj:
    if request.content_type not in _READ:
        raise errors.unsupported_media_type([kind for kind in _READ if kind])
    return request.object()


def _delete_options(request: Request) -> Obj:
    """From the body, or from the query for clients that send none."""
    options: Obj = _object(request) if request.body else {}
    if "gracePeriodSeconds" in request.query and "gracePeriodSeconds" not in options:
        options["gracePeriodSeconds"] = int(request.query["gracePeriodSeconds"])
    if "propagationPolicy" in request.query:
        options.setdefault("propagationPolicy", request.query["propagationPolicy"])
    return options


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
