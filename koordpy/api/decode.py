"""Decodes bytes to typed objects, one object at a time.

One malformed object never costs a page or a watch: a page is decoded to raw items first, then each item on its own. An
item that cannot be decoded raises `MalformedObject`, which names it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from koordpy.api.errors import MalformedObject
from koordpy.api.meta import ListMeta, Struct

T = TypeVar("T")

# Raised for text that is not JSON, for fields of the wrong type, and for JSON that nests too deeply.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Page(Struct, frozen=True):
    """One page of a list, its items still raw."""

    metadata: ListMeta = ListMeta()
    # kube-apiserver sends null for an empty list of metadata.
    items_or_null: tuple[msgspec.Raw, ...] | None = msgspec.field(name="items", default=())

    @property
    def items(self) -> tuple[msgspec.Raw, ...]:
        return self.items_or_null or ()


class _Listed(Struct, frozen=True):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] | None = ()  # kube-apiserver says null for an empty PartialObjectMetadataList


class WatchEvent(Struct, frozen=True):
    """One line of a watch, its object still raw."""

    type: str
    object: msgspec.Raw


class Status(Struct, frozen=True):
    """The API server's answer to a request that fails, and the object of an ERROR event in a watch."""

    code: int = 0
    reason: str = ""
    message: str = ""


class _NameOnly(Struct, frozen=True):
    name: str = "?"
    namespace: str = ""
    resource_version: str = ""


class _MetadataOnly(Struct, frozen=True):
    metadata: _NameOnly = _NameOnly()


class Decoder(Generic[T]):
    """Decodes one kind. Decoders of the same kind into the same struct are equal."""

    def __init__(self, kind: str, struct: type[T]) -> None:
        self.kind, self.struct = kind, struct
        self._decoder = msgspec.json.Decoder(struct)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decoder) and (self.kind, self.struct) == (other.kind, other.struct)

    def __hash__(self) -> int:
        return hash((self.kind, self.struct))

    def __call__(self, raw: msgspec.Raw | bytes) -> T:
        try:
            return self._decoder.decode(raw)
        except UNREADABLE as error:
            raise MalformedObject(self.kind, _key_of(raw), str(error)) from None


_page_decoder = msgspec.json.Decoder(_Listed)
decode_event = msgspec.json.Decoder(WatchEvent).decode
_metadata_decoder = msgspec.json.Decoder(_MetadataOnly)
_status_decoder = msgspec.json.Decoder(Status)


def decode_page(raw: msgspec.Raw | bytes) -> Page:
    """One page of a list."""
    listed = _page_decoder.decode(raw)
    return Page(listed.metadata, listed.items or ())


def decode_status(raw: msgspec.Raw | bytes) -> Status:
    """The Status of a failed request; the beginning of the text when a proxy answered instead."""
    try:
        return _status_decoder.decode(raw)
    except UNREADABLE:
        return Status(message=bytes(raw[:200]).decode(errors="replace").strip())


def resource_version_of(raw: msgspec.Raw | bytes) -> str:
    """The resource version of an object that may be malformed otherwise; empty when there is none."""
    try:
        return _metadata_decoder.decode(raw).metadata.resource_version
    except UNREADABLE:
        return ""


def _key_of(raw: msgspec.Raw | bytes) -> str:
    try:
        metadata = _metadata_decoder.decode(raw).metadata
    except UNREADABLE:
        return "?"
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
