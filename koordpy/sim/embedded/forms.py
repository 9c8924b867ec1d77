"""The form in which a client wants objects: as they are, as a table, or their metadata alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from koordpy.sim.embedded import errors, tables
from koordpy.sim.embedded.reading import encode_list, encoded, list_metadata

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.reading import Page
    from koordpy.sim.embedded.request import Request
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Stored

Obj = dict[str, Any]

METADATA, METADATA_LIST = "PartialObjectMetadata", "PartialObjectMetadataList"
_API_VERSION = "meta.k8s.io/v1"


def of_object(backend: Backend, resource: Resource, request: Request, stored: Stored) -> bytes:
    match request.wants:
        case "Table":
            return msgspec.json.encode(tables.of_object(backend, resource, request, stored))
        case "PartialObjectMetadata":
            return _metadata(stored)
        case "PartialObjectMetadataList":
            raise errors.wrong_form(f"you requested {METADATA_LIST}, but the requested object is not a list")
    return encoded(resource, stored)


def of_page(backend: Backend, resource: Resource, request: Request, page: Page) -> bytes:
    match request.wants:
        case "Table":
            return msgspec.json.encode(tables.of_page(backend, resource, request, page))
        case "PartialObjectMetadataList":
            return _metadata_list(page)
        case "PartialObjectMetadata":
            raise errors.wrong_form(f"you requested {METADATA}, but the requested object is a list")
    return encode_list(resource, page)


def of_event(backend: Backend, resource: Resource, request: Request) -> Callable[[Stored], bytes]:
    """How the object of each event of a watch is encoded."""
    if not request.wants:
        return lambda stored: encoded(resource, stored)
    if request.wants == METADATA_LIST:
        raise errors.wrong_form(f"you requested {METADATA_LIST}, but the events of a watch are not lists")
    return lambda stored: of_object(backend, resource, request, stored)


def type_of_bookmark(resource: Resource, request: Request) -> Obj:
    if request.wants == METADATA:
        return {"kind": METADATA, "apiVersion": _API_VERSION}
    return {"kind": resource.kind, "apiVersion": resource.api_version}


def _metadata(stored: Stored) -> bytes:
    return stored.encoded(METADATA, _partial)


def _metadata_list(page: Page) -> bytes:
    head = {"kind": METADATA_LIST, "apiVersion": _API_VERSION, "metadata": list_metadata(page)}
    if not page.items:
        return msgspec.json.encode(head | {"items": None})  # as the real server does for this form alone
    return msgspec.json.encode(head)[:-1] + b',"items":[' + b",".join(map(_metadata, page.items)) + b"]}"


def _partial(obj: Obj) -> Obj:
    return {"kind": METADATA, "apiVersion": _API_VERSION, "metadata": obj["metadata"]}
