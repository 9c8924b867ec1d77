"""Health and metrics over HTTP, and what a process says that cannot serve them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import structlog
from aiohttp.test_utils import TestClient, TestServer, unused_port

from koordpy.server.errors import CannotServe
from koordpy.server.health import Health
from koordpy.server.http import application, serve
from koordpy.server.settings import Serving


@contextlib.asynccontextmanager
async def client_of(health: Health, refreshed: list[str] | None = None) -> AsyncIterator[TestClient]:
    asked = [] if refreshed is None else refreshed
    async with TestClient(TestServer(application(health, lambda: asked.append("gauges")))) as client:
        yield client


async def answer(client: TestClient, path: str) -> tuple[int, str]:
    async with client.get(path) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
async def test_a_process_is_alive_although_it_is_not_ready(path):
    async with client_of(Health(lambda: {"watch-pods": lambda: "not synced yet"})) as client:
        assert await answer(client, path) == (200, "ok")


async def test_readyz_answers_with_503_until_every_check_passes():
    problem = "not synced yet"
    async with client_of(Health(lambda: {"watch-pods": lambda: problem})) as client:
        status, text = await answer(client, "/readyz")
        assert (status, text.splitlines()[0]) == (503, "[-]watch-pods failed: not synced yet")
        problem = ""
        assert await answer(client, "/readyz") == (200, "ok")
        assert "[+]watch-pods ok" in (await answer(client, "/readyz?verbose"))[1]


async def test_gauges_are_refreshed_when_metrics_are_read_and_only_then():
    refreshed: list[str] = []
    async with client_of(Health(dict), refreshed) as client:
        await answer(client, "/readyz")
        assert refreshed == []
        status, text = await answer(client, "/metrics")
    assert (status, refreshed) == (200, ["gauges"])
    assert text.startswith("# HELP")


async def test_it_says_where_it_serves_also_when_it_may_choose_the_port():
    with structlog.testing.capture_logs() as entries:
        task = asyncio.create_task(serve(application(Health(dict), lambda: None), Serving("127.0.0.1", 0)))
        async with asyncio.timeout(10):
            while not entries:  # noqa: ASYNC110 - the line is what is waited for
                await asyncio.sleep(0.01)
        (said,) = entries
        reader, writer = await asyncio.open_connection(said["address"], said["port"])
        writer.write(b"GET /livez HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"ok")
        writer.close()
        task.cancel()
        await asyncio.wait([task])
    assert (said["event"], said["address"], said["tls"]) == ("serving", "127.0.0.1", False)


async def test_an_address_that_is_taken_is_one_line():
    port = unused_port()
    taken = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", port)
    async with taken:
        with pytest.raises(CannotServe, match=rf"^cannot serve on 127\.0\.0\.1:{port}: .*in use"):
            await serve(application(Health(dict), lambda: None), Serving("127.0.0.1", port))


async def test_a_certificate_that_cannot_be_read_is_one_line(tmp_path):
    broken = tmp_path / "tls.crt"
    broken.write_text("no certificate")
    serving = Serving("127.0.0.1", unused_port(), tls_cert_file=str(broken))
    with pytest.raises(CannotServe, match=f"^--tls-cert-file {broken}: "):
        await serve(application(Health(dict), lambda: None), serving)
