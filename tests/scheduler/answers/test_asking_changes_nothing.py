"""Whatever is asked, the state afterwards is byte for byte what it was before."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from koordpy.scheduler.answers import explaining
from tests.builders import pod_json
from tests.scheduler.answers.test_changes_hold import random_world
from tests.scheduler.answers.worlds import answering, explained, what_if
from tests.state.test_copying import picture

pytestmark = pytest.mark.random


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, all changes are tried."""
    monkeypatch.setattr(explaining, "BUDGET_S", 60.0)


def everything(built):
    tickets = {
        ticket.key: (ticket.state, ticket.place, ticket.failures, ticket.ready_at, ticket.number)
        for ticket in built.queue
    }
    occupancy = built.cluster.occupancy
    return picture(built.cluster), tickets, occupancy.is_consistent, bool(built.cluster.changes)


@pytest.mark.parametrize("seed", range(40))
def test_asking_changes_nothing(seed):
    built = random_world(random.Random(seed)).build()
    before = everything(built)
    asyncio.run(answering(built).jobs())
    assert everything(built) == before
    explained(built)
    assert everything(built) == before
    what_if(built, msgspec.json.encode([pod_json("new", cpu=1, priority=100)]))
    assert everything(built) == before
    what_if(built, b"", ("addNodes", "2"), ("like", "n0"), ("withoutNode", "n0"))
    assert everything(built) == before
    asyncio.run(answering(built).queues())
    assert everything(built) == before


@pytest.mark.parametrize("seed", range(5))
def test_the_same_question_gets_the_same_answer(seed):
    built = random_world(random.Random(seed)).build()
    assert explained(built) == explained(built)
