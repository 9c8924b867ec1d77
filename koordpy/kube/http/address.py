"""Where requests go, and how one is written in HTTP/1.1."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit


class Address(NamedTuple):
    """The server of a URL; `prefix` is a path that comes before all others, as proxies of clusters have."""

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
