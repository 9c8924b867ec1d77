"""How an answer reads in HTTP/1.1: its head, and a body that comes in chunks. Bytes in, values out; no sockets here."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

HEAD_END = b"\r\n\r\n"
MOST_HEAD = 64 * 1024
# What nearly every answer to a bind says of interest: it was made, and how long the rest is. To read all of its headers
# would take longer than to encrypt the request.
_CREATED = b"HTTP/1.1 201 "
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)(?:\r\n|$)", re.IGNORECASE)
_LESS_USUAL = re.compile(rb"\r\n(?:connection|transfer-encoding):", re.IGNORECASE)


class BrokenConnection(OSError):
    """The connection ended before the whole answer was there."""


class Address(NamedTuple):
    """Where requests go, from a URL; `prefix` is a path that comes before all others, as proxies of clusters have."""

    host: str
    port: int
    is_tls: bool
    prefix: str
    authority: str

    @classmethod
    def of(cls, url: str) -> Address:
        parts = urlsplit(url)
        is_tls = parts.scheme != "http"
        port = parts.port or (443 if is_tls else 80)
        return cls(parts.hostname or "", port, is_tls, parts.path.rstrip("/"), parts.netloc.rpartition("@")[2])

    def request(self, method: str, path: str, headers: str, body: bytes = b"") -> bytes:
        """A request as it is sent; `headers` are lines, each with its end."""
        head = (
            f"{method} {self.prefix}{path} HTTP/1.1\r\n"
            f"Host: {self.authority}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("latin-1") + body


class Head(NamedTuple):
    """What comes before the body."""

    status: int
    length: int | None  # of the body; None: it does not say
    is_chunked: bool
    closes: bool
    retry_after: str | None

    @classmethod
    def of(cls, raw: bytes) -> Head:
        if raw.startswith(_CREATED) and (usual := _LENGTH.search(raw)) and not _LESS_USUAL.search(raw):
            return cls(201, int(usual[1]), is_chunked=False, closes=False, retry_after=None)
        first, *lines = raw.split(b"\r\n")
        version, _, rest = first.partition(b" ")
        if not version.startswith(b"HTTP/1."):
            raise ValueError(repr(first[:40]))
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
        length, retry_after = fields.get(b"content-length"), fields.get(b"retry-after")
        return cls(
            status=int(rest[:3]),
            length=int(length) if length is not None else None,
            is_chunked=b"chunked" in fields.get(b"transfer-encoding", b"").lower(),
            closes=b"close" in fields.get(b"connection", b"").lower() or version == b"HTTP/1.0",
            retry_after=retry_after.decode("latin-1") if retry_after is not None else None,
        )


def take_head(buffer: bytearray) -> Head | None:
    """Take the head from the buffer, once all of it is there; raises ValueError for what is none."""
    while True:
        end = buffer.find(HEAD_END)
        if end < 0:
            if len(buffer) > MOST_HEAD:
                raise ValueError("its head is too long")
            return None
        head = Head.of(bytes(buffer[:end]))
        del buffer[: end + len(HEAD_END)]
        if head.status >= 200:  # else the real answer follows
            return head


def take_chunks(buffer: bytearray, parts: list[bytes]) -> bool:
    """Move whole chunks from the buffer to the parts; says whether the last one is among them."""
    at, is_last = 0, False
    while (end := buffer.find(b"\r\n", at)) >= 0:
        size = int(bytes(buffer[at:end]).partition(b";")[0], 16)
        if size == 0:
            is_last = _ends_with_trailers(buffer, end + 2)
            break
        if len(buffer) < end + 2 + size + 2:
            break
        parts.append(bytes(buffer[end + 2 : end + 2 + size]))
        at = end + 2 + size + 2
    del buffer[:at]
    if is_last:
        buffer.clear()
    return is_last


def _ends_with_trailers(buffer: bytearray, at: int) -> bool:
    """After the last chunk come lines, usually none, and an empty one."""
    return buffer[at : at + 2] == b"\r\n" or buffer.find(HEAD_END, at) >= 0
