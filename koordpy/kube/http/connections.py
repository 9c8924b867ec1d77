"""A pool of keep-alive connections, with one request at a time on each: the cost of a bind is decided here.

A general client spends 250 microseconds on a request and its answer, most of it on features that are not needed here:
cookies, redirects, compressed and streamed bodies. This one writes a request with one call, and parses the answer in
the callback that receives it. Each watch has its own connection, in `stream.py`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, cast

from koordpy.kube.http.dialing import Dialer
from koordpy.kube.http.parsing import AnswerParser, BrokenConnection, NotHttp
from koordpy.kube.http.receiving import Receiving
from koordpy.kube.http.stream import Stream

# More than any API server sends: a page has 500 objects, and etcd stores at most 1.5 MiB of each.
MOST_ANSWER = 2**30

Tls = Callable[[], ssl.SSLContext | None]


class Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: str | None


class ConnectionPool:
    """The connections to one server. At most `width` requests are in flight; the others wait."""

    def __init__(self, dialer: Dialer, tls: Tls, width: int) -> None:
        self._dialer, self._tls = dialer, tls
        self._idle: deque[_Connection] = deque()
        self._all: set[_Connection] = set()
        self._in_flight = asyncio.Semaphore(width)

    async def send(
        self, method: str, path: str, headers: str, body: bytes, *, connect_s: float, may_send: Callable[[], bool]
    ) -> Answer:
        """Each line of `headers` ends in CRLF; the caller sets a timeout. Raises OSError, SSLError or TimeoutError."""
        async with self._in_flight:
            connection = await self._connection(connect_s)
            if not may_send():
                self._idle.append(connection)
                raise PermissionError("held back: it may not be sent any more")
            try:
                answer = await connection.exchange(self._request(method, path, headers, body))
            except BaseException:  # also a timeout: a late answer would be taken for that of the next request
                connection.abort()
                raise
            if connection.is_open:
                self._idle.append(connection)
            return answer

    @asynccontextmanager
    async def stream(self, path: str, headers: str, *, connect_s: float) -> AsyncIterator[Stream]:
        """A GET on its own connection, which is closed with the context."""
        request = self._request("GET", path, headers)
        stream = await self._dialer.connect(lambda: Stream(request), self._tls(), connect_s)
        try:
            yield stream
        finally:
            stream.abort()

    def close(self) -> None:
        for connection in tuple(self._all):
            connection.abort()

    async def _connection(self, connect_s: float) -> _Connection:
        tls = self._tls()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.tls is tls:
                return connection
            connection.abort()  # it was opened with certificates that were rotated since
        return await self._dialer.connect(lambda: _Connection(self._all, tls), tls, connect_s)

    def _request(self, method: str, path: str, headers: str, body: bytes = b"") -> bytes:
        return self._dialer.address.request(method, path, self._dialer.headers + headers, body)


class _Connection(Receiving):
    """One request at a time."""

    def __init__(self, open_ones: set[_Connection], tls: ssl.SSLContext | None) -> None:
        self._open_ones, self.tls = open_ones, tls
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._parser = AnswerParser(MOST_ANSWER)
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is no subclass
        self.is_open = True
        self._open_ones.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._open_ones.discard(self)
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
            self.abort()  # no request is in flight
            return
        parser = self._parser
        try:
            parser.feed(data)
        except NotHttp as error:
            self._answer.set_exception(BrokenConnection(f"not an HTTP answer: {error}"))
            self.abort()
            return
        head = parser.head
        if head is not None and head.ends_with_connection:  # without a length, it could be truncated
            self._answer.set_exception(BrokenConnection("not an HTTP answer: it does not say how long it is"))
            self.abort()
        elif head is not None and parser.has_ended:
            self._answer.set_result(Answer(head.status, self._body(), head.retry_after))

    def _body(self) -> bytes:
        """The complete body; the connection is ready for another request, or closed."""
        parser = self._parser
        body = parser.parts[0] if len(parser.parts) == 1 else b"".join(parser.parts)
        if parser.can_go_on:
            parser.start_over()
        else:
            self.is_open = False
            if self._transport is not None:
                self._transport.close()
        return body
