"""Strict parsing of documents that people write by hand: an error names the field and the value."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
import msgspec.inspect

T = TypeVar("T")

# A message of msgspec: the problem, and its place unless at the top.
_PROBLEM = re.compile(r"(?P<text>.*?)(?: - at `(?:key` in `)?\$(?P<place>.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class Misread(ValueError):
    """The document cannot be used; `str()` is one line that names the field and the value."""


class Strict(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A part of such a document; field names are those of the API, in snake case."""


def read_strictly(document: object, struct: type[T]) -> T:
    """The document as a struct; raises Misread."""
    try:
        return msgspec.convert(document, struct)
    except msgspec.ValidationError as error:
        raise Misread(_readable(str(error), document, struct)) from None


def _readable(problem: str, document: object, struct: type) -> str:
    """`Object contains unknown field `x` - at `$.profiles[0]`` becomes `profiles[0].x: unknown field`."""
    found = _PROBLEM.fullmatch(problem)
    text, place = (found["text"], found["place"] or "") if found else (problem, "")
    place = place.lstrip(".")
    if field := re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", text):
        kind = "unknown field" if field[1] == "contains unknown" else "is missing"
        return f"{place}.{field[2]}: {kind}".lstrip(".")
    if "`key` in" in problem:
        return f"{place or 'document'}: a key is wrong: {text.replace('`', '').lower()}"
    value = f"{place or 'document'}: {_shown(_at(document, place))}"
    if text.startswith("Invalid enum value"):
        return f"{value} is none of {', '.join(_choices(struct, place))}"
    complaint = text.replace("`", "")
    return f"{value} is wrong: {complaint[:1].lower()}{complaint[1:]}"


def _at(document: Any, place: str) -> Any:
    """The value at a place such as `profiles[0].plugins`, or its nearest ancestor."""
    for key, number in _STEP.findall(place):
        try:
            document = document[key or int(number)]
        except (KeyError, IndexError, TypeError):
            break
    return document


def _choices(struct: type, place: str) -> tuple[str, ...]:
    """The allowed values at a place."""
    kind: Any = msgspec.inspect.type_info(struct)
    for key, _ in _STEP.findall(place):
        inner = next(field.type for field in kind.fields if field.encode_name == key) if key else kind.item_type
        several = inner.types if isinstance(inner, msgspec.inspect.UnionType) else (inner,)
        kind = next(one for one in several if not isinstance(one, msgspec.inspect.NoneType))
    return tuple(map(str, kind.values))


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "{…}" if isinstance(value, dict) else "[…]"
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
