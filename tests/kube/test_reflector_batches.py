"""Batches: `settle` is called after all objects of a batch are delivered, before other tasks run."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.kube.client import Client
from koordpy.kube.watch import reflector as module
from koordpy.kube.watch.reflector import Reflector
from tests.kube.world import HANG, POD_RESOURCE, Scripted, Sink, line, plain_pod, running

pytestmark = pytest.mark.looptime


async def batches(script: Scripted) -> list[int]:
    """How many calls the sink had had each time that a batch ended; without empty ones."""
    sink, seen = Sink(), [0]

    def settle() -> None:
        if len(sink.calls) > seen[-1]:
            seen.append(len(sink.calls))

    async with running(Reflector(Client(script), POD_RESOURCE, sink, settle).run()):
        await asyncio.sleep(10)
    assert seen[-1] == len(sink.calls), "something was told after the last batch"
    return seen[1:]


def lines(*names: str) -> bytes:
    return b"".join(line("ADDED", plain_pod(name, version=1001 + ord(name[0]))) for name in names)


async def test_lines_that_arrive_together_are_one_batch() -> None:
    script = Scripted([[]], [[lines("a", "b", "c"), lines("d", "e"), HANG]])
    assert await batches(script) == [3, 5]


async def test_a_page_is_a_batch() -> None:
    assert await batches(Scripted([[plain_pod("a"), plain_pod("b")]], [[HANG]])) == [2]


async def test_a_long_batch_is_settled_before_other_tasks_run(monkeypatch) -> None:
    monkeypatch.setattr(module, "_LINES_PER_TURN", 2)
    assert await batches(Scripted([[]], [[lines("a", "b", "c"), HANG]])) == [2, 3]


async def test_the_lines_before_an_unreadable_line_are_a_batch() -> None:
    assert await batches(Scripted([[]], [[lines("a", "b") + b"<html>\n"], [HANG]])) == [2]
