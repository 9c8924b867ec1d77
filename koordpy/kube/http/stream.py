"""An answer that goes on for minutes: a watch, over HTTP/1.1 on a connection of its own.

Every pod that is bound comes back to us through here, so what this costs is paid for each of them. Pieces are handed
over as they arrive, all that has come by then as one; a reader that is slow makes the server wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

from koordpy.kube.http.parsing import AnswerParser, BrokenConnection, Head, NotHttp
from koordpy.kube.http.receiving import Receiving

_MOST_UNREAD = 4 * 2**20  # bytes; then the server is made to wait


class Stream(Receiving):
    """The receiving end. Await `head()`, then read `pieces()`."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._parser = AnswerParser()
        self._unread = 0
        self._has_ended = False
        self._problem: BrokenConnection | None = None
        self._reader: asyncio.Future[None] | None = None  # whoever waits for more

    async def head(self) -> Head:
        while self._parser.head is None:
            await self._more()
        return self._parser.head

    async def pieces(self) -> AsyncIterator[bytes]:
        """Whatever has arrived, until the server ends it; raises BrokenConnection if it was cut off."""
        parts = self._parser.parts
        while True:
            if parts:
                piece = parts[0] if len(parts) == 1 else b"".join(parts)
                parts.clear()
                self._let_on()
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
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self._transport.write(self._request)

    def received(self, data: memoryview) -> None:
        try:
            self._parser.feed(data)
        except NotHttp as error:
            self._break_off(f"not an HTTP answer: {error}")
            self.abort()
        self._has_ended = self._parser.has_ended
        self._tell()
        self._unread += len(data)
        if self._unread > _MOST_UNREAD and self._transport is not None and not self._has_ended:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        head = self._parser.head
        if head is not None and head.ends_with_connection and exc is None and self._problem is None:
            self._has_ended = True
        elif not self._has_ended:
            self._break_off(str(exc) if exc else "closed by the server")
        self._transport = None
        self._tell()

    # --- bookkeeping ---

    async def _more(self) -> None:
        """Until something has happened; what was there before is read first, and then how it ended."""
        if self._problem is not None:
            raise self._problem
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def _tell(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _let_on(self) -> None:
        if self._unread > _MOST_UNREAD and self._transport is not None:
            self._transport.resume_reading()
        self._unread = 0

    def _break_off(self, why: str) -> None:
        if self._problem is None:
            self._problem = BrokenConnection(why)
