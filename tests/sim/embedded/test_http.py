"""The HTTP front: watches over a socket, clients that leave, connections that break."""

import asyncio
import io
import json

import aiohttp
import pytest
import yaml

from koordpy.sim.embedded.faults import Fault, Rule
from koordpy.sim.embedded.server import EmbeddedServer
from tests.sim.embedded.inprocess import PODS, pod

TIMEOUT = aiohttp.ClientTimeout(total=20)


async def test_a_watch_streams_each_change_as_a_line():
    async with EmbeddedServer() as server, aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session:
        async with session.get(f"{PODS}?watch=true") as response:
            await server.create(PODS, pod("a"))
            event = json.loads(await response.content.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_a_client_that_leaves_ends_its_watch():
    async with EmbeddedServer(kubelets=False) as server, aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session:
        async with session.get(f"{PODS}?watch=true"):
            assert server.store._listeners["pods"]
        async with asyncio.timeout(5):
            while server.store._listeners["pods"]:  # noqa: ASYNC110 -- nobody is told when a client has left
                await asyncio.sleep(0.01)


async def test_a_cut_connection_is_seen_by_the_client_as_one():
    async with EmbeddedServer() as server, aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session:
        server.faults.add(Rule(Fault.DROP, method="POST"))
        with pytest.raises(aiohttp.ClientError):
            await session.post(PODS, json=pod("a"))


async def test_a_half_written_watch_line_is_seen_by_the_client_as_a_broken_stream():
    async with EmbeddedServer() as server, aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session:
        await server.create(PODS, pod("a"))
        server.faults.add(Rule(Fault.HALF_LINE))
        async with session.get(f"{PODS}?watch=true") as response:
            with pytest.raises(aiohttp.ClientError):
                await response.read()


async def test_the_server_closes_at_once_with_a_watch_open():
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        async with asyncio.timeout(3):
            async with EmbeddedServer() as server:
                response = await session.get(f"{server.url}{PODS}?watch=true")
        response.close()


async def test_escapes_in_the_query_are_read():
    async with EmbeddedServer() as server, aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session:
        await server.create(PODS, pod("a", labels={"x.io/gang": "g"}))
        await server.create(PODS, pod("b"))
        async with session.get(PODS, params={"labelSelector": "x.io/gang in (g, h)"}) as response:
            assert [item["metadata"]["name"] for item in (await response.json())["items"]] == ["a"]


async def test_the_kubeconfig_names_the_server():
    async with EmbeddedServer() as server:
        config = yaml.safe_load(server.kubeconfig())
        assert config["clusters"][0]["cluster"]["server"] == server.url


async def test_a_body_beyond_the_limit_is_refused_as_by_the_real_server():
    async with EmbeddedServer() as server, aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session:
        headers = {"Content-Type": "application/json"}
        async with session.post(PODS, data=io.BytesIO(b"x" * (3 * 2**20 + 1)), headers=headers) as response:
            told = await response.json()
        assert (response.status, told["reason"]) == (413, "RequestEntityTooLarge")
        assert told["message"] == "Request entity too large: limit is 3145728"


async def test_a_body_of_two_mebibytes_is_taken():
    async with EmbeddedServer() as server, aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session:
        large = io.BytesIO(json.dumps({"metadata": {"name": "a"}, "data": {"x": "y" * 2**21}}).encode())
        headers = {"Content-Type": "application/json"}
        async with session.post("/api/v1/namespaces/default/configmaps", data=large, headers=headers) as response:
            assert response.status == 201


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",  # the beginning of TLS
        b"nonsense\r\n\r\n",
        b"POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        b"GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_a_client_that_makes_no_sense_or_leaves_in_the_middle_is_no_news(sent: bytes, caplog):
    async with EmbeddedServer() as server:
        host, port = server.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(sent)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()
        async with aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session, session.get("/readyz") as response:
            assert response.status == 200
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
