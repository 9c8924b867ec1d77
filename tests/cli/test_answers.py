"""`koordpy jobs`, `explain` and `whatif`: tables for people, documents for programs, one line for every mistake."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from click.testing import CliRunner

from koordpy.app.process import CannotStart
from koordpy.cli import asking, main
from koordpy.cli.answertables import show
from koordpy.kube.http.transport import Response
from koordpy.scheduler.answers import explaining
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
    assert "job default/old: default/old holds 1 of cpu on n1" in text
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


class Proxy:
    """An API server in front of the scheduler."""

    def __init__(self, *answers: Response) -> None:
        self.answers, self.asked = list(answers), []

    async def send(self, method: str, path: str, body: bytes = b"", **_: object) -> Response:
        self.asked.append((method, path))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


SERVICES = Response(200, b'{"items": [{"metadata": {"name": "koordpy-scheduler", "namespace": "koordpy-system"}}]}')
NOT_LEADING = Response(503, b'{"kind": "Status", "code": 503, "reason": "x", "message": "this instance does not lead"}')
PROXY = "/api/v1/namespaces/koordpy-system/services/http:koordpy-scheduler:http/proxy"


def asked(proxy: Proxy) -> bytes:
    async def go() -> bytes:
        proxies = await asking._proxies(proxy, "")
        return await asking._through(proxy, proxies, "/jobs", None)

    return asyncio.run(go())


def test_the_scheduler_is_found_behind_the_api_server():
    proxy = Proxy(SERVICES, Response(200, b"{}"))
    assert asked(proxy) == b"{}"
    assert proxy.asked[1] == ("GET", f"{PROXY}/apis/koordpy.io/v1alpha1/jobs")


def test_a_replica_that_does_not_lead_is_not_the_last_word():
    assert asked(Proxy(SERVICES, NOT_LEADING, NOT_LEADING, Response(200, b"{}"))) == b"{}"


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ((Response(200, b'{"items": []}'),), "no service of a koordpy scheduler is in the cluster"),
        (
            (SERVICES, Response(404, b'{"code": 404, "reason": "x", "message": "job a/b is not"}')),
            "job a/b is not",
        ),
        ((SERVICES, Response(403, b'{"code": 403, "reason": "x", "message": "no"}')), "you may not ask the scheduler"),
        ((SERVICES, Response(503, b"no endpoints")), "the scheduler does not answer"),
    ],
)
def test_what_is_wrong_is_one_line(answers, text):
    with pytest.raises(CannotStart) as caught:
        asked(Proxy(*answers))
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
