"""Strict parsing of documents that people write by hand: an error names the field and the value.

Every error is reported, not only the first: a document with errors is parsed part by part, without the parts that are
wrong.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from koordpy.api.errors import MalformedValue

T = TypeVar("T")

# A message of msgspec: the problem, and its place unless at the top.
_PROBLEM = re.compile(r"(?P<text>.*?)(?: - at `(?P<key>key` in `)?\$(?P<place>.*)`)?", re.DOTALL)
_TYPE = re.compile(r"\b(bool|str|int|float|array|object|null)\b")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_BROKEN: Any = object()  # stands for a part that cannot be read

# A span of time in Go's words. YAML makes a number of `10`, and nobody should have to guess its unit.
Duration = Annotated[str, msgspec.Meta(extra={"wants": "a duration such as 10s"})]


class Misread(ValueError):
    """The document cannot be used; each of `lines` names a field and its value, and `str()` is the first of them."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lines[0])
        self.lines = lines


class Strict(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A part of such a document; field names are those of the API, in snake case."""


class Mistakes:
    """Collects what is wrong; said twice, it is one mistake."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)

    def add(self, *lines: str) -> None:
        self._lines |= dict.fromkeys(lines)

    def about(self, *places: str) -> bool:
        """Something at one of these places, or below it, is wrong."""
        return any(line.startswith(places) for line in self._lines)

    @contextmanager
    def collected(self, place: str = "") -> Iterator[None]:
        """What is raised inside is a mistake at this place."""
        try:
            yield
        except Misread as error:
            self.add(*(place + line for line in error.lines))
        except MalformedValue as error:
            self.add(f"{place}{error}")

    def raise_any(self) -> None:
        if self._lines:
            raise Misread(*self._lines)


def read_strictly(document: object, struct: type[T]) -> T:
    """The document as a struct; raises Misread with every mistake."""
    try:
        return msgspec.convert(document, struct)
    except msgspec.ValidationError as error:
        lines: list[str] = []
        _read(document, struct, "", lines)
        raise Misread(*lines or [_readable(str(error), document, struct, "")]) from None


def read_what_can_be_read(document: object, struct: type[T], mistakes: Mistakes) -> T | None:
    """The document as a struct without what is wrong in it; None if nothing is left of it."""
    lines: list[str] = []
    rest = _read(document, struct, "", lines)
    mistakes.add(*lines)
    return None if rest is _BROKEN else msgspec.convert(rest, struct)


# --- part by part ---


def _read(value: Any, kind: Any, place: str, lines: list[str]) -> Any:
    """The value without what is wrong in it, which is named in `lines`; `_BROKEN` if that leaves nothing of use."""
    inner = _without_none(kind) if value is not None else kind
    bare = get_args(inner)[0] if get_origin(inner) is Annotated else inner
    if isinstance(bare, type) and issubclass(bare, msgspec.Struct) and isinstance(value, dict):
        rest = _read_fields(value, bare, place, lines)
    elif get_origin(bare) in (list, tuple) and isinstance(value, list):
        items = [_read(each, get_args(bare)[0], f"{place}[{i}]", lines) for i, each in enumerate(value)]
        # Without one of its items the others would have other numbers.
        rest = items if all(item is not _BROKEN for item in items) else _BROKEN
    else:
        rest = value
    if rest is _BROKEN:
        return rest
    try:
        msgspec.convert(rest, kind)
    except msgspec.ValidationError as error:
        lines.append(_readable(str(error), value, inner, place))
        return _BROKEN
    return rest


def _read_fields(value: dict[Any, Any], struct: type[msgspec.Struct], place: str, lines: list[str]) -> Any:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    rest: dict[str, Any] = {}
    for key, said in value.items():
        if not isinstance(key, str):
            lines.append(f"{place or 'document'}: a key is wrong: expected text, got {key!r}")
        elif key not in fields:
            lines.append(f"{_below(place, key)}: unknown field")
        elif (read := _read(said, fields[key].type, _below(place, key), lines)) is not _BROKEN:
            rest[key] = read
    required = [name for name, field in fields.items() if field.required]
    lines += [f"{_below(place, name)}: is missing" for name in required if name not in value]
    return rest if all(name in rest for name in required) else _BROKEN


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _without_none(kind: Any) -> Any:
    """`X` of `X | None`."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind
    return Union[tuple(each for each in get_args(kind) if each is not types.NoneType)]  # noqa: UP007 - as many as there are


# --- in words ---

_WORDS = {
    "bool": "true or false", "str": "text", "int": "a whole number", "float": "a number", "array": "a list",
    "object": "a mapping", "null": "nothing",
}  # fmt: skip


def _readable(problem: str, value: Any, kind: Any, place: str) -> str:
    """`Expected `int`, got `str` - at `$[0]`` becomes `profiles[0]: 'a' is wrong: expected a whole number, ...`."""
    found = _PROBLEM.fullmatch(problem)
    text, below = (found["text"], found["place"] or "") if found else (problem, "")
    where = (place + below).lstrip(".") or "document"
    complaint = _TYPE.sub(lambda found: _WORDS.get(found[0], found[0]), text.replace("`", ""))
    if found and found["key"]:
        return f"{where}: a key is wrong: {complaint.lower()}"
    said = _at(value, below)
    if isinstance(said, (int, float)) and not isinstance(said, bool) and (wants := _wanted(kind)):
        return f"{where}: wants {wants}, not the number {said}"
    if text.startswith("Invalid enum value") and not below:
        return f"{where}: {_shown(said)} is none of {', '.join(map(str, _choices(kind)))}"
    return f"{where}: {_shown(said)} is wrong: {complaint[:1].lower()}{complaint[1:]}"


def _wanted(kind: Any) -> str:
    """What a field is for, in words, if its type says so."""
    metas = (meta for meta in getattr(kind, "__metadata__", ()) if isinstance(meta, msgspec.Meta))
    return next((str(meta.extra["wants"]) for meta in metas if meta.extra and "wants" in meta.extra), "")


def _choices(kind: Any) -> tuple[Any, ...]:
    """Also of `bool | Literal["On", "Off"]`, as YAML makes a bool of one spelling and text of another."""
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(choice for each in get_args(kind) for choice in _choices(each))
    if kind is bool:
        return ("true", "false")
    return get_args(kind) if get_origin(kind) is Literal else ()


def _at(value: Any, place: str) -> Any:
    """What stands at `.plugins[0]` below a value, as far as the way can be followed."""
    for key, number in _STEP.findall(place):
        try:
            value = value[key or int(number)]
        except (KeyError, IndexError, TypeError):
            break
    return value


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "{…}" if isinstance(value, dict) else "[…]"
    shown = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
