"""A server that sends exactly the bytes that a test wants, and leaves nothing open behind the test."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve every connection by `serve`; yields the port on 127.0.0.1.

    A connection stays open when `serve` returns: many servers are slow to close, and the client must not count on it.
    """
    served: list[tuple[asyncio.Task[None] | None, asyncio.StreamWriter]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append((asyncio.current_task(), writer))
        with contextlib.suppress(asyncio.CancelledError):  # the end; asyncio of Python 3.11 would log it as a mistake
            await serve(reader, writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task, writer in served:
            if task is not None:
                task.cancel()
            writer.close()
        await asyncio.gather(*(task for task, _ in served if task is not None), return_exceptions=True)
        await asyncio.gather(*(writer.wait_closed() for _, writer in served), return_exceptions=True)
