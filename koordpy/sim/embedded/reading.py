"""Get and list: selectors, pages, older resourceVersions, and the JSON of what was found."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from koordpy.sim.embedded import errors
from koordpy.sim.embedded.selectors import field_selector, label_selector

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.request import Request
    from koordpy.sim.embedded.resources import Resource
    from koordpy.sim.embedded.store import Stored

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    items: list[Stored]
    rv: int
    next_token: str = ""
    remaining: int = 0


def matcher(request: Request, resource: Resource, name: str = "") -> Callable[[Obj], bool] | None:
    """The selectors of a list or watch as one predicate; None when everything matches."""
    tests: list[Callable[[Obj], bool]] = []
    if name:
        tests.append(lambda obj: obj["metadata"]["name"] == name)
    if request.query.get("labelSelector"):
        tests.append(label_selector(request.query["labelSelector"]))
    if request.query.get("fieldSelector"):
        tests.append(field_selector(request.query["fieldSelector"], resource.kind))
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda obj: all(test(obj) for test in tests)


def encoded(resource: Resource, stored: Stored) -> bytes:
    """The bytes of one object as this resource serves it."""
    return stored.encoded(resource.api_version if resource.from_storage else "", resource.from_storage)


def find_page(backend: Backend, resource: Resource, request: Request, namespace: str) -> Page:
    limit = _number(request, "limit")
    token = request.query.get("continue", "")
    rv, start = _read_token(token) if token else (_asked_rv(backend, request), None)
    items = _items_at(backend, resource, namespace, rv, resuming=bool(token))
    matches = matcher(request, resource)
    if matches is not None:
        items = [item for item in items if matches(item.obj)]
    if start is not None:
        items = [item for item in items if list(item.key) > start]
    shown_rv = rv or backend.store.rv
    if not limit or len(items) <= limit:
        return Page(items, shown_rv)
    page = items[:limit]
    return Page(page, shown_rv, _make_token(shown_rv, page[-1]), len(items) - limit if matches is None else 0)


def _items_at(backend: Backend, resource: Resource, namespace: str, rv: int, *, resuming: bool) -> list[Stored]:
    if not rv or rv == backend.store.rv:
        return backend.store.items(resource.storage, namespace)
    try:
        return backend.store.items_at(resource.storage, namespace, rv)
    except errors.ApiError:
        if not resuming:
            raise
        raise errors.expired(
            "The provided continue parameter is too old to display a consistent list result. You can start "
            "a new list without the continue parameter."
        ) from None


def _asked_rv(backend: Backend, request: Request) -> int:
    """The exact resourceVersion to list at, or 0 for the newest."""
    match = request.query.get("resourceVersionMatch", "")
    rv = _number(request, "resourceVersion")
    if match and "resourceVersion" not in request.query:
        told = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise _bad_option(errors.forbidden_field("resourceVersionMatch", told))
    if rv > backend.store.rv:
        raise errors.ApiError(
            504,
            "Timeout",
            f"Too large resource version: {rv}, current: {backend.store.rv}",
            {
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
            {"Retry-After": "1"},
        )
    if match == "Exact" and not rv:
        told = 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
        raise _bad_option(errors.forbidden_field("resourceVersionMatch", told))
    return rv if match == "Exact" else 0


def _bad_option(error: errors.FieldError) -> errors.ApiError:
    return errors.invalid("ListOptions", "meta.k8s.io", "", [error])


def _number(request: Request, name: str) -> int:
    text = request.query.get(name) or "0"
    if not text.isdecimal():
        raise errors.bad_request(f"{name} must be a number, not {text!r}")
    return int(text)


def _make_token(rv: int, last: Stored) -> str:
    content = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": rv, "start": list(last.key)})
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, list[str]]:
    try:
        content = msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(content["rv"]), list(content["start"])
    except (ValueError, KeyError, TypeError):
        raise errors.bad_request("continue key is not valid: take it from the metadata of a list") from None


def list_metadata(page: Page) -> Obj:
    metadata: Obj = {"resourceVersion": str(page.rv)}
    if page.next_token:
        metadata["continue"] = page.next_token
        if page.remaining:
            metadata["remainingItemCount"] = page.remaining
    return metadata


def encode_list(resource: Resource, page: Page) -> bytes:
    """Joined from cached bytes. Built-in lists do not repeat the type in each item, as the real ones."""
    head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": list_metadata(page)}
    items = [encoded(resource, stored) for stored in page.items]
    if not resource.custom:
        prefix = len(msgspec.json.encode({"kind": resource.kind, "apiVersion": resource.api_version}))
        items = [b"{" + item[prefix:] for item in items]
    return msgspec.json.encode(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"
