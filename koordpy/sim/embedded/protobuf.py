"""Kubernetes' protobuf encoding, read only: kubectl and Go clients send built-in kinds in it.

Clients do not fall back to JSON when a server refuses it, so it has to be understood; they all take JSON as an
answer, so it is never written. The fields of the messages are in `protobuf.fields`, which
`python -m tests.sim.embedded.protobuf_table` makes from Kubernetes' own Go types.
"""

from __future__ import annotations

import base64
import functools
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from koordpy.sim.embedded.errors import ApiError, bad_request, unsupported_media_type

Obj = dict[str, Any]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """How one field of a message looks in JSON; without a name its own fields stand in its place."""

    name: str
    shape: str  # "" for one value, "[]" for a list, "{}" for a map with text as keys
    kind: str  # a scalar, one of `_SPECIAL`, or the name of a message
    omits_zero: bool


def decode(body: bytes) -> Obj:
    """The object in the body of a request; raises 400 for what is no protobuf and 415 for a kind that is not known."""
    if not body.startswith(_MAGIC):
        raise _unreadable("it does not begin with k8s\\0")
    try:
        envelope = {number: value for number, _, value in _fields_of(body[len(_MAGIC) :])}
        head = {number: value.decode() for number, _, value in _fields_of(envelope.get(1, b""))}
        api_version, kind = head.get(1, ""), head.get(2, "")
        message = _message_of(api_version, kind)
        if message not in _messages():
            raise _unknown_kind(api_version, kind)
        decoded = _decode(message, envelope.get(2, b""))
    except (IndexError, ValueError, AttributeError, TypeError, struct.error) as error:
        raise _unreadable(str(error)) from None
    return {"apiVersion": api_version, "kind": kind, **decoded}


def _unreadable(why: str) -> ApiError:
    return bad_request(f"the body of the request is not {MEDIA_TYPE}: {why}")


def _unknown_kind(api_version: str, kind: str) -> ApiError:
    error = unsupported_media_type(["application/json"])
    error.message += f"; the embedded API reads no {kind} of {api_version} from protobuf"
    return error


def _message_of(api_version: str, kind: str) -> str:
    """`apps/v1`, `Deployment` is the message `apps.v1.Deployment`; options of requests are the same in every group."""
    if kind.endswith("Options"):
        return f"meta.v1.{kind}"
    group, _, version = api_version.rpartition("/")
    return f"{group.partition('.')[0] or 'core'}.{version}.{kind}"


@functools.cache
def _messages() -> dict[str, dict[int, Field]]:
    """The table, one message a line: `apps.v1.DeploymentSpec 1:replicas:int 2:selector:meta.v1.LabelSelector ...`."""
    table = resources.files("koordpy.sim.embedded").joinpath("protobuf.fields").read_text("utf-8")
    return {name: _fields(fields) for name, *fields in map(str.split, table.splitlines())}


def _fields(entries: list[str]) -> dict[int, Field]:
    found = {}
    for entry in entries:
        number, name, kind = entry.split(":")
        shape = kind[:2] if kind[:2] in ("[]", "{}") else ""
        found[int(number)] = Field(name, shape, kind.removeprefix(shape).rstrip("?"), kind.endswith("?"))
    return found


def _decode(message: str, data: bytes) -> Obj:
    known = _messages()[message]
    decoded: Obj = {}
    for number, wire, raw in _fields_of(data):
        field = known.get(number)
        if field is not None:  # a field that a newer client knows is dropped, as the real server does
            _set(decoded, field, wire, raw)
    return decoded


def _set(decoded: Obj, field: Field, wire: int, raw: Any) -> None:
    if field.shape == "[]":
        items = decoded.setdefault(field.name, [])
        items += _packed(raw) if wire == _LENGTH and field.kind == "int" else [_value(field.kind, raw)]
    elif field.shape == "{}":
        entry = {number: value for number, _, value in _fields_of(raw)}
        empty: Any = 0 if field.kind in ("int", "bool") else b""
        value = _value(field.kind, entry.get(2, empty))
        decoded.setdefault(field.name, {}).update({} if value is None else {entry.get(1, b"").decode(): value})
    else:
        value = _value(field.kind, raw)
        if not field.name:
            decoded.update(value or {})
        elif value is not None and not (field.omits_zero and value in ("", 0, False)):
            decoded[field.name] = value


def _packed(raw: bytes) -> list[int]:
    numbers, at = [], 0
    while at < len(raw):
        number, at = _varint(raw, at)
        numbers.append(_signed(number))
    return numbers


def _value(kind: str, raw: Any) -> Any:
    reads = _SPECIAL.get(kind)
    return reads(raw) if reads else _decode(kind, raw)


def _fields_of(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and raw value of each field: an int for varints, bytes for everything else."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, wire, value
            continue
        if wire == _LENGTH:
            size, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire} of field {number}")
        if at + size > len(data):
            raise ValueError("it ends in the middle of a field")
        yield number, wire, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _moment(raw: bytes) -> datetime | None:
    parts = {number: value for number, _, value in _fields_of(raw)}
    if not parts:
        return None  # the zero time, which JSON writes as null
    return datetime.fromtimestamp(_signed(parts.get(1, 0)), UTC).replace(microsecond=parts.get(2, 0) // 1000)


def _time(raw: bytes) -> str | None:
    moment = _moment(raw)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _micro_time(raw: bytes) -> str | None:
    moment = _moment(raw)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


def _quantity(raw: bytes) -> str:
    return next((value.decode() for number, _, value in _fields_of(raw) if number == 1), "0")


def _int_or_string(raw: bytes) -> int | str:
    parts = {number: value for number, _, value in _fields_of(raw)}
    return parts.get(3, b"").decode() if parts.get(1) else _signed(parts.get(2, 0))


def _json(raw: bytes) -> Any:
    content = next((value for number, _, value in _fields_of(raw) if number == 1), b"")
    return msgspec.json.decode(content) if content else None


def _texts(raw: bytes) -> list[str]:
    return [value.decode() for number, _, value in _fields_of(raw) if number == 1]


_SPECIAL: dict[str, Callable[[Any], Any]] = {
    "string": bytes.decode,
    "bytes": lambda raw: base64.b64encode(raw).decode(),
    "int": _signed,
    "bool": bool,
    "double": lambda raw: struct.unpack("<d", raw)[0],
    "time": _time,
    "microtime": _micro_time,
    "quantity": _quantity,
    "intorstring": _int_or_string,
    "json": _json,
    "texts": _texts,
}
