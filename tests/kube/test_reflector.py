"""List and watch on a server that behaves, and on one that fails in every way a server can."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.kube.watch import reflector as module
from koordpy.sim.embedded.faults import Fault, Rule
from tests.kube.world import Sink, World, now, reflecting, until

pytestmark = pytest.mark.looptime

LIST = "/api/v1/pods"


async def test_a_list_in_several_pages_delivers_each_object_once(monkeypatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 3)
    async with World() as world:
        for number in range(7):
            await world.create(f"p{number}")
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            assert [key for _, key, _ in sink.calls] == [f"default/p{number}" for number in range(7)]
            assert len([path for _, _, path in world.requests if "watch" not in path]) == 3


async def test_changes_are_delivered_once_and_in_order() -> None:
    async with World() as world:
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            versions = [(await world.create("a"))["metadata"]["resourceVersion"]]
            versions += [(await world.label("a", str(n)))["metadata"]["resourceVersion"] for n in range(3)]
            uid = (await world.delete("a"))["metadata"]["uid"]
            await until(lambda: not sink.there and bool(sink.calls))
        assert sink.calls[:4] == [("upsert", "default/a", version) for version in versions]
        assert (
            [call for call in sink.calls if call[0] == "remove"] == [sink.calls[-1]] == [("remove", "default/a", uid)]
        )


async def test_a_cut_watch_is_resumed_where_it_ended_without_listing_again() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.WATCH_CUT, path=LIST, count=3, after_chunks=1))
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            for number in range(6):
                await world.create(f"p{number}")
                await asyncio.sleep(0.7)
            await until(lambda: len(sink.calls) >= 6)
            await asyncio.sleep(60)
        assert [key for _, key, _ in sink.calls] == [f"default/p{number}" for number in range(6)]
        assert len(world.lists()) == 1
        assert len(world.watches()) == 4


async def test_an_incomplete_line_is_dropped_and_comes_with_the_next_watch() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.HALF_LINE, path=LIST))
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            await world.create("a")
            await until(lambda: sink.names == ["a"])
            assert len(sink.calls) == 1
            assert len(world.lists()) == 1


async def test_after_410_only_the_difference_is_delivered() -> None:
    async with World() as world:
        for name in ("same", "changed", "deleted", "recreated"):
            await world.create(name)
        old = (await world.get("recreated"))["metadata"]["uid"]
        world.faults.add(Rule(Fault.WATCH_STUCK, path=LIST))
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            sink.calls.clear()
            await _change_behind_its_back(world)
            await until(lambda: len(world.lists()) == 2)
            await asyncio.sleep(30)
        assert sink.names == ["added", "changed", "recreated", "same"]
        assert sorted(key for _, key, _ in sink.calls) == [
            "default/added", "default/changed", "default/deleted", "default/recreated", "default/recreated",
        ]  # fmt: skip
        kinds = [(kind, what) for kind, key, what in sink.calls if key == "default/recreated"]
        assert kinds[0] == ("remove", old), "the room of the old pod is free before the new one asks"
        assert kinds[1][0] == "upsert"


async def _change_behind_its_back(world: World) -> None:
    await world.label("changed", "1")
    for name in ("deleted", "recreated"):
        await world.delete(name)
    for name in ("recreated", "added"):
        await world.create(name)
    world.cluster.forget_history()


async def test_objects_of_a_broken_list_are_not_delivered_twice_and_are_removed_when_gone(monkeypatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    async with World() as world:
        for name in ("a", "b", "c"):
            await world.create(name)
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await until(lambda: len(sink.calls) >= 2, step=0)
            world.faults.add(Rule(Fault.STATUS, path=LIST, status=503))
            await until(lambda: bool(reflector.trouble), step=0)
            await world.delete("a")
            await reflector.synced.wait()
        assert sink.names == ["b", "c"]
        assert [key for kind, key, _ in sink.calls if kind == "upsert"] == ["default/a", "default/b", "default/c"]


async def test_an_expired_continue_token_begins_the_list_anew(monkeypatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    async with World() as world:
        for name in ("a", "b", "c"):
            await world.create(name)
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await until(lambda: len(sink.calls) >= 2, step=0)
            world.faults.add(Rule(Fault.STATUS, path=LIST, status=410))
            await reflector.synced.wait()
            assert sink.names == ["a", "b", "c"]
            assert len(sink.calls) == 3
            assert len(world.lists()) == 2


async def test_after_429_the_reflector_waits_for_the_retry_after() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.STATUS, path=LIST, status=429, retry_after=17))
        async with reflecting(world.client, Sink()) as reflector:
            await reflector.synced.wait()
            assert len(world.lists()) == 2
            assert now() >= 17


async def test_a_failing_server_is_retried_with_back_off_and_never_given_up() -> None:
    async with World() as world:
        rule = world.faults.add(Rule(Fault.STATUS, path=LIST, status=500, count=None))
        async with reflecting(world.client, Sink()) as reflector:
            await asyncio.sleep(600)
            pauses = [later - earlier for earlier, later in zip(world.lists(), world.lists()[1:], strict=False)]
            assert pauses[0] <= 0.2
            assert all(pause <= 30 for pause in pauses)
            assert all(pause >= 15 for pause in pauses[8:])
            rule.count = 0
            await asyncio.sleep(31)
            assert reflector.synced.is_set()


async def test_a_silent_watch_is_reopened_after_70_seconds_without_a_warning(log) -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.WATCH_STUCK, path=LIST))
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            await world.create("a")
            await asyncio.sleep(69)
            assert sink.calls == []
            await asyncio.sleep(2)
            assert sink.names == ["a"]
            assert len(world.lists()) == 1
            assert reflector.trouble == ""
            assert log == []


async def test_an_idle_watch_gets_bookmarks_and_stays_open() -> None:
    async with World() as world:
        async with reflecting(world.client, Sink()) as reflector:
            await reflector.synced.wait()
            await asyncio.sleep(290)
        assert len(world.watches()) == 1


async def test_a_watch_that_was_idle_for_long_resumes_from_its_last_bookmark() -> None:
    async with World() as world:
        sink = Sink()
        async with reflecting(world.client, sink) as reflector:
            await reflector.synced.wait()
            await world.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})  # moves the version, not our pods
            await asyncio.sleep(100)
            world.cluster.forget_history()
            await asyncio.sleep(400)  # past the end of the first watch
            await world.create("a")
            await until(lambda: sink.names == ["a"])
        assert len(world.lists()) == 1


async def test_trouble_is_logged_once_and_so_is_its_end(log) -> None:
    async with World() as world:
        rule = world.faults.add(Rule(Fault.STATUS, path=LIST, status=403, count=None))
        async with reflecting(world.client, Sink()) as reflector:
            await asyncio.sleep(100)
            assert reflector.trouble.startswith("Forbidden: GET /api/v1/pods")
            assert [entry["event"] for entry in log] == ["watch_failed"]
            assert "grant" in log[0]["hint"]
            rule.count = 0
            await asyncio.sleep(31)
            assert reflector.trouble == ""
            assert [entry["event"] for entry in log] == ["watch_failed", "watch_recovered"]


async def test_trouble_ends_when_the_watch_is_open_again_although_it_is_idle() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.WATCH_CUT, path=LIST))
        async with reflecting(world.client, Sink()) as reflector:
            await until(lambda: bool(reflector.trouble), step=0.001)
            await asyncio.sleep(1)
            assert reflector.trouble == ""
            assert len(world.watches()) == 2
