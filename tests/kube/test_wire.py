"""Answers as servers send them: whole, in pieces, chunked, early, late, and not at all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from koordpy.kube.http import connections
from koordpy.kube.http.address import Address
from koordpy.kube.http.connections import Wire
from koordpy.kube.http.dialing import Dialer
from koordpy.kube.http.parsing import BrokenConnection
from tests.kube.rawserver import Serve, listening


@asynccontextmanager
async def wire_to(serve: Serve, width: int = 4) -> AsyncIterator[Wire]:
    async with listening(serve) as port:
        wire = Wire(Dialer(f"http://127.0.0.1:{port}/prefix"), lambda: None, width)
        try:
            yield wire
        finally:
            wire.close()


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


async def ask(wire: Wire, body: bytes = b"", *, may_send: bool = True) -> tuple[int, bytes, str | None]:
    async with asyncio.timeout(5):
        return await wire.send("POST", "/x", "A: b\r\n", body, connect_s=1, may_send=lambda: may_send)


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.mark.parametrize("cut", range(1, len(WHOLE)))
async def test_an_answer_in_two_pieces_is_put_together(cut: int) -> None:
    async with wire_to(answering(WHOLE[:cut], WHOLE[cut:])) as wire:
        assert await ask(wire) == (200, b"hello", None)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"


@pytest.mark.parametrize("cut", range(1, len(CHUNKED)))
async def test_a_chunked_answer_is_put_together_wherever_it_is_cut(cut: int) -> None:
    async with wire_to(answering(CHUNKED[:cut], CHUNKED[cut:], pause_s=0.001)) as wire:
        assert await ask(wire) == (200, b"hello world", None)
        assert await ask(wire) == (200, b"hello world", None)


async def test_trailers_end_a_chunked_answer() -> None:
    raw = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n"
    async with wire_to(answering(raw)) as wire:
        assert await ask(wire) == (200, b"a", None)


async def test_a_connection_is_kept_for_the_next_request() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await answering(WHOLE)(reader, writer)

    async with wire_to(serve) as wire:
        for _ in range(5):
            await ask(wire)
    assert connections == 1


async def test_the_request_carries_prefix_host_headers_and_body() -> None:
    seen = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await _request(reader))
        writer.write(WHOLE)

    async with wire_to(serve) as wire:
        await ask(wire, b"body")
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /prefix/x HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nA: b\r\nContent-Length: 4" in head
    assert body == b"body"


async def test_an_answer_that_ends_the_connection_does_so_for_us_too() -> None:
    raw = b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    async with wire_to(answering(raw)) as wire:
        assert await ask(wire) == (429, b"", "7")
        assert not wire._idle
        assert await ask(wire) == (429, b"", "7")


async def test_a_connection_that_breaks_half_way_is_broken() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(WHOLE[:-2])
        writer.close()

    async with wire_to(serve) as wire:
        with pytest.raises(BrokenConnection):
            await ask(wire)


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
async def test_what_is_no_answer_costs_one_connection(raw: bytes) -> None:
    """The others of the pool go on, and the next request gets a connection of its own."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await _request(reader):
            if request.endswith(b"slow"):
                await asyncio.sleep(0.1)
            writer.write(raw if request.endswith(b"bad") else WHOLE)

    async with wire_to(serve) as wire:
        slow = asyncio.create_task(ask(wire, b"slow"))
        await asyncio.sleep(0)
        with pytest.raises(BrokenConnection, match="not an HTTP answer"):
            await ask(wire, b"bad")
        assert (await slow)[1] == b"hello"
        assert len(wire._all) == 1
        assert (await ask(wire))[1] == b"hello"


async def test_an_endless_answer_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(connections, "MOST_ANSWER", 100_000)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(_CHUNKED)
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
                await writer.drain()

    async with wire_to(serve) as wire:
        with pytest.raises(BrokenConnection, match="over 100000 bytes"):
            await ask(wire)


async def test_an_answer_with_something_behind_it_is_the_last_of_its_connection() -> None:
    async with wire_to(answering(WHOLE + b"garbage")) as wire:
        assert await ask(wire) == (200, b"hello", None)
        assert not wire._idle
        assert await ask(wire) == (200, b"hello", None)


async def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await _request(reader)
        await asyncio.sleep(0.2 if first.endswith(b"slow") else 0)
        writer.write(WHOLE if first.endswith(b"slow") else WHOLE.replace(b"hello", b"other"))

    async with wire_to(serve, width=1) as wire:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await wire.send("POST", "/x", "", b"slow", connect_s=1, may_send=lambda: True)
        assert (await ask(wire))[1] == b"other"


async def test_an_interim_answer_is_passed_over() -> None:
    async with wire_to(answering(b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE)) as wire:
        assert await ask(wire) == (200, b"hello", None)


async def test_what_may_not_be_sent_is_not() -> None:
    seen = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await _request(reader))

    async with wire_to(serve) as wire:
        with pytest.raises(PermissionError):
            await ask(wire, may_send=False)
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
