"""The address of the API server, and the bytes of a request in HTTP/1.1."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit


class Address(NamedTuple):
    """The server of a URL; `prefix` is a path before all others, as behind a proxy for several clusters."""

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
        """The bytes of a request; each line of `headers` ends in CRLF."""
        head = (
            f"{method} {self.prefix}{path} HTTP/1.1\r\n"
            f"Host: {self.authority}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("latin-1") + body
