"""`koordpy jobs`, `explain` and `whatif`: tables for people, documents for programs, one line for every mistake."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from typing import Any, cast

import aiohttp
import msgspec
import pytest
from click.testing import CliRunner

from koordpy.app.process import CannotStart
from koordpy.cli import main
from koordpy.cli.answertables import show
from koordpy.cli.asking import cause_of, scheduler
from koordpy.cli.proxied import Proxied
from koordpy.kube.http.transport import Response
from koordpy.scheduler.answers import explaining
from tests.controlplane.process import free_ports
from tests.scheduler.answers.worlds import Description, answering, explained, what_if


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, all changes are tried."""
    monkeypatch.setattr(explaining, "BUDGET_S", 60.0)


@pytest.fixture
def waiting() -> Description:
    return Description().node("n1", cpu=2).runs("old", "n1", cpu=1).gang(2, cpu=1)


def shown(answer: object, output: str, capsys: pytest.CaptureFixture[str]) -> str:
    show(msgspec.json.encode(answer), output)
    return capsys.readouterr().out


def test_jobs_are_a_table(waiting, capsys):
    heading, job = shown(asyncio.run(answering(waiting.build()).jobs()), "table", capsys).splitlines()
    assert heading.split()[:4] == ["#", "JOB", "QUEUE", "PRIORITY"]
    assert job.split()[:2] == ["1", "default/a"]


def test_an_explanation_says_what_would_start_it(waiting, capsys):
    text = shown(explained(waiting.build()), "table", capsys)
    assert "JobEnds: default/old ends or is deleted" in text
    assert "job default/old holds 1 of cpu on n1" in text
    assert "\x1b" not in text


def test_a_verdict_names_the_nodes(waiting, capsys):
    text = shown(what_if(waiting.build(), b"", ("addNodes", "1"), ("like", "n1")), "table", capsys)
    assert "default/a  Now" in text
    assert "default/a-0 -> " in text


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_documents_are_printed_as_they_came(waiting, capsys, output):
    import yaml

    answer = explained(waiting.build())
    text = shown(answer, output, capsys)
    found = json.loads(text) if output == "json" else yaml.safe_load(text)
    assert found == json.loads(msgspec.json.encode(answer))


def test_what_has_not_changed_is_not_printed_again(waiting, capsys):
    listed = msgspec.json.encode(asyncio.run(answering(waiting.build()).jobs()))
    said = show(listed, "table")
    capsys.readouterr()
    show(listed, "table", said)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["explain", "train"], "'train' is not NAMESPACE/NAME"),
        (["whatif", "--add-nodes", "2"], "--add-nodes and --like go together"),
        (["whatif", "-f", "/nowhere.yaml"], "/nowhere.yaml: No such file or directory"),
    ],
)
def test_a_mistake_in_the_arguments_is_named(arguments, text):
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code == 2
    assert text in answer.output


class ApiServer:
    """An API server in front of the scheduler: it makes tokens, or not, and passes on what the scheduler answers."""

    def __init__(self, *answers: Response, services: Response | None = None, tokens: Response | None = None) -> None:
        self.answers, self.services, self.tokens = list(answers), services or SERVICES, tokens or TOKEN
        self.asked: list[tuple[str, str]] = []
        self.shown: list[str] = []  # to the scheduler
        self.requested: list[dict] = []

    async def send(
        self, method: str, path: str, body: bytes = b"", *, headers: dict[str, str], **_: object
    ) -> Response:
        self.asked.append((method, path))
        if path.startswith("/api/v1/services?"):
            return self.services
        if path == ACCOUNT:
            self.requested.append(json.loads(body)["spec"])
            return self.tokens
        self.shown.append(headers.get("X-Koordpy-Authorization", ""))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


SERVICES = Response(200, b'{"items": [{"metadata": {"name": "koordpy-scheduler", "namespace": "koordpy-system"}}]}')
TOKEN = Response(201, b'{"status": {"token": "made-for-koordpy"}}')
NO_TOKEN = Response(403, b'{"code": 403, "reason": "x", "message": "ada cannot create serviceaccounts/token"}')
NO_ACCOUNT = Response(404, b'{"code": 404, "reason": "x", "message": "serviceaccounts koordpy-answers not found"}')
UNKNOWN = Response(401, b'{"code": 401, "reason": "Unauthorized", "message": "a bearer token is needed"}')
NOT_LEADING = Response(503, b'{"kind": "Status", "code": 503, "reason": "x", "message": "this instance does not lead"}')
HUNG_UP = Response(503, b'{"code": 503, "reason": "x", "message": "error trying to reach service: EOF"}')
ANSWER = Response(200, b"{}")
ACCOUNT = "/api/v1/namespaces/koordpy-system/serviceaccounts/koordpy-answers/token"
PROXY = "/api/v1/namespaces/koordpy-system/services/http:koordpy-scheduler:http/proxy"


def asked(api_server: ApiServer) -> bytes:
    return asyncio.run(Proxied(api_server, "").ask("/jobs", None))


def test_the_scheduler_is_found_behind_the_api_server():
    api_server = ApiServer(ANSWER)
    assert asked(api_server) == b"{}"
    assert api_server.asked[-1] == ("GET", f"{PROXY}/apis/koordpy.io/v1alpha1/jobs")


def test_the_scheduler_is_shown_a_token_that_was_made_for_it():
    api_server = ApiServer(ANSWER)
    asked(api_server)
    assert api_server.shown == ["Bearer made-for-koordpy"]
    assert api_server.requested == [{"audiences": ["koordpy"], "expirationSeconds": 600}]


def test_a_scheduler_that_wants_no_token_needs_no_account():
    api_server = ApiServer(ANSWER, tokens=NO_ACCOUNT)
    assert asked(api_server) == b"{}"
    assert api_server.shown == [""]


def test_a_token_that_has_ended_is_made_anew():
    api_server = ApiServer(UNKNOWN, ANSWER)
    assert asked(api_server) == b"{}"
    assert len(api_server.requested) == 2


@pytest.mark.parametrize("told", [Response(400, b"Client sent an HTTP request to an HTTPS server.\n"), HUNG_UP])
def test_what_speaks_tls_is_asked_so(told):
    api_server = ApiServer(told, ANSWER)
    assert asked(api_server) == b"{}"
    assert "/services/https:koordpy-scheduler:http/" in api_server.asked[-1][1]


def test_a_replica_that_has_just_ended_is_not_taken_for_one_that_speaks_tls():
    api_server = ApiServer(HUNG_UP, HUNG_UP, ANSWER)
    assert asked(api_server) == b"{}"
    assert "/services/http:koordpy-scheduler:http/" in api_server.asked[-1][1]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (OSError(111, "Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0)"), "Connection refused"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version"), "[SSL: WRONG_VERSION_NUMBER] wrong version"),
        (TimeoutError(), "nothing came within 35 seconds"),
    ],
)
def test_why_there_is_no_connection_is_said_plainly(error: OSError, text: str):
    assert cause_of(aiohttp.ClientConnectorError(cast("Any", None), error)) == text


def test_an_address_where_nobody_listens_is_one_line():
    (port,) = free_ports(1)

    async def ask() -> None:
        async with scheduler(f"http://localhost:{port}", "", None, None) as ask:
            await ask("/jobs", None)

    with pytest.raises(CannotStart) as caught:
        asyncio.run(ask())
    assert str(caught.value) == f"http://localhost:{port} does not answer: Connection refused"


def test_a_scheduler_that_cannot_be_reached_is_not_asked_forever():
    api_server = ApiServer(HUNG_UP)
    with pytest.raises(CannotStart, match="the scheduler does not answer: error trying to reach service: EOF"):
        asked(api_server)
    assert len(api_server.shown) == 4


def test_a_replica_that_does_not_lead_is_not_the_last_word():
    assert asked(ApiServer(NOT_LEADING, NOT_LEADING, ANSWER)) == b"{}"


@pytest.mark.parametrize(
    ("api_server", "text"),
    [
        (
            ApiServer(ANSWER, services=Response(200, b'{"items": []}')),
            "no service of a koordpy scheduler is in the cluster",
        ),
        (ApiServer(Response(404, b'{"code": 404, "reason": "x", "message": "job a/b is not"}')), "job a/b is not"),
        (
            ApiServer(Response(403, b'{"code": 403, "reason": "x", "message": "no"}')),
            "you may not ask the scheduler: no",
        ),
        (
            ApiServer(UNKNOWN, tokens=NO_TOKEN),
            "you may not ask the scheduler: ada cannot create serviceaccounts/token",
        ),
        (ApiServer(Response(503, b"no endpoints")), "the scheduler does not answer"),
    ],
)
def test_what_is_wrong_is_one_line(api_server, text):
    with pytest.raises(CannotStart) as caught:
        asked(api_server)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
