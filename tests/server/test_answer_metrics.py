"""Every answer is measured, by what was asked and how it was answered."""

from __future__ import annotations

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client import REGISTRY

from koordpy.api.answers import PATH, CannotAnswer
from koordpy.server.answers import add_answer_routes


class Unknowing:
    """Knows no job."""

    async def explain(self, namespace: str, name: str) -> None:
        raise CannotAnswer(404, "NotFound", f"there is no job {namespace}/{name}")


def counted(question: str, code: str) -> float:
    labels = {"question": question, "code": code}
    return REGISTRY.get_sample_value("koordpy_answer_duration_seconds_count", labels) or 0.0


async def asked(path: str, *, leads: bool = True) -> int:
    app = web.Application()
    add_answer_routes(app, Unknowing, lambda: leads, lambda: "")
    async with TestClient(TestServer(app)) as client, client.get(PATH + path) as answer:
        return answer.status


async def test_an_answer_counts_with_its_status():
    before = counted("explain", "404")
    assert await asked("/jobs/default/none") == 404
    assert counted("explain", "404") == before + 1


async def test_a_question_to_one_who_does_not_lead_counts_too():
    before = counted("jobs", "503")
    assert await asked("/jobs", leads=False) == 503
    assert counted("jobs", "503") == before + 1
