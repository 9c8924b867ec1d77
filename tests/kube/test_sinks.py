"""Several sinks on one reflector: all of them hear everything, in order, whatever one of them does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client import REGISTRY

from koordpy.api.pod import Pod
from koordpy.kube.client import Client
from koordpy.kube.watch.reflector import Reflector
from tests.kube.world import HANG, POD_RESOURCE, Scripted, Sink, line, plain_pod, running

pytestmark = pytest.mark.looptime


@dataclass
class Recorder:
    """Writes down its calls under its name, and raises where it is told to."""

    name: str
    calls: list[tuple[str, ...]]
    raises: dict[str, int] = field(default_factory=dict)  # how many times, by the key of the object

    def upsert(self, obj: Pod) -> None:
        self._note("upsert", obj.metadata.key, obj.metadata.resource_version)

    def remove(self, key: str, uid: str) -> None:
        self._note("remove", key, uid)

    def settle(self) -> None:
        self._note("settle", "settle", "")

    def _note(self, kind: str, key: str, what: str) -> None:
        left = self.raises.get(key, 0)
        if left:
            self.raises[key] = left - 1
            raise KeyError(f"{self.name} cannot take {key}")
        self.calls.append((self.name, kind, key, what) if what else (self.name, kind))


async def told(script: Scripted, *recorders: Recorder, settles: bool = False) -> None:
    reflector = Reflector(Client(script), POD_RESOURCE)
    for recorder in recorders:
        reflector.subscribe(recorder, recorder.settle if settles else None)
    async with running(reflector.run()):
        await asyncio.sleep(10)


def added(name: str, version: int = 1001) -> bytes:
    return line("ADDED", plain_pod(name, version=version))


def changed(name: str, version: int) -> bytes:
    return line("MODIFIED", plain_pod(name, version=version))


def deleted(name: str, version: int) -> bytes:
    return line("DELETED", plain_pod(name, version=version))


def failures() -> float:
    return REGISTRY.get_sample_value("koordpy_sink_failures_total", {"resource": "pods"}) or 0.0


async def test_every_sink_gets_every_change_in_the_order_of_subscription() -> None:
    calls: list[tuple[str, ...]] = []
    script = Scripted([[plain_pod("a")]], [[added("b") + deleted("a", 1002), HANG]])
    await told(script, Recorder("first", calls), Recorder("second", calls))
    assert calls == [
        ("first", "upsert", "default/a", "1"),
        ("second", "upsert", "default/a", "1"),
        ("first", "upsert", "default/b", "1001"),
        ("second", "upsert", "default/b", "1001"),
        ("first", "remove", "default/a", "uid-a"),
        ("second", "remove", "default/a", "uid-a"),
    ]


async def test_sinks_are_settled_after_the_batch_was_delivered_to_all() -> None:
    calls: list[tuple[str, ...]] = []
    script = Scripted([[]], [[added("a"), HANG]])
    reflector = Reflector(Client(script), POD_RESOURCE)
    for name in ("first", "second"):
        recorder = Recorder(name, calls)
        reflector.subscribe(recorder, recorder.settle)
    reflector.subscribe(Recorder("third", calls))
    async with running(reflector.run()):
        await asyncio.sleep(10)
    batch = ["first upsert", "second upsert", "third upsert", "first settle", "second settle"]
    assert [f"{call[0]} {call[1]}" for call in calls[-5:]] == batch


async def test_a_subscription_after_the_start_is_refused() -> None:
    reflector = Reflector(Client(Scripted([[]], [[HANG]])), POD_RESOURCE, Sink())
    async with running(reflector.run()):
        await reflector.synced.wait()
        with pytest.raises(RuntimeError, match="pods: subscribe before the reflector runs"):
            reflector.subscribe(Sink())


# --- a sink that raises ---


async def test_a_sink_that_raises_does_not_block_the_others(log) -> None:
    calls: list[tuple[str, ...]] = []
    before = failures()
    script = Scripted([[plain_pod("a"), plain_pod("b")]], [[HANG]])
    await told(script, Recorder("bad", calls, {"default/a": 1000}), Recorder("good", calls))
    assert [call for call in calls if call[0] == "good"] == [
        ("good", "upsert", "default/a", "1"),
        ("good", "upsert", "default/b", "1"),
    ]
    assert ("bad", "upsert", "default/b", "1") in calls
    assert failures() > before
    complaint = next(entry for entry in log if entry["event"] == "sink_failed")
    assert (complaint["sink"], complaint["object"]) == ("Recorder", "default/a")
    assert "bad cannot take default/a" in complaint["problem"]


async def test_a_change_over_which_a_sink_raised_is_redelivered_to_it_alone() -> None:
    calls: list[tuple[str, ...]] = []
    script = Scripted([[plain_pod("a"), plain_pod("b")]], [[HANG]])
    await told(script, Recorder("bad", calls, {"default/a": 1}), Recorder("good", calls), settles=True)
    assert calls.index(("bad", "upsert", "default/a", "1")) < calls.index(("bad", "settle"))
    assert calls.count(("bad", "upsert", "default/a", "1")) == 1
    assert calls.count(("good", "upsert", "default/a", "1")) == 1


async def test_later_changes_of_an_undelivered_object_keep_their_order() -> None:
    calls: list[tuple[str, ...]] = []
    changes = added("a") + changed("a", 1002) + deleted("a", 1003)
    await told(Scripted([[]], [[changes, HANG]]), Recorder("bad", calls, {"default/a": 1}))
    assert [(kind, what) for _, kind, _, what in calls] == [("upsert", "1001"), ("upsert", "1002"), ("remove", "uid-a")]


async def test_a_removal_over_which_a_sink_raised_is_redelivered() -> None:
    calls: list[tuple[str, ...]] = []
    recorder = Recorder("bad", calls)

    def watch() -> Iterator[Any]:
        recorder.raises["default/a"] = 1
        yield deleted("a", 1002)
        yield HANG

    await told(Scripted([[plain_pod("a")]], [watch()]), recorder)
    assert recorder.raises["default/a"] == 0
    assert calls[-1] == ("bad", "remove", "default/a", "uid-a")


async def test_a_change_over_which_a_sink_always_raises_is_given_up_and_the_next_is_not(log) -> None:
    calls: list[tuple[str, ...]] = []
    recorder = Recorder("bad", calls, {"default/a": 1000})
    batches = [added(f"p{n}", 1002 + n) for n in range(10)]

    def watch() -> Iterator[Any]:
        yield from [added("a"), *batches]
        assert recorder.raises["default/a"] == 995
        recorder.raises.clear()
        yield changed("a", 2000)
        yield HANG

    await told(Scripted([[]], [watch()]), recorder)
    assert [entry["object"] for entry in log if entry["event"] == "sink_gave_up"] == ["default/a"]
    assert [what for _, _, key, what in calls if key == "default/a"] == ["2000"]


async def test_a_sink_that_always_raises_is_one_traceback_and_not_one_for_each_object(log) -> None:
    class Broken(Sink):
        def upsert(self, obj: Pod) -> None:
            raise RuntimeError(f"cannot take {obj.metadata.key}")

    script = Scripted([[plain_pod(f"p{n}") for n in range(50)]], [[HANG]])
    async with running(Reflector(Client(script), POD_RESOURCE, Broken()).run()):
        await asyncio.sleep(10)
    assert len([entry for entry in log if entry["event"] == "sink_failed"]) == 1


async def test_a_sink_that_raises_in_settle_does_not_block_the_others(log) -> None:
    calls: list[tuple[str, ...]] = []
    script = Scripted([[plain_pod("a")]], [[added("b"), HANG]])
    await told(script, Recorder("bad", calls, {"settle": 1}), Recorder("good", calls), settles=True)
    assert ("good", "settle") in calls
    assert ("bad", "settle") in calls, "at the next batch"
    assert "sink_failed" in [entry["event"] for entry in log]
