"""The OpenAPI document of the answers, made from their types: what is served and what is described cannot differ."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from koordpy import __version__
from koordpy.api.answers import API_VERSION, PATH, Explanation, JobList, QueueList, Status, WhatIf

_ROUTES = (
    ("get", "/jobs", "Everything pending, in the order of its turn", JobList),
    ("get", "/jobs/{namespace}/{name}", "Why a job waits, and what would start it", Explanation),
    ("post", "/whatif", "What would become of objects that do not exist", WhatIf),
    ("get", "/queues", "The tree of queues", QueueList),
)
_QUERY = (
    ("addNodes", "so many more nodes like `like`, empty", {"type": "integer", "minimum": 1}),
    ("like", "the node that added ones are like", {"type": "string"}),
    ("withoutNode", "a node that is gone; may be repeated", {"type": "array", "items": {"type": "string"}}),
    (
        "withoutJob",
        "a job, namespace/name, that has ended; may be repeated",
        {"type": "array", "items": {"type": "string"}},
    ),
)


@cache
def document() -> dict[str, Any]:
    """OpenAPI 3.1, whose schemas are JSON Schema."""
    answers = [answer for *_, answer in _ROUTES]
    schemas, components = msgspec.json.schema_components([*answers, Status], ref_template="#/components/schemas/{name}")
    by_type = dict(zip([*answers, Status], schemas, strict=True))
    paths: dict[str, Any] = {}
    for method, path, summary, answer in _ROUTES:
        operation: dict[str, Any] = {
            "summary": summary,
            "responses": {"200": _content(by_type[answer], summary), "default": _content(by_type[Status], "an error")},
        }
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
        if method == "post":
            operation["parameters"] += [
                {"name": name, "in": "query", "description": text, "schema": schema} for name, text, schema in _QUERY
            ]
            described = "One object, a List, a JSON array or YAML documents; empty: the jobs that are pending"
            operation["requestBody"] = {"description": described, "content": {"application/yaml": {"schema": {}}}}
        paths[PATH + path] = {method: operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"koordpy answers ({API_VERSION})", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


def _content(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
