"""When the work queue hands out a key: soon after its first event, seldom, and never to two workers at once."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator

import pytest

from koordpy.controllers.runtime.workqueue import WorkQueue
from tests.controllers.world import now

pytestmark = pytest.mark.looptime


class Workers:
    """Take keys and remember when; the first `failures` keys are handed back for a retry."""

    def __init__(self, queue: WorkQueue[str], *, takes_s: float = 0.0, pause_s: float = 1.0, failures: int = 0) -> None:
        self._queue, self._takes_s, self._pause_s, self._failures = queue, takes_s, pause_s, failures
        self._busy: set[str] = set()
        self.taken: list[tuple[float, str]] = []

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.taken]

    async def work(self) -> None:
        while True:
            key = await self._queue.get()
            self.taken.append((round(now(), 3), key))
            assert key not in self._busy, "two workers have one key"
            self._busy.add(key)
            await asyncio.sleep(self._takes_s)
            self._busy.remove(key)
            if self._failures:
                self._failures -= 1
                self._queue.retry(key)
            else:
                self._queue.done(key, pause_s=self._pause_s)


@contextlib.asynccontextmanager
async def running(queue: WorkQueue[str], workers: Workers, number: int = 2) -> AsyncIterator[None]:
    queue.start()
    tasks = [asyncio.ensure_future(workers.work()) for _ in range(number)]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        queue.shut_down()


async def test_a_burst_of_events_is_one_reconcile_a_moment_later():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue)
    async with running(queue, workers):
        for _ in range(10):
            queue.add("a")
            await asyncio.sleep(0.005)
        await asyncio.sleep(10)
        assert workers.taken == [(0.1, "a")]


async def test_events_in_the_pause_lead_to_one_reconcile_at_its_end():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, pause_s=1.0)
    async with running(queue, workers):
        queue.add("a")
        for _ in range(4):
            await asyncio.sleep(0.2)
            queue.add("a")
        await asyncio.sleep(10)
        assert workers.taken == [(0.1, "a"), (1.1, "a")]


async def test_events_while_a_worker_has_the_key_lead_to_another_reconcile_and_never_to_two_at_once():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, takes_s=5.0, pause_s=1.0)
    async with running(queue, workers):
        queue.add("a")
        for _ in range(10):
            await asyncio.sleep(0.4)
            queue.add("a")
        await asyncio.sleep(30)
        assert workers.taken == [(0.1, "a"), (6.1, "a")]


async def test_a_key_that_waits_for_a_worker_is_not_queued_twice():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, takes_s=5.0)
    async with running(queue, workers, number=1):
        queue.add("busy")
        await asyncio.sleep(1)
        for _ in range(3):
            queue.add("a")
            await asyncio.sleep(0.5)
        await asyncio.sleep(60)
        assert [key for _, key in workers.taken] == ["busy", "a"]


async def test_without_events_a_key_is_not_handed_out_again():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue)
    async with running(queue, workers):
        queue.add("a")
        await asyncio.sleep(1000)
        assert len(workers.taken) == 1


async def test_a_retry_needs_no_event():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, failures=1)
    async with running(queue, workers):
        queue.add("a")
        await asyncio.sleep(600)
        assert len(workers.taken) == 2


async def test_retries_of_a_key_back_off_and_start_anew_after_a_success():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, failures=12)
    async with running(queue, workers):
        queue.add("a")
        await asyncio.sleep(1000)
        waits = [later - earlier for earlier, later in itertools.pairwise(workers.times)]
        assert len(waits) == 12
        assert waits[:7] == sorted(waits[:7])
        assert max(waits) <= 60.0
        workers._failures = 1
        queue.add("a")
        await asyncio.sleep(1000)
        assert workers.times[-1] - workers.times[-2] <= 0.5


async def test_a_retry_waits_for_as_long_as_the_api_server_asks():
    queue: WorkQueue[str] = WorkQueue()
    queue.start()
    queue.add("a")
    key = await queue.get()
    queue.retry(key, at_least_s=20.0)
    before = now()
    await queue.get()
    assert now() - before == 20.0
    queue.shut_down()


async def test_events_neither_shorten_nor_lose_the_back_off():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, failures=4)
    async with running(queue, workers):
        for _ in range(100):
            queue.add("a")
            await asyncio.sleep(0.02)
        assert 2 <= len(workers.taken) <= 4
        await asyncio.sleep(600)
        assert len(workers.taken) == 5


async def test_the_back_off_of_one_key_does_not_delay_another():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, failures=1)
    async with running(queue, workers, number=1):
        queue.add("a")
        await asyncio.sleep(0.11)
        queue.add("b")
        await asyncio.sleep(0.11)
        assert [key for _, key in workers.taken] == ["a", "b"]


async def test_a_key_that_is_to_be_requeued_later_is_handed_out_sooner_when_it_changes_and_not_twice():
    queue: WorkQueue[str] = WorkQueue()
    queue.start()
    for after_s, handed_out_at in ((None, 100.1), (50.0, 50.2)):
        began = now()
        queue.add("a")
        key = await queue.get()
        queue.done(key, pause_s=1.0, requeue_after_s=99.0)
        if after_s is not None:
            asyncio.get_running_loop().call_later(after_s, queue.add, "a")
        await queue.get()
        assert now() - began == pytest.approx(handed_out_at)
        queue.done("a", pause_s=0.0)
        await asyncio.sleep(1000)
        assert queue._ready.empty()
    queue.shut_down()


async def test_a_queue_that_is_shut_down_keeps_nothing():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, failures=1)
    async with running(queue, workers):
        queue.add("failed")
        await asyncio.sleep(0.15)
        queue.add("in its batch period")
    queue.add("shut down")
    await asyncio.sleep(10)
    async with running(queue, workers):
        queue.add("a")
        await asyncio.sleep(600)
    assert [key for _, key in workers.taken] == ["failed", "a"]


async def test_a_key_that_is_to_be_requeued_later_does_not_outlive_a_shut_down():
    queue: WorkQueue[str] = WorkQueue()
    queue.start()
    queue.add("a")
    queue.done(await queue.get(), pause_s=0.0, requeue_after_s=10.0)
    await asyncio.sleep(1)
    queue.shut_down()
    workers = Workers(queue)
    async with running(queue, workers):
        await asyncio.sleep(60)
    assert workers.taken == []


async def test_a_pause_does_not_outlive_a_shut_down():
    queue: WorkQueue[str] = WorkQueue()
    workers = Workers(queue, pause_s=5.0)
    async with running(queue, workers):
        queue.add("a")
        await asyncio.sleep(1)
    async with running(queue, workers):
        queue.add("a")
        await asyncio.sleep(1)
        queue.add("a")
        await asyncio.sleep(20)
    assert workers.taken == [(0.1, "a"), (1.1, "a"), (6.1, "a")]
