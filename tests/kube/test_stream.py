"""Answers that go on for minutes: read as they come, wherever they are cut, and however they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from koordpy.kube.http import stream as module
from koordpy.kube.http.connections import ConnectionPool
from koordpy.kube.http.dialing import Dialer
from koordpy.kube.http.parsing import BrokenConnection
from koordpy.kube.http.stream import Stream
from tests.kube.rawserver import Serve, listening

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
TWO = HEAD + b"6\r\nfirst\n\r\n7\r\nsecond\n\r\n"
END = b"0\r\n\r\n"


@asynccontextmanager
async def streaming(serve: Serve) -> AsyncIterator[Stream]:
    async with listening(serve) as port:
        pool = ConnectionPool(Dialer(f"http://127.0.0.1:{port}"), lambda: None, 1)
        async with asyncio.timeout(5), pool.stream("/watch", "A: b\r\n", connect_s=1) as stream:
            yield stream


def saying(*pieces: bytes, then_close: bool = True) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        if then_close:
            writer.close()
        else:
            await reader.read()  # until the other side has had enough

    return serve


async def read(stream: Stream) -> bytes:
    return b"".join([piece async for piece in stream.pieces()])


@pytest.mark.parametrize("cut", range(1, len(TWO + END)))
async def test_a_stream_is_the_same_for_every_split(cut: int) -> None:
    said = TWO + END
    async with streaming(saying(said[:cut], said[cut:], then_close=False)) as stream:
        assert (await stream.head()).status == 200
        assert await read(stream) == b"first\nsecond\n"


async def test_a_piece_is_read_before_the_answer_has_ended() -> None:
    async with streaming(saying(TWO, then_close=False)) as stream:
        assert await anext(aiter(stream.pieces())) == b"first\nsecond\n"


async def test_a_stream_that_is_cut_off_is_broken_after_its_received_bytes() -> None:
    async with streaming(saying(TWO)) as stream:
        pieces = aiter(stream.pieces())
        assert await anext(pieces) == b"first\nsecond\n"
        with pytest.raises(BrokenConnection):
            await anext(pieces)


async def test_a_stream_that_ends_before_its_head_is_broken() -> None:
    async with streaming(saying(HEAD[:20])) as stream:
        with pytest.raises(BrokenConnection):
            await stream.head()


async def test_a_stream_that_is_no_http_is_broken() -> None:
    async with streaming(saying(b"SSH-2.0-x\r\n\r\n", then_close=False)) as stream:
        with pytest.raises(BrokenConnection, match="not an HTTP answer"):
            await stream.head()


@pytest.mark.parametrize("size", [b"-6", b"0x5", b" 5", b"5_", b"0" * 400_000, b"5;" + b"x" * 400_000])
async def test_a_stream_with_a_bad_chunk_is_broken_after_its_received_bytes(size: bytes) -> None:
    async with streaming(saying(TWO, size + b"\r\nhello\r\n", then_close=False)) as stream:
        pieces = aiter(stream.pieces())
        assert await anext(pieces) == b"first\nsecond\n"
        with pytest.raises(BrokenConnection, match="not an HTTP answer"):
            await anext(pieces)


@pytest.mark.parametrize("length", [b"Content-Length: 5\r\n", b""])
async def test_a_body_without_chunks_ends_with_its_length_or_with_the_connection(length: bytes) -> None:
    refusal = b"HTTP/1.1 410 Gone\r\n" + length + b"\r\nhello"
    async with streaming(saying(refusal, then_close=not length)) as stream:
        assert (await stream.head()).status == 410
        assert await read(stream) == b"hello"


async def test_a_slow_reader_pauses_the_connection(monkeypatch) -> None:
    """Else everything that the server has to say would pile up here."""
    monkeypatch.setattr(module, "_MOST_UNREAD", 1000)
    sent, chunk = 0, b"10000\r\n" + b"x" * 0x10000 + b"\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        while sent < 500:
            writer.write(chunk)
            await writer.drain()
            sent += 1
        writer.write(END)
        await reader.read()

    async with streaming(serve) as stream:
        await stream.head()
        await asyncio.sleep(0.3)
        assert 0 < sent < 500
        assert len(await read(stream)) == 500 * 0x10000
