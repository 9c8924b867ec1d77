"""Asking for a new list: afterwards the sink knows everything that was true when it was asked."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.kube.client import Client
from koordpy.kube.watch import reflector as module
from koordpy.sim.embedded.faults import Fault, Rule
from tests.kube.world import HANG, Scripted, Sink, World, line, plain_pod, reflecting, until

pytestmark = pytest.mark.looptime

LIST = "/api/v1/pods"


async def test_a_resync_during_a_watch_delivers_what_the_watch_has_not() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.WATCH_STUCK, path=LIST))
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            await asyncio.sleep(1)
            await world.create("a")
            await asyncio.sleep(1)
            assert sink.names == []
            await reflector.resync()
            assert sink.names == ["a"]
            await world.create("b")
            await until(lambda: sink.names == ["a", "b"])
            assert len(sink.calls) == 2


async def test_buffered_events_do_not_undo_a_resync() -> None:
    """The buffer holds "a is there"; the list knows that it is gone. Told in that order, a ghost would stay."""
    async with World() as world:
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            await asyncio.sleep(1)
            await world.create("a")  # the watch has it, and the reflector has had no turn to read it
            await world.delete("a")
            await reflector.resync()
            assert sink.names == []
            await asyncio.sleep(60)
            assert sink.names == []


async def test_a_resync_in_the_middle_of_a_burst_leaves_the_rest_of_it_to_the_list() -> None:
    burst = b"".join(line("ADDED", plain_pod(f"p{n}", version=1001 + n)) for n in range(1000))
    script = Scripted([[], [plain_pod("p0", version=1001)]], [[burst, HANG], [HANG]])
    sink = Sink()
    async with reflecting(Client(script), sink) as reflector:
        await until(lambda: len(sink.calls) > 100, step=0)
        assert len(sink.calls) < 1000
        await reflector.resync()
        assert sink.names == ["p0"]


async def test_a_list_that_began_before_a_resync_does_not_end_it(monkeypatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    async with World() as world:
        for name in ("b", "c", "d"):
            await world.create(name)
        world.faults.add(Rule(Fault.WATCH_STUCK, path=LIST, count=None))
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await until(lambda: len(sink.calls) == 2, step=0)  # between two pages
            await world.create("a")  # sorts before what is still to come
            await reflector.resync()
            assert sink.names == ["a", "b", "c", "d"]


async def test_a_resync_while_the_server_fails_ends_when_it_is_back() -> None:
    async with World() as world:
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            await asyncio.sleep(1)
            rule = world.faults.add(Rule(Fault.STATUS, path=LIST, count=None))
            asking = asyncio.create_task(reflector.resync())
            await asyncio.sleep(100)
            assert not asking.done()
            await world.create("a")
            rule.count = 0
            await asking
            assert sink.names == ["a"]


async def test_two_resyncs_at_once_both_end() -> None:
    async with World() as world, reflecting(world.client, Sink()) as reflector:
        await reflector.synced.wait()
        await asyncio.sleep(1)
        async with asyncio.timeout(10):
            await asyncio.gather(reflector.resync(), reflector.resync())


async def test_an_abandoned_resync_does_no_harm_to_the_next() -> None:
    async with World() as world, reflecting(world.client, Sink()) as reflector:
        await reflector.synced.wait()
        await asyncio.sleep(1)
        first = asyncio.create_task(reflector.resync())
        await asyncio.sleep(0)
        first.cancel()
        async with asyncio.timeout(10):
            await reflector.resync()
