"""When a gang is looked at: soon after its first news, seldom, never by two at once, and not never."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator

import pytest

from koordpy.controllers.runtime.workqueue import Agenda
from tests.controllers.world import now

pytestmark = pytest.mark.looptime


class Looker:
    """Remembers when it looked; each look takes and asks for as long as it is told."""

    def __init__(self, takes_s: float = 0.0, pause_s: float = 1.0) -> None:
        self.looks: list[tuple[float, str]] = []
        self.takes_s, self.pause_s = takes_s, pause_s
        self.at_once = 0
        self.mistakes = 0

    async def __call__(self, key: str) -> float:
        self.looks.append((round(now(), 3), key))
        if self.mistakes:
            self.mistakes -= 1
            raise RuntimeError("as ordered")
        self.at_once += 1
        assert self.at_once == 1, "two looks at once"
        await asyncio.sleep(self.takes_s)
        self.at_once -= 1
        return self.pause_s


@contextlib.asynccontextmanager
async def running(agenda: Agenda, looker: Looker, *keys: str) -> AsyncIterator[None]:
    task = asyncio.ensure_future(agenda.run(looker, keys))
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_burst_is_one_look_a_moment_later():
    agenda, looker = Agenda(2), Looker()
    async with running(agenda, looker):
        for _ in range(100):
            agenda.note("a")
        await asyncio.sleep(0.99)
        assert looker.looks == [(0.1, "a")]


async def test_news_in_the_pause_lead_to_one_look_at_its_end():
    agenda, looker = Agenda(2), Looker(pause_s=1.0)
    async with running(agenda, looker, "a"):
        for _ in range(4):
            await asyncio.sleep(0.2)
            agenda.note("a")
        await asyncio.sleep(10)
        assert looker.looks == [(0.1, "a"), (1.1, "a")]


async def test_news_during_a_look_lead_to_another_and_never_to_two_at_once():
    agenda, looker = Agenda(4), Looker(takes_s=5.0, pause_s=1.0)
    async with running(agenda, looker, "a"):
        for _ in range(10):
            await asyncio.sleep(0.4)
            agenda.note("a")
        await asyncio.sleep(30)
        assert looker.looks == [(0.1, "a"), (6.1, "a")]


async def test_without_news_nothing_is_looked_at_again():
    agenda, looker = Agenda(2), Looker()
    async with running(agenda, looker, "a"):
        await asyncio.sleep(1000)
        assert len(looker.looks) == 1


async def test_a_look_that_raises_does_not_end_the_looking():
    agenda, looker = Agenda(1), Looker()
    looker.mistakes = 1
    async with running(agenda, looker, "a"):
        agenda.note("b")
        await asyncio.sleep(60)
        assert sorted(key for _, key in looker.looks) == ["a", "a", "b"]


async def test_a_look_that_raised_is_made_again_without_news():
    agenda, looker = Agenda(1), Looker()
    looker.mistakes = 1
    async with running(agenda, looker, "a"):
        await asyncio.sleep(60)
        assert len(looker.looks) == 2


async def test_a_look_that_keeps_raising_is_made_again_at_growing_distances_and_no_more_once_it_succeeds():
    agenda, looker = Agenda(1), Looker()
    looker.mistakes = 5
    async with running(agenda, looker, "a"):
        await asyncio.sleep(600)
        times = [at for at, _ in looker.looks]
        assert len(times) == 6
        distances = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert distances == sorted(distances)


async def test_news_neither_shorten_nor_lose_the_wait_after_a_look_that_raised():
    agenda, looker = Agenda(1), Looker()
    looker.mistakes = 4
    async with running(agenda, looker, "a"):
        for _ in range(100):
            await asyncio.sleep(0.02)
            agenda.note("a")
        assert 2 <= len(looker.looks) <= 4
        await asyncio.sleep(600)
        assert len(looker.looks) == 5


async def test_a_look_that_raised_is_made_by_the_next_who_looks():
    agenda, looker = Agenda(1), Looker()
    looker.mistakes = 1
    async with running(agenda, looker, "a"):
        await asyncio.sleep(0.15)
    assert len(looker.looks) == 1
    async with running(agenda, looker, "a"):
        await asyncio.sleep(60)
        assert len(looker.looks) == 2


async def test_news_while_nobody_looks_are_left_to_who_begins_with_everything():
    agenda, looker = Agenda(2), Looker()
    async with running(agenda, looker, "a"):
        agenda.note("b")
    agenda.note("c")
    await asyncio.sleep(10)
    assert looker.looks == []
    async with running(agenda, looker, "d"):
        await asyncio.sleep(10)
        assert [key for _, key in looker.looks] == ["d"]


async def test_the_pauses_of_one_who_looked_before_do_not_disturb_the_next():
    agenda, looker = Agenda(2), Looker(pause_s=5.0)
    async with running(agenda, looker, "a"):
        await asyncio.sleep(1)
    async with running(agenda, looker, "a"):
        await asyncio.sleep(1)
        agenda.note("a")
        await asyncio.sleep(20)
    assert looker.looks == [(0.1, "a"), (1.1, "a"), (6.1, "a")]
