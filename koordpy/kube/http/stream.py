"""A watch: an answer that lasts for minutes, on its own connection.

The watch event of every bound pod passes through here, so its cost is paid for each of them. The reader gets all bytes
that have arrived at once; a slow reader pauses the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

from koordpy.kube.http.parsing import AnswerParser, BrokenConnection, Head, NotHttp
from koordpy.kube.http.receiving import Receiving

_MOST_UNREAD = 4 * 2**20  # bytes; then the connection is paused


class Stream(Receiving):
    """The answer to one request. Await `head()`, then read `pieces()`."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._parser = AnswerParser()
        self._unread = 0
        self._has_ended = False
        self._error: BrokenConnection | None = None
        self._reader: asyncio.Future[None] | None = None  # set while a reader waits for more

    async def head(self) -> Head:
        while self._parser.head is None:
            await self._more()
        return self._parser.head

    async def pieces(self) -> AsyncIterator[bytes]:
        """Bytes as they arrive, until the server ends the answer; raises BrokenConnection if it is incomplete."""
        parts = self._parser.parts
        while True:
            if parts:
                piece = parts[0] if len(parts) == 1 else b"".join(parts)
                parts.clear()
                self._resume_reading()
                yield piece
            elif self._has_ended:
                return
            else:
                await self._more()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is no subclass
        self._transport.write(self._request)

    def received(self, data: memoryview) -> None:
        try:
            self._parser.feed(data)
        except NotHttp as error:
            self._fail(f"not an HTTP answer: {error}")
            self.abort()
        self._has_ended = self._parser.has_ended
        self._wake_reader()
        self._unread += len(data)
        if self._unread > _MOST_UNREAD and self._transport is not None and not self._has_ended:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        head = self._parser.head
        if head is not None and head.ends_with_connection and exc is None and self._error is None:
            self._has_ended = True
        elif not self._has_ended:
            self._fail(str(exc) if exc else "closed by the server")
        self._transport = None
        self._wake_reader()

    # --- the reader ---

    async def _more(self) -> None:
        """Wait for more bytes or the end; received bytes are read before the error that ended the connection."""
        if self._error is not None:
            raise self._error
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _resume_reading(self) -> None:
        if self._unread > _MOST_UNREAD and self._transport is not None:
            self._transport.resume_reading()
        self._unread = 0

    def _fail(self, reason: str) -> None:
        if self._error is None:
            self._error = BrokenConnection(reason)
