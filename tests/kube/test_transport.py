"""Over real sockets: what is held back never leaves, and every failure of the network has one type and one line."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from koordpy.kube.auth.credentials import Credentials, load_credentials
from koordpy.kube.auth.identity import Identity
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import Unavailable
from koordpy.kube.http.transport import HttpTransport
from koordpy.sim.embedded.faults import Fault, Rule
from koordpy.sim.embedded.server import EmbeddedServer
from tests.builders import pod_json
from tests.kube.rawserver import listening
from tests.kube.world import PODS


@asynccontextmanager
async def over_http(directory: Path) -> AsyncIterator[tuple[EmbeddedServer, Client]]:
    async with EmbeddedServer(kubelets=False) as server:
        (directory / "kubeconfig").write_text(server.kubeconfig())
        async with HttpTransport(await load_credentials(str(directory / "kubeconfig")), connections=4) as transport:
            yield server, Client(transport)


@asynccontextmanager
async def answered_by(serve: Any) -> AsyncIterator[HttpTransport]:
    async with listening(serve) as port:
        credentials = Credentials(Identity(f"http://127.0.0.1:{port}"), None)
        async with HttpTransport(credentials, connections=4) as transport:
            yield transport


def answers(*sequence: bool) -> Iterator[bool]:
    yield from sequence
    while True:
        yield sequence[-1]


async def test_a_write_whose_leadership_ends_on_the_way_to_the_socket_is_not_sent(tmp_path) -> None:
    """A process stopped after the first question must not write when it goes on."""
    async with over_http(tmp_path) as (server, client):
        arrived = server.faults.add(Rule(Fault.DELAY, count=None))
        asked = answers(True, False)
        with pytest.raises(NotLeading):
            await client.guarded_by(lambda: next(asked)).write("POST", PODS, pod_json("a"))
        assert arrived.hits == 0
        assert server.store.get("pods", "default", "a") is None


async def test_a_connection_whose_write_was_held_back_serves_the_next_one(tmp_path) -> None:
    async with over_http(tmp_path) as (server, client):
        await client.write("POST", PODS, pod_json("before"))  # leaves an idle connection behind
        asked = answers(True, False)
        with pytest.raises(NotLeading):
            await client.guarded_by(lambda: next(asked)).write("POST", PODS, pod_json("a"))
        await client.write("POST", PODS, pod_json("b"))
        assert [stored.key[1] for stored in server.store.items("pods")] == ["b", "before"]


async def test_a_write_that_may_be_sent_arrives_whole(tmp_path) -> None:
    async with over_http(tmp_path) as (server, client):
        pod = pod_json("a")
        pod["metadata"]["annotations"] = {"note": "ä" * 50_000}
        await client.guarded_by(lambda: True).write("POST", PODS, pod)
        stored = server.store.get("pods", "default", "a")
        assert stored is not None
        assert stored.obj["metadata"]["annotations"]["note"] == "ä" * 50_000


async def test_a_connection_that_breaks_is_unavailable(tmp_path) -> None:
    async with over_http(tmp_path) as (server, client):
        server.faults.add(Rule(Fault.DROP, count=None))
        with pytest.raises(Unavailable, match="broke") as caught:
            await client.page("/api/v1/nodes")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fault", [Fault.WATCH_CUT, Fault.HALF_LINE])
async def test_a_watch_that_breaks_is_unavailable(tmp_path, fault) -> None:
    async with over_http(tmp_path) as (server, client):
        await client.write("POST", PODS, pod_json("a"))
        server.faults.add(Rule(fault))
        with pytest.raises(Unavailable):
            await _read_to_the_end(client)


async def _read_to_the_end(client: Client) -> None:
    async with client.watch("/api/v1/pods", resourceVersion=0) as chunks:
        async for _ in chunks:
            pass


async def test_an_endless_error_body_of_a_watch_is_cut() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"3e8\r\n" + b"no, " * 250 + b"\r\n")
                await writer.drain()

    async with answered_by(serve) as transport:
        with pytest.raises(Unavailable, match="503 no, no,"):
            async with asyncio.timeout(5), transport.stream("/x"):
                pass


async def test_a_broken_peer_is_unavailable() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-6\r\nhello\r\n")

    async with answered_by(serve) as transport:
        with pytest.raises(Unavailable, match="broke: not an HTTP answer: Invalid character in chunk size"):
            await transport.send("GET", "/x", content_type="x", timeout_s=5)
