"""Answers as servers send them: whole, in pieces, chunked, early, late, and not at all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from koordpy.kube.http import connections
from koordpy.kube.http.address import Address
from koordpy.kube.http.connections import ConnectionPool
from koordpy.kube.http.dialing import Dialer
from koordpy.kube.http.parsing import BrokenConnection
from tests.kube.rawserver import Serve, listening


@asynccontextmanager
async def pool_to(serve: Serve, width: int = 4) -> AsyncIterator[ConnectionPool]:
    async with listening(serve) as port:
        pool = ConnectionPool(Dialer(f"http://127.0.0.1:{port}/prefix"), lambda: None, width)
        try:
            yield pool
        finally:
            pool.close()


def answering(*pieces: bytes, pause_s: float = 0.0) -> Serve:
    """To every request the same answer, in these pieces."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await _request(reader):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause_s)

    return serve


async def _request(reader: asyncio.StreamReader) -> bytes:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return head + await reader.readexactly(length)


async def ask(pool: ConnectionPool, body: bytes = b"", *, may_send: bool = True) -> tuple[int, bytes, str | None]:
    async with asyncio.timeout(5):
        return await pool.send("POST", "/x", "A: b\r\n", body, connect_s=1, may_send=lambda: may_send)


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.mark.parametrize("cut", range(1, len(WHOLE)))
async def test_an_answer_is_the_same_for_every_split(cut: int) -> None:
    async with pool_to(answering(WHOLE[:cut], WHOLE[cut:])) as pool:
        assert await ask(pool) == (200, b"hello", None)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"


@pytest.mark.parametrize("cut", range(1, len(CHUNKED)))
async def test_a_chunked_answer_is_the_same_for_every_split(cut: int) -> None:
    async with pool_to(answering(CHUNKED[:cut], CHUNKED[cut:], pause_s=0.001)) as pool:
        assert await ask(pool) == (200, b"hello world", None)
        assert await ask(pool) == (200, b"hello world", None)


async def test_trailers_end_a_chunked_answer() -> None:
    raw = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n"
    async with pool_to(answering(raw)) as pool:
        assert await ask(pool) == (200, b"a", None)


async def test_a_connection_is_kept_for_the_next_request() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await answering(WHOLE)(reader, writer)

    async with pool_to(serve) as pool:
        for _ in range(5):
            await ask(pool)
    assert connections == 1


async def test_the_request_carries_prefix_host_headers_and_body() -> None:
    seen = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await _request(reader))
        writer.write(WHOLE)

    async with pool_to(serve) as pool:
        await ask(pool, b"body")
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /prefix/x HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nA: b\r\nContent-Length: 4" in head
    assert body == b"body"


async def test_a_connection_is_closed_after_connection_close() -> None:
    raw = b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    async with pool_to(answering(raw)) as pool:
        assert await ask(pool) == (429, b"", "7")
        assert not pool._idle
        assert await ask(pool) == (429, b"", "7")


async def test_a_connection_that_ends_inside_an_answer_is_broken() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(WHOLE[:-2])
        writer.close()

    async with pool_to(serve) as pool:
        with pytest.raises(BrokenConnection):
            await ask(pool)


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_NO_ANSWERS = {
    "another protocol": b"SSH-2.0-x\r\n\r\n",
    "no length": b"HTTP/1.1 200 OK\r\n\r\n",
    "a length that is a word": b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "a length below zero": b"HTTP/1.1 200 OK\r\nContent-Length: -6\r\n\r\n",
    "a length for Python": b"HTTP/1.1 201 Created\r\nContent-Length: 1_0\r\n\r\n0123456789",
    "two lengths": b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "a length and chunks": CHUNKED.replace(b"\r\n", b"\r\nContent-Length: 5\r\n", 1),
    "a chunk below zero": _CHUNKED + b"-6\r\nhello\r\n0\r\n\r\n",
    "a chunk for Python": _CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk that goes on": _CHUNKED + b"4\r\nhello\r\n0\r\n\r\n",
    "endless headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000,
    "an endless size": _CHUNKED + b"0" * 100_000,
    "endless trailers": _CHUNKED + b"0\r\n" + b"A: b\r\n" * 20_000,
}


@pytest.mark.parametrize("raw", _NO_ANSWERS.values(), ids=_NO_ANSWERS)
async def test_an_answer_that_is_no_http_costs_one_connection(raw: bytes) -> None:
    """The others of the pool go on, and the next request gets a connection of its own."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await _request(reader):
            if request.endswith(b"slow"):
                await asyncio.sleep(0.1)
            writer.write(raw if request.endswith(b"bad") else WHOLE)

    async with pool_to(serve) as pool:
        slow = asyncio.create_task(ask(pool, b"slow"))
        await asyncio.sleep(0)
        with pytest.raises(BrokenConnection, match="not an HTTP answer"):
            await ask(pool, b"bad")
        assert (await slow)[1] == b"hello"
        assert len(pool._all) == 1
        assert (await ask(pool))[1] == b"hello"


async def test_an_endless_answer_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(connections, "MOST_ANSWER", 100_000)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(_CHUNKED)
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
                await writer.drain()

    async with pool_to(serve) as pool:
        with pytest.raises(BrokenConnection, match="over 100000 bytes"):
            await ask(pool)


async def test_an_answer_followed_by_surplus_bytes_is_the_last_of_its_connection() -> None:
    async with pool_to(answering(WHOLE + b"garbage")) as pool:
        assert await ask(pool) == (200, b"hello", None)
        assert not pool._idle
        assert await ask(pool) == (200, b"hello", None)


async def test_an_answer_after_the_timeout_is_not_taken_for_the_next_one() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await _request(reader)
        await asyncio.sleep(0.2 if first.endswith(b"slow") else 0)
        writer.write(WHOLE if first.endswith(b"slow") else WHOLE.replace(b"hello", b"other"))

    async with pool_to(serve, width=1) as pool:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await pool.send("POST", "/x", "", b"slow", connect_s=1, may_send=lambda: True)
        assert (await ask(pool))[1] == b"other"


async def test_an_interim_answer_is_skipped() -> None:
    async with pool_to(answering(b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE)) as pool:
        assert await ask(pool) == (200, b"hello", None)


async def test_a_request_that_may_not_be_sent_is_not() -> None:
    seen = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await _request(reader))

    async with pool_to(serve) as pool:
        with pytest.raises(PermissionError):
            await ask(pool, may_send=False)
    assert seen in ([], [b""])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.example.com", ("api.example.com", 443, True, "", "api.example.com")),
        ("http://[::1]:8080/k8s/c/", ("::1", 8080, False, "/k8s/c", "[::1]:8080")),
    ],
)
def test_addresses(url: str, expected: tuple[object, ...]) -> None:
    assert tuple(Address.of(url)) == expected
