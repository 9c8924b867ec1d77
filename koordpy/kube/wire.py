"""One request and its answer over HTTP/1.1, on connections that are kept: what a bind costs is decided here.

A general client spends 250 microseconds on a request and its answer, most of it on things that an API server and we
never use: cookies, redirects, proxies, compressed and streamed bodies. This one writes a request with one call and
reads the answer in the callback that brings it. Watches, which are few and long, are not its business.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast
from urllib.parse import urlsplit

_HEAD_END = b"\r\n\r\n"
_MOST_HEAD = 64 * 1024


class BrokenConnection(OSError):
    """The connection ended before the whole answer was there."""


class Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: str | None


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


class Wire:
    """A pool of connections to one server. At most `width` requests are under way; the others wait their turn."""

    def __init__(self, url: str, tls: ssl.SSLContext | None, server_name: str | None, width: int) -> None:
        self._address, self._tls, self._server_name = Address.of(url), tls, server_name
        self._idle: deque[_Connection] = deque()
        self._all: set[_Connection] = set()
        self._turns = asyncio.Semaphore(width)

    async def send(
        self, method: str, path: str, headers: str, body: bytes, *, connect_s: float, may_send: Callable[[], bool]
    ) -> Answer:
        """`headers` are lines, each with its end. Raises OSError, SSLError or TimeoutError; the caller limits time."""
        async with self._turns:
            connection = await self._connection(connect_s)
            if not may_send():
                self._idle.append(connection)
                raise PermissionError("held back: it may not be sent any more")
            try:
                answer = await connection.exchange(self._request(method, path, headers, body))
            except BaseException:  # also a time limit: what comes now would be taken for the answer to the next request
                connection.abort()
                raise
            if connection.is_open:
                self._idle.append(connection)
            return answer

    def close(self) -> None:
        for connection in tuple(self._all):
            connection.abort()

    def _request(self, method: str, path: str, headers: str, body: bytes) -> bytes:
        head = (
            f"{method} {self._address.prefix}{path} HTTP/1.1\r\n"
            f"Host: {self._address.authority}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("latin-1") + body

    async def _connection(self, connect_s: float) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        address = self._address
        async with asyncio.timeout(connect_s):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(self._all),
                address.host,
                address.port,
                ssl=self._tls if address.is_tls else None,
                server_hostname=(self._server_name or address.host) if address.is_tls else None,
            )
        return connection


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self, everybody: set[_Connection]) -> None:
        self._everybody = everybody
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._buffer = bytearray()
        self._head: _Head | None = None
        self._parts: list[bytes] = []  # chunks of a body
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self.is_open = True
        self._everybody.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._everybody.discard(self)
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BrokenConnection(str(exc) if exc else "closed by the server"))

    async def exchange(self, request: bytes) -> Answer:
        if self._transport is None or not self.is_open:
            raise BrokenConnection("closed by the server")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            self._answer = None

    def abort(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.abort()  # nobody has asked
            return
        self._buffer += data
        try:
            answer = self._read()
        except ValueError as error:
            self._answer.set_exception(BrokenConnection(f"not an HTTP answer: {error}"))
            self.abort()
            return
        if answer is not None:
            self._answer.set_result(answer)

    def _read(self) -> Answer | None:
        """The answer, once all of it is here."""
        if self._head is None:
            end = self._buffer.find(_HEAD_END)
            if end < 0:
                if len(self._buffer) > _MOST_HEAD:
                    raise ValueError("its head is too long")
                return None
            self._head = _Head.of(bytes(self._buffer[:end]))
            del self._buffer[: end + len(_HEAD_END)]
            if 100 <= self._head.status < 200:  # the real answer follows
                self._head = None
                return self._read()
        body = self._whole_body(self._head)
        if body is None:
            return None
        head, self._head = self._head, None
        if head.closes or self._buffer:
            self.is_open = False
            if self._transport is not None:
                self._transport.close()
        self._buffer.clear()
        return Answer(head.status, body, head.retry_after)

    def _whole_body(self, head: _Head) -> bytes | None:
        if head.status in (204, 304):
            return b""
        if head.is_chunked:
            if not _take_chunks(self._buffer, self._parts):
                return None
            body = b"".join(self._parts)
            self._parts.clear()
            return body
        if len(self._buffer) < head.length:
            return None
        body = bytes(self._buffer[: head.length])
        del self._buffer[: head.length]
        return body


class _Head(NamedTuple):
    status: int
    length: int
    is_chunked: bool
    closes: bool
    retry_after: str | None

    @classmethod
    def of(cls, raw: bytes) -> _Head:
        first, *lines = raw.split(b"\r\n")
        version, _, rest = first.partition(b" ")
        if not version.startswith(b"HTTP/1."):
            raise ValueError(repr(first[:40]))
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
        is_chunked = b"chunked" in fields.get(b"transfer-encoding", b"").lower()
        status = int(rest[:3])
        if not is_chunked and b"content-length" not in fields and status not in (204, 304) and status >= 200:
            raise ValueError("it does not say how long it is")
        retry_after = fields.get(b"retry-after")
        return cls(
            status=status,
            length=int(fields.get(b"content-length", b"0")),
            is_chunked=is_chunked,
            closes=b"close" in fields.get(b"connection", b"").lower() or version == b"HTTP/1.0",
            retry_after=retry_after.decode("latin-1") if retry_after is not None else None,
        )


def _take_chunks(buffer: bytearray, parts: list[bytes]) -> bool:
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
    return buffer[at : at + 2] == b"\r\n" or buffer.find(_HEAD_END, at) >= 0
