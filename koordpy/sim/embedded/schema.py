"""Structural schemas of custom resources: prune what is unknown, fill in defaults, check the rest.

Covers types, required, enum, ranges, lengths, patterns, additionalProperties, int-or-string, nullable,
preserve-unknown-fields and embedded resources. `metadata` is never touched: it is checked elsewhere.
"""

from __future__ import annotations

import re
from typing import Any

from koordpy.sim.embedded.errors import FieldError, invalid_value, required, unsupported

Obj = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_KEPT = ("apiVersion", "kind", "metadata")


def prune(obj: Obj, schema: Obj) -> list[str]:
    """Drop fields that the schema does not know, in place; returns their paths."""
    return _prune(obj, schema, "", root=True)


def _prune(value: Any, schema: Obj, path: str, *, root: bool = False) -> list[str]:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [p for i, item in enumerate(value) for p in _prune(item, items, f"{path}[{i}]")]
    if not isinstance(value, dict):
        return []
    known = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    keeps_unknown = schema.get("x-kubernetes-preserve-unknown-fields") or extra is True
    kept = _KEPT if root or schema.get("x-kubernetes-embedded-resource") else ()
    dropped: list[str] = []
    for key in list(value):
        below = f"{path}.{key}" if path else key
        if key in known and not (root and key == "metadata"):
            dropped += _prune(value[key], known[key], below)
        elif isinstance(extra, dict):
            dropped += _prune(value[key], extra, below)
        elif key not in kept and not keeps_unknown:
            del value[key]
            dropped.append(below)
    return dropped


def fill_defaults(value: Any, schema: Obj) -> None:
    """Set the defaults of absent fields, in place; a null where none is allowed counts as absent."""
    if isinstance(value, list):
        for item in value:
            fill_defaults(item, schema.get("items") or {})
        return
    if not isinstance(value, dict):
        return
    for key, below in (schema.get("properties") or {}).items():
        if "default" in below and (key not in value or (value[key] is None and not below.get("nullable"))):
            value[key] = _fresh(below["default"])
        if key in value:
            fill_defaults(value[key], below)
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        for item in value.values():
            fill_defaults(item, extra)


def _fresh(value: Any) -> Any:
    """A copy: the default in the definition must not be shared with a writable object."""
    if isinstance(value, dict):
        return {key: _fresh(item) for key, item in value.items()}
    return [_fresh(item) for item in value] if isinstance(value, list) else value


def schema_errors(obj: Obj, schema: Obj) -> list[FieldError]:
    errors = []
    properties = schema.get("properties") or {}
    for key, below in properties.items():
        if key in obj and key not in _KEPT:
            errors += _errors(obj[key], below, key)
    errors += [required(key) for key in schema.get("required") or () if key not in obj]
    return errors


def _errors(value: Any, schema: Obj, path: str) -> list[FieldError]:
    if value is None:
        return [] if schema.get("nullable") else [_type_error(path, schema.get("type", "object"), "null")]
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str) or isinstance(value, bool):
            return [_type_error(path, "integer,string", _type_of(value))]
        return _string_errors(value, schema, path) if isinstance(value, str) else []
    expected = schema.get("type")
    if expected and not _is_of(value, expected):
        return [_type_error(path, expected, _type_of(value))]
    errors = _enum_errors(value, schema, path)
    if isinstance(value, dict):
        errors += _object_errors(value, schema, path)
    elif isinstance(value, list):
        errors += _array_errors(value, schema, path)
    elif isinstance(value, str):
        errors += _string_errors(value, schema, path)
    elif not isinstance(value, bool):
        errors += _number_errors(value, schema, path)
    return errors


def _is_of(value: Any, expected: str) -> bool:
    if isinstance(value, bool):
        return expected == "boolean"
    if expected == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(expected, (object,)))


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return next(name for name in ("object", "array", "string", "integer", "number") if _is_of(value, name))


def _type_error(path: str, expected: str, found: str) -> FieldError:
    told = f'{path} in body must be of type {expected}: "{found}"'
    return FieldError("FieldValueTypeInvalid", path, f'Invalid value: "{found}": {told}')


def _enum_errors(value: Any, schema: Obj, path: str) -> list[FieldError]:
    choices = schema.get("enum")
    return [unsupported(path, value, choices)] if choices and value not in choices else []


def _object_errors(value: Obj, schema: Obj, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{key}") for key in schema.get("required") or () if key not in value]
    properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    for key, item in value.items():
        below = properties.get(key, extra)
        if isinstance(below, dict):
            errors += _errors(item, below, f"{path}.{key}")
    return errors


def _array_errors(value: list[Any], schema: Obj, path: str) -> list[FieldError]:
    errors = []
    if len(value) > schema.get("maxItems", len(value)):
        told = f"Too many: {len(value)}: must have at most {schema['maxItems']} items"
        errors.append(FieldError("FieldValueTooMany", path, told))
    if len(value) < schema.get("minItems", 0):
        told = f"{path} in body should have at least {schema['minItems']} items"
        errors.append(invalid_value(path, len(value), told))
    for index, item in enumerate(value):
        errors += _errors(item, schema.get("items") or {}, f"{path}[{index}]")
    return errors


def _string_errors(value: str, schema: Obj, path: str) -> list[FieldError]:
    errors = []
    if len(value) < schema.get("minLength", 0):
        told = f"{path} in body should be at least {schema['minLength']} chars long"
        errors.append(invalid_value(path, value, told))
    if len(value) > schema.get("maxLength", len(value)):
        told = f"Too long: may not be more than {schema['maxLength']} bytes"
        errors.append(FieldError("FieldValueTooLong", path, told))
    pattern = schema.get("pattern")
    if pattern and re.search(pattern, value) is None:
        errors.append(invalid_value(path, value, f"{path} in body should match '{pattern}'"))
    return errors


def _number_errors(value: float, schema: Obj, path: str) -> list[FieldError]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and (value < least or (schema.get("exclusiveMinimum") and value == least)):
        told = f"{path} in body should be greater than {'' if schema.get('exclusiveMinimum') else 'or equal to '}"
        return [invalid_value(path, value, f"{told}{least}")]
    if most is not None and (value > most or (schema.get("exclusiveMaximum") and value == most)):
        told = f"{path} in body should be less than {'' if schema.get('exclusiveMaximum') else 'or equal to '}"
        return [invalid_value(path, value, f"{told}{most}")]
    return []
