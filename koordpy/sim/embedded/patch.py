"""JSON patch (RFC 6902) and merge patch (RFC 7386), on a private copy of an object.

Both change the copy in place and return it; the caller throws the copy away when a patch fails.
"""

from __future__ import annotations

from typing import Any

from koordpy.sim.embedded.errors import ApiError, bad_request

Obj = dict[str, Any]


def merge_patch(target: Any, change: Any) -> Any:
    """A null removes, an object is merged, anything else replaces."""
    if not isinstance(change, dict):
        return change
    if not isinstance(target, dict):
        target = {}
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge_patch(target.get(key), value)
    return target


def json_patch(target: Obj, operations: Any) -> Obj:
    if not isinstance(operations, list):
        raise bad_request("a JSON patch must be a list of operations")
    document: Any = target
    for operation in operations:
        try:
            document = _apply(document, operation)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise _refused(f"the operation {operation!r} cannot be applied: {error}") from None
    if not isinstance(document, dict):
        raise _refused("the patched document is not an object")
    return document


def _refused(message: str) -> ApiError:
    return ApiError(422, "Invalid", f"the server rejected our request due to an error in our request: {message}")


def _apply(document: Any, operation: Obj) -> Any:
    name, path = operation["op"], _steps(operation["path"])
    if name == "test":
        found = _value_at(document, path)
        if found != operation.get("value"):
            raise _refused(f"testing value {operation['path']} failed")
        return document
    if name == "remove":
        return _remove(document, path)
    if name in ("add", "replace"):
        if name == "replace":
            _value_at(document, path)
        return _put(document, path, operation["value"], insert=name == "add")
    if name in ("move", "copy"):
        origin = _steps(operation["from"])
        value = _value_at(document, origin)
        document = _remove(document, origin) if name == "move" else document
        return _put(document, path, value, insert=True)
    raise ValueError(f"unknown operation {name!r}")


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"the pointer {pointer!r} must start with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _value_at(document: Any, steps: list[str]) -> Any:
    for step in steps:
        document = document[_index(document, step)] if isinstance(document, list) else document[step]
    return document


def _index(items: list[Any], step: str) -> int:
    index = int(step)
    if not 0 <= index < len(items):
        raise IndexError(f"index {step} is out of range")
    return index


def _put(document: Any, steps: list[str], value: Any, *, insert: bool) -> Any:
    if not steps:
        return value
    parent = _value_at(document, steps[:-1])
    last = steps[-1]
    if not isinstance(parent, list):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    elif insert:
        parent.insert(len(parent) if int(last) == len(parent) else _index(parent, last), value)
    else:
        parent[_index(parent, last)] = value
    return document


def _remove(document: Any, steps: list[str]) -> Any:
    parent = _value_at(document, steps[:-1])
    last = steps[-1]
    del parent[_index(parent, last) if isinstance(parent, list) else last]
    return document
