"""Reads values of objects that have no struct here, by path: `spec.runPolicy.schedulingPolicy.minAvailable`.

A value of the wrong type raises MalformedValue, which names the path and the value. A value that is missing is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from koordpy.api.errors import MalformedValue

_MOST = 2**31 - 1


def value_at(body: Any, path: str) -> Any:
    """The value at a path of dots; None where a step is missing or null."""
    found = body
    walked: list[str] = []
    for step in path.split("."):
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise MalformedValue(".".join(walked), found, "is not an object")
        found = found.get(step)
        walked.append(step)
    return found


def count_at(body: Any, path: str) -> int | None:
    """A whole number that is not negative."""
    found = value_at(body, path)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _MOST:
        raise MalformedValue(path, found, "is not a number of pods")
    return found


def text_at(body: Any, path: str) -> str:
    """A text; empty if it is missing."""
    found = value_at(body, path)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise MalformedValue(path, found, "is not a text")
    return found


def object_at(body: Any, path: str) -> Mapping[str, Any]:
    """An object; empty if it is missing."""
    found = value_at(body, path)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise MalformedValue(path, found, "is not an object")
    return found


def objects_at(body: Any, path: str) -> dict[str, Mapping[str, Any]]:
    """An object whose values are objects; empty if it is missing."""
    found = value_at(body, path)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise MalformedValue(path, found, "is not an object")
    for name, each in found.items():
        if not isinstance(each, Mapping):
            raise MalformedValue(f"{path}.{name}", each, "is not an object")
    return dict(found)


def list_at(body: Any, path: str) -> list[Mapping[str, Any]]:
    """A list of objects; empty if it is missing."""
    found = value_at(body, path)
    if found is None:
        return []
    if not isinstance(found, list):
        raise MalformedValue(path, found, "is not a list")
    for number, each in enumerate(found):
        if not isinstance(each, Mapping):
            raise MalformedValue(f"{path}[{number}]", each, "is not an object")
    return found


def count_in(texts: Mapping[str, str], key: str) -> int | None:
    """A whole number in an annotation or label."""
    text = texts.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= _MOST):
        raise MalformedValue(key, text, "is not a whole number")
    return int(text)
