"""Whatever is sent to the port, the next one who asks gets an answer, and nothing makes a mistake of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from yarl import URL

from koordpy.controllers.grouping.expansion import expanded
from koordpy.scheduler.answers.answering import Answering
from koordpy.server.answers import add_answer_routes
from koordpy.server.gangs import add_gang_routes
from koordpy.server.health import Health
from koordpy.server.http import application
from tests.hostile.objects import TEXTS, of_kind
from tests.hostile.test_objects import EXAMPLES
from tests.scheduler.wakeups.rig import Rig

pytestmark = pytest.mark.random

ASK = "/apis/koordpy.io/v1alpha1"
GANGS = "/apis/v1/plugins/Coscheduling"
PATHS = ["/", "/metrics", "/readyz", "/openapi.json", f"{ASK}/jobs", f"{ASK}/queues", f"{ASK}/whatif", f"{GANGS}/gangs"]
hostile = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
QUERIES = st.lists(st.tuples(st.sampled_from(["namespace", "queue", "limit", "x", ""]), TEXTS), max_size=3)
PIECES = [
    b"GET ", b"POST ", b"/", b"/metrics", b" HTTP/1.1\r\n", b"\r\n", b"Host: x\r\n", b"\x00", b"\xff" * 9,
    b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n", b"Transfer-Encoding: chunked\r\n",
    b"ffffffffffffffff\r\n", b"X: " + b"y" * 9000 + b"\r\n", b"\r\n\r\n",
]  # fmt: skip
RAW = st.lists(st.sampled_from(PIECES) | st.binary(max_size=20), max_size=12)


def served() -> TestServer:
    rig = Rig()
    rig.node("n1", cpu=4)
    rig.pod("a", cpu=1)
    rig.pod("b", cpu=9)
    rig.settle()
    built, app = rig.built, application(Health(dict), lambda: None)
    answers = Answering(built.parts, built.book, built.throttle, built.schedulers, expand=expanded)
    add_gang_routes(app, lambda: built.cluster.gangs, lambda: True)
    add_answer_routes(app, lambda: answers, lambda: True, str)
    return TestServer(app)


async def answered(method: str, path: str, body: bytes = b"", query: Sequence[tuple[str, str]] = ()) -> int:
    """The status; then the next one asks."""
    async with TestClient(served()) as client:
        url = URL.build(path=path).with_query(list(query))
        async with client.request(method, url, data=body) as response:
            await response.read()
        assert (await client.get("/livez")).status == 200
        return response.status


async def say(raw: bytes) -> None:
    async with TestClient(served()) as client:
        reader, writer = await asyncio.open_connection(client.host, client.port)
        writer.write(raw)
        writer.write_eof()
        await reader.read()
        writer.close()
        assert (await client.get("/livez")).status == 200


@hostile
@given(st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD"]), st.sampled_from(PATHS), TEXTS, QUERIES)
def test_no_path_and_no_query_makes_a_mistake_of_ours(method: str, path: str, more: str, query: Any):
    assert asyncio.run(answered(method, f"{path}/{more}" if more else path, query=query)) < 500


@hostile
@given(
    of_kind("pods") | st.lists(of_kind("pods"), max_size=2).map(lambda items: {"kind": "List", "items": items}), QUERIES
)
def test_no_job_that_somebody_asks_about_makes_a_mistake_of_ours(body: Any, query: Any):
    kind = {"apiVersion": "v1", "kind": "Pod"}
    encoded = msgspec.json.encode(kind | body if isinstance(body, dict) else body)
    assert asyncio.run(answered("POST", f"{ASK}/whatif", encoded, query)) < 500


@hostile
@given(st.binary(min_size=1, max_size=200).map(lambda some: b"\xff" + some))
def test_a_body_that_is_no_text_is_refused(body: bytes):
    assert 400 <= asyncio.run(answered("POST", f"{ASK}/whatif", body)) < 500


@hostile
@given(RAW)
def test_bytes_that_are_no_http_stop_nothing(pieces: list[bytes]):
    asyncio.run(say(b"".join(pieces)))
