"""An answer that goes on for minutes: a watch, over HTTP/1.1 on a connection of its own.

Every pod that is bound comes back to us through here, so what this costs is paid for each of them. Pieces are handed
over as they arrive, all that has come by then as one; a reader that is slow makes the server wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

from koordpy.kube.http.parsing import BrokenConnection, Head, take_chunks, take_head
from koordpy.kube.http.receiving import Receiving

_MOST_UNREAD = 4 * 2**20  # bytes; then the server is made to wait


class Stream(Receiving):
    """The receiving end. Await `head()`, then read `pieces()`."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: Head | None = None
        self._left: int | None = None  # bytes of the body that are still to come, if it says how long it is
        self._parts: list[bytes] = []
        self._unread = 0
        self._has_ended = False
        self._problem: BrokenConnection | None = None
        self._reader: asyncio.Future[None] | None = None  # whoever waits for more

    async def head(self) -> Head:
        while self._head is None:
            await self._more()
        return self._head

    async def pieces(self) -> AsyncIterator[bytes]:
        """Whatever has arrived, until the server ends it; raises BrokenConnection if it was cut off."""
        while True:
            if self._parts:
                piece = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
                self._parts.clear()
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
        self._buffer += data
        try:
            self._read()
        except ValueError as error:
            self._break_off(f"not an HTTP answer: {error}")
            self.abort()
        self._tell()
        self._unread += len(data)
        if self._unread > _MOST_UNREAD and self._transport is not None and not self._has_ended:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        says_nothing_of_its_end = self._head is not None and not self._head.is_chunked and self._left is None
        if says_nothing_of_its_end and exc is None:
            self._has_ended = True
        elif not self._has_ended:
            self._break_off(str(exc) if exc else "closed by the server")
        self._transport = None
        self._tell()

    # --- bookkeeping ---

    def _read(self) -> None:
        if self._head is None:
            self._head = take_head(self._buffer)
            if self._head is None:
                return
            self._left = None if self._head.is_chunked else self._head.length
        if self._head.is_chunked:
            self._has_ended = take_chunks(self._buffer, self._parts)
            return
        if self._buffer:
            self._parts.append(bytes(self._buffer))
            if self._left is not None:
                self._left -= len(self._buffer)
            self._buffer.clear()
        self._has_ended = self._left is not None and self._left <= 0

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
