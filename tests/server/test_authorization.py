"""`--authorization=delegated`: the API server says who asks, and whether they may; health is open."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from koordpy.server.authorization import Delegated, middleware

JOBS = "/apis/koordpy.io/v1alpha1/jobs"


class Reviewer:
    """An API server that knows one token, and lets its user get one path."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.now = 0.0
        self.is_down = False

    async def review(self, path: str, body: dict[str, Any]) -> bytes:
        if self.is_down:
            raise OSError("connection refused")
        self.asked.append((path, body["spec"]))
        if path.endswith("tokenreviews"):
            known = body["spec"]["token"] == "secret"
            return msgspec.json.encode(
                {"status": {"authenticated": known, "user": {"username": "ann", "groups": ["dev"]} if known else {}}}
            )
        wanted = {"path": JOBS, "verb": "get"}
        return msgspec.json.encode({"status": {"allowed": body["spec"]["nonResourceAttributes"] == wanted}})


@pytest.fixture
def reviewer() -> Reviewer:
    return Reviewer()


@pytest.fixture
async def client(reviewer: Reviewer):
    async def fine(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application(middlewares=[middleware(Delegated(reviewer.review, lambda: reviewer.now))])
    for path in ("/healthz", "/livez", "/readyz", "/metrics", JOBS):
        app.router.add_get(path, fine)
    async with TestClient(TestServer(app)) as client:
        yield client


async def answered(client, path: str, token: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with client.get(path, headers=headers) as answer:
        return answer.status


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_is_open(client, path):
    assert await answered(client, path) == 200


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [(JOBS, "", 401), (JOBS, "wrong", 401), ("/metrics", "secret", 403), (JOBS, "secret", 200)],
)
async def test_whoever_asks_is_known_and_allowed(client, path, token, status):
    assert await answered(client, path, token) == status


async def test_the_path_and_the_method_are_what_is_reviewed(client, reviewer):
    await answered(client, JOBS, "secret")
    (_, access) = reviewer.asked
    assert access[1]["nonResourceAttributes"] == {"path": JOBS, "verb": "get"}
    assert (access[1]["user"], access[1]["groups"]) == ("ann", ["dev"]) or access[1]["groups"] == ("dev",)


async def test_answers_are_kept_for_a_while(client, reviewer):
    await answered(client, JOBS, "secret")
    await answered(client, JOBS, "secret")
    assert len(reviewer.asked) == 2
    reviewer.now = 60.0
    await answered(client, JOBS, "secret")
    assert len(reviewer.asked) == 4


async def test_nobody_is_let_in_while_the_api_server_is_down(client, reviewer):
    reviewer.is_down = True
    assert await answered(client, JOBS, "secret") == 503
