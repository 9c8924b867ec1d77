"""One request and its answer over HTTP/1.1, on connections that are kept: what a bind costs is decided here.

A general client spends 250 microseconds on a request and its answer, most of it on things that an API server and we
never use: cookies, redirects, proxies, compressed and streamed bodies. This one writes a request with one call and
reads the answer in the callback that brings it. Watches have a connection each, in `stream.py`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeVar, cast

from koordpy.kube.http.parsing import Address, BrokenConnection, Head, take_chunks, take_head
from koordpy.kube.http.receiving import Receiving
from koordpy.kube.http.stream import Stream

P = TypeVar("P", bound=asyncio.BaseProtocol)


class Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: str | None


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
                answer = await connection.exchange(self._address.request(method, path, headers, body))
            except BaseException:  # also a time limit: what comes now would be taken for the answer to the next request
                connection.abort()
                raise
            if connection.is_open:
                self._idle.append(connection)
            return answer

    @asynccontextmanager
    async def stream(self, path: str, headers: str, *, connect_s: float) -> AsyncIterator[Stream]:
        """A GET on a connection of its own, which ends with the context."""
        request = self._address.request("GET", path, headers)
        stream = await self._connect(lambda: Stream(request), connect_s)
        try:
            yield stream
        finally:
            stream.abort()

    def close(self) -> None:
        for connection in tuple(self._all):
            connection.abort()

    async def _connection(self, connect_s: float) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return await self._connect(lambda: _Connection(self._all), connect_s)

    async def _connect(self, protocol: Callable[[], P], connect_s: float) -> P:
        address = self._address
        async with asyncio.timeout(connect_s):
            _, connected = await asyncio.get_running_loop().create_connection(
                protocol,
                address.host,
                address.port,
                ssl=self._tls if address.is_tls else None,
                server_hostname=(self._server_name or address.host) if address.is_tls else None,
            )
        return connected


class _Connection(Receiving):
    """One request at a time."""

    def __init__(self, everybody: set[_Connection]) -> None:
        self._everybody = everybody
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._buffer = bytearray()
        self._head: Head | None = None
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

    def received(self, data: memoryview) -> None:
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
            self._head = take_head(self._buffer)
            if self._head is None:
                return None
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

    def _whole_body(self, head: Head) -> bytes | None:
        if head.status in (204, 304):
            return b""
        if head.is_chunked:
            if not take_chunks(self._buffer, self._parts):
                return None
            body = b"".join(self._parts)
            self._parts.clear()
            return body
        if head.length is None:
            raise ValueError("it does not say how long it is")
        if len(self._buffer) < head.length:
            return None
        body = bytes(self._buffer[: head.length])
        del self._buffer[: head.length]
        return body
