"""One request and its answer over HTTP/1.1, on connections that are kept: what a bind costs is decided here.

A general client spends 250 microseconds on a request and its answer, most of it on things that an API server and we
never use: cookies, redirects, compressed and streamed bodies. This one writes a request with one call and
reads the answer in the callback that brings it. Watches have a connection each, in `stream.py`.
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

# More than any API server sends at once: a page has 500 objects, and etcd takes 1.5 MiB of each.
MOST_ANSWER = 2**30

Tls = Callable[[], ssl.SSLContext | None]


class Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: str | None


class Wire:
    """A pool of connections to one server. At most `width` requests are under way; the others wait their turn."""

    def __init__(self, dialer: Dialer, tls: Tls, width: int) -> None:
        self._dialer, self._tls = dialer, tls
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

    @asynccontextmanager
    async def stream(self, path: str, headers: str, *, connect_s: float) -> AsyncIterator[Stream]:
        """A GET on a connection of its own, which ends with the context."""
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
            connection.abort()  # it stands for certificates that were rotated
        return await self._dialer.connect(lambda: _Connection(self._all, tls), tls, connect_s)

    def _request(self, method: str, path: str, headers: str, body: bytes = b"") -> bytes:
        return self._dialer.address.request(method, path, self._dialer.headers + headers, body)


class _Connection(Receiving):
    """One request at a time."""

    def __init__(self, everybody: set[_Connection], tls: ssl.SSLContext | None) -> None:
        self._everybody, self.tls = everybody, tls
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._parser = AnswerParser(MOST_ANSWER)
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
        parser = self._parser
        try:
            parser.feed(data)
        except NotHttp as error:
            self._answer.set_exception(BrokenConnection(f"not an HTTP answer: {error}"))
            self.abort()
            return
        head = parser.head
        if head is not None and head.ends_with_connection:  # where it ends and where it was cut off look the same
            self._answer.set_exception(BrokenConnection("not an HTTP answer: it does not say how long it is"))
            self.abort()
        elif head is not None and parser.has_ended:
            self._answer.set_result(Answer(head.status, self._body(), head.retry_after))

    def _body(self) -> bytes:
        """The whole body, when it is there; then the connection is ready for another request, or closed."""
        parser = self._parser
        body = parser.parts[0] if len(parser.parts) == 1 else b"".join(parser.parts)
        if parser.can_go_on:
            parser.start_over()
        else:
            self.is_open = False
            if self._transport is not None:
                self._transport.close()
        return body
