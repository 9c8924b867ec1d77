"""A small HTTP proxy: tunnels (CONNECT) and plain requests, all of them to one server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from tests.kube.rawserver import listening


@dataclass
class Proxy:
    """`answer` is sent in place of a tunnel, if there is one."""

    url: str = ""
    answer: bytes = b""
    hangs: bool = False
    asked: list[bytes] = field(default_factory=list)  # heads of requests to the proxy itself


@contextlib.asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """A proxy for which every host is 127.0.0.1 at this port."""
    proxy = Proxy()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await _serve(proxy, port, reader, writer)
        writer.close()

    async with listening(serve) as own_port:
        proxy.url = f"http://127.0.0.1:{own_port}"
        yield proxy


async def _serve(proxy: Proxy, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    proxy.asked.append(head)
    if proxy.hangs:
        await reader.read()
    elif proxy.answer:
        writer.write(proxy.answer)
        await reader.read()
    else:
        there, onwards = await asyncio.open_connection("127.0.0.1", port)
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            onwards.write(head)
        try:
            await asyncio.gather(_pump(reader, onwards), _pump(there, writer))
        finally:
            onwards.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
