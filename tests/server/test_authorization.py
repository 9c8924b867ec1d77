"""`--authorization=delegated`: the API server says who asks, and whether they may; health is open."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from koordpy.server import rights
from koordpy.server.answers import add_answer_routes
from koordpy.server.authorization import Delegated, middleware
from koordpy.server.gangs import add_gang_routes

JOBS = "/apis/koordpy.io/v1alpha1/jobs"


class Reviewer:
    """An API server that knows one token, and lets its user get one path."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.now = 0.0
        self.is_down = False
        self.knows_no_audiences = False

    async def review(self, path: str, body: dict[str, Any]) -> bytes:
        if self.is_down:
            raise OSError("connection refused")
        self.asked.append((path, body["spec"]))
        if path.endswith("tokenreviews"):
            audiences = body["spec"].get("audiences", ["the API server"])
            known = (body["spec"]["token"], audiences) in (("secret", ["the API server"]), ("for us", ["koordpy"]))
            if self.knows_no_audiences:
                known, audiences = True, []
            user = {"username": "ann", "groups": ["dev"]} if known else {}
            return msgspec.json.encode({"status": {"authenticated": known, "user": user, "audiences": audiences}})
        about = body["spec"].get("resourceAttributes", {})
        return msgspec.json.encode({"status": {"allowed": about.get("resource") == "jobs" and about["verb"] == "list"}})


@pytest.fixture
def reviewer() -> Reviewer:
    return Reviewer()


@pytest.fixture
async def client(reviewer: Reviewer):
    async def fine(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    check = middleware(Delegated(reviewer.review, lambda: reviewer.now), always_allow=["/allowed"])
    app = web.Application(middlewares=[check])
    for path in ("/healthz", "/livez", "/readyz", "/metrics", "/allowed", JOBS, f"{JOBS}/{{namespace}}/{{name}}"):
        app.router.add_get(path, fine)
    async with TestClient(TestServer(app)) as client:
        yield client


async def answered(client, path: str, token: str = "", header: str = "Authorization") -> int:
    headers = {header: f"Bearer {token}"} if token else {}
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


async def test_what_is_always_allowed_needs_no_token(client):
    assert await answered(client, "/allowed") == 200


@pytest.mark.parametrize(
    ("header", "token", "status"),
    [
        ("X-Koordpy-Authorization", "for us", 200),
        ("X-Koordpy-Authorization", "secret", 401),  # one for the API server is not to come this way
        ("Authorization", "for us", 401),
    ],
)
async def test_what_comes_through_the_service_proxy_has_a_token_made_for_us(client, header, token, status):
    assert await answered(client, JOBS, token, header) == status


async def test_an_authenticator_that_knows_no_audiences_proves_nothing(client, reviewer):
    reviewer.knows_no_audiences = True
    assert await answered(client, JOBS, "any", "X-Koordpy-Authorization") == 401


async def test_an_answer_is_reviewed_as_a_resource(client, reviewer):
    await answered(client, JOBS, "secret")
    (_, (_, access)) = reviewer.asked
    wanted = {"group": "koordpy.io", "version": "v1alpha1", "resource": "jobs", "verb": "list"}
    assert access["resourceAttributes"] == wanted | {"namespace": "", "name": ""}
    assert (access["user"], list(access["groups"])) == ("ann", ["dev"])


async def test_one_job_is_a_right_in_its_namespace(client, reviewer):
    assert await answered(client, f"{JOBS}/team%2Da/train", "secret") == 403
    about = reviewer.asked[-1][1]["resourceAttributes"]
    assert (about["verb"], about["namespace"], about["name"]) == ("get", "team-a", "train")


async def test_what_is_no_answer_is_reviewed_by_its_path(client, reviewer):
    await answered(client, "/metrics", "secret")
    assert reviewer.asked[-1][1]["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}


def test_whatever_is_answered_below_apis_is_reviewed_as_a_resource():
    """There the path alone is a right that everybody has."""
    app = web.Application()
    add_gang_routes(app, None, lambda: True)
    add_answer_routes(app, None, lambda: True, str)
    served = {resource.canonical for resource in app.router.resources() if resource.canonical.startswith("/apis/")}
    assert served == set(rights._OF_ROUTES)


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
