"""OpenAPI, just enough for `kubectl`: v3 with the schemas of custom resources, v2 without definitions.

`kubectl apply` looks in v3 for the `fieldValidation` parameter and then leaves validation to the server;
`kubectl explain` finds a kind through its path and shows the schema. Built-in kinds have a skeleton only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.request import Request, Response

if TYPE_CHECKING:
    from koordpy.sim.embedded.resources import Registry, Resource

Obj = dict[str, Any]

_ASKED, _PROTOBUF = (f"application/com.github.proto-openapi.spec.v2{sign}v1.0+protobuf" for sign in "@.")
_EMPTY_PROTOBUF = b"\x0a\x032.0"  # field 1, `swagger`: "2.0"
_GVK = "x-kubernetes-group-version-kind"
_WRITE_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string"}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]
_TEXT = {"type": "string"}
_TEXT_MAP = {"type": "object", "additionalProperties": {"type": "string"}}


def answer(registry: Registry, parts: list[str], request: Request) -> Response | None:
    match parts:
        case ["openapi", "v2"]:
            return _version_two(request)
        case ["openapi", "v3"]:
            return Response.of({"paths": {path: {"serverRelativeURL": url} for path, url in _index(registry)}})
        case ["openapi", "v3", "api", "v1"]:
            return Response.of(_document(registry, "", "v1"))
        case ["openapi", "v3", "apis", group, version] if registry.of(group, version):
            return Response.of(_document(registry, group, version))
    return None


def _version_two(request: Request) -> Response:
    if _ASKED in request.headers.get("accept", ""):
        return Response(200, _EMPTY_PROTOBUF, {"Content-Type": _PROTOBUF})
    info = {"title": "koordpy embedded API", "version": "v1.36.3"}
    return Response.of({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}})


def _index(registry: Registry) -> list[tuple[str, str]]:
    paths = []
    for group, versions in registry.versions().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            count = len(registry.of(group, version))
            # The hash makes clients that cache documents on disk ask again when a definition is added.
            paths.append((path, f"/openapi/v3/{path}?hash={count}-{_fingerprint(registry, group, version)}"))
    return paths


def _fingerprint(registry: Registry, group: str, version: str) -> str:
    schemas = [repr(r.schema) for r in registry.of(group, version) if r.custom]
    return f"{abs(hash(tuple(schemas))):x}"


def _document(registry: Registry, group: str, version: str) -> Obj:
    schemas: dict[str, Obj] = {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": _object_meta()}
    paths: dict[str, Obj] = {}
    for resource in registry.of(group, version):
        name = _schema_name(resource)
        schemas[name] = _schema(resource)
        paths |= _paths(resource, {"$ref": f"#/components/schemas/{name}"})
    return {
        "openapi": "3.0.0",
        "info": {"title": "koordpy embedded API", "version": "v1.36.3"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _schema_name(resource: Resource) -> str:
    group = ".".join(reversed(resource.group.split("."))) or "io.k8s.api.core"
    return f"{group}.{resource.version}.{resource.kind}"


def _schema(resource: Resource) -> Obj:
    gvk = [{"group": resource.group, "version": resource.version, "kind": resource.kind}]
    schema = resource.schema or {}
    skeleton: Obj = {} if schema else {"spec": {"type": "object"}, "status": {"type": "object"}}
    told = schema.get("description") or f"{resource.kind}, served by the embedded API."
    properties = {
        **skeleton,
        **(schema.get("properties") or {}),
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
    }
    return {**schema, "type": "object", "description": told, "properties": properties, _GVK: gvk}


def _object_meta() -> Obj:
    properties: Obj = dict.fromkeys(("name", "namespace", "generateName", "uid", "resourceVersion"), _TEXT)
    properties |= {"labels": _TEXT_MAP, "annotations": _TEXT_MAP}
    properties["finalizers"] = {"type": "array", "items": _TEXT}
    return {"type": "object", "description": "Metadata every object has.", "properties": properties}


def _paths(resource: Resource, ref: Obj) -> dict[str, Obj]:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{root}{scope}/{resource.plural}"
    gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    body = {"application/json": {"schema": ref}}
    answers = {"200": {"description": "OK", "content": body}}

    def operation(action: str, content: Obj | None = None) -> Obj:
        told: Obj = {"responses": answers, "x-kubernetes-action": action, _GVK: gvk}
        if content:
            told |= {"parameters": _WRITE_PARAMETERS, "requestBody": {"content": content}}
        return told

    # No strategic merge patch among these: kubectl would build it from the skeleton schemas. Without it,
    # kubectl uses the merge keys of its own Go types, which are complete.
    patches = {"application/merge-patch+json": {"schema": ref}, "application/apply-patch+yaml": {"schema": ref}}
    return {
        collection: {"get": operation("list"), "post": operation("post", body)},
        collection + "/{name}": {
            "get": operation("get"),
            "put": operation("put", body),
            "patch": operation("patch", patches),
            "delete": operation("delete"),
        },
    }
