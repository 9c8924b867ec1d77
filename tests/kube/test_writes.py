"""Binds and conditions: whatever is lost on the way, the outcome that is reported is the one that is true."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.kube.client import NotLeading
from koordpy.kube.errors import Conflict
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.lane import Lane
from koordpy.kube.writes import BindOutcome, PodRef, Unscheduled, bind, say_unscheduled
from koordpy.sim.embedded.faults import Fault, Rule
from tests.builders import Json, pod_json
from tests.kube.world import PODS, World

pytestmark = pytest.mark.looptime

BINDING = f"{PODS}/a/binding"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
NOW = 1.8e9


def ref(pod: Json) -> PodRef:
    return PodRef("default", pod["metadata"]["name"], pod["metadata"]["uid"])


async def node_of(world: World, name: str = "a") -> str:
    return (await world.get(name))["spec"].get("nodeName", "")


async def test_a_bind_puts_the_pod_on_the_node() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        assert await bind(world.client, pod, "n1") is BindOutcome.BOUND
        assert await node_of(world) == "n1"
        assert len(world.requests) == 1


@pytest.mark.parametrize("status", [0, 500, 504])
async def test_a_bind_whose_answer_was_lost_is_known_to_be_bound(status: int) -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        world.faults.add(Rule(Fault.ANSWER_LOST, path=BINDING, status=status))
        assert await bind(world.client, pod, "n1") is BindOutcome.BOUND
        assert await node_of(world) == "n1"


async def test_a_bind_whose_answers_are_all_lost_is_known_to_be_bound() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        world.faults.add(Rule(Fault.ANSWER_LOST, path=BINDING, status=0, count=None))
        assert await bind(world.client, pod, "n1") is BindOutcome.BOUND


async def test_a_pod_that_another_client_bound_elsewhere_is_taken() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        assert await bind(world.client, pod, "other") is BindOutcome.BOUND
        assert await bind(world.client, pod, "n1") is BindOutcome.TAKEN
        assert await node_of(world) == "other"


async def test_a_pod_that_was_deleted_is_gone() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        await world.delete("a")
        assert await bind(world.client, pod, "n1") is BindOutcome.GONE


async def test_a_pod_recreated_under_the_same_name_is_not_bound_in_place_of_the_old_one() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        await world.delete("a")
        await world.create("a")
        assert await bind(world.client, pod, "n1") is BindOutcome.GONE
        assert await node_of(world) == ""


async def test_a_terminating_pod_is_refused() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        await world.ask("PATCH", f"{PODS}/a", {"metadata": {"finalizers": ["example.com/wait"]}})
        await world.delete("a")
        assert await bind(world.client, pod, "n1") is BindOutcome.REFUSED
        assert await node_of(world) == ""


async def test_a_gated_pod_is_refused() -> None:
    async with World() as world:
        obj = await world.cluster.create(PODS, _gated())
        assert await bind(world.client, ref(obj), "n1") is BindOutcome.REFUSED


async def test_a_bind_without_an_answer_is_not_decided_before_the_server_can_be_asked() -> None:
    """The bind took effect and the server went away: until somebody can say so, the room must stay taken."""
    async with World() as world:
        pod = ref(await world.create("a"))
        world.faults.add(Rule(Fault.ANSWER_LOST, path=BINDING, status=0))
        outage = world.faults.add(Rule(Fault.DROP, count=None))
        binding = asyncio.create_task(bind(world.client, pod, "n1"))
        await asyncio.sleep(1000)
        assert not binding.done()
        outage.count = 0
        assert await binding is BindOutcome.BOUND


async def test_a_bind_that_never_arrived_is_refused_when_the_server_is_back() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        outage = world.faults.add(Rule(Fault.DROP, count=None))
        binding = asyncio.create_task(bind(world.client, pod, "n1"))
        await asyncio.sleep(1000)
        outage.count = 0
        assert await binding is BindOutcome.REFUSED


async def test_a_bind_survives_a_short_outage_by_itself() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        world.faults.add(Rule(Fault.STATUS, path=BINDING, status=503, count=3))
        assert await bind(world.client, pod, "n1") is BindOutcome.BOUND


async def test_a_pod_deleted_while_the_answer_was_on_its_way_is_gone() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        world.faults.add(Rule(Fault.DROP, path=BINDING, count=5))
        binding = asyncio.create_task(bind(world.client, pod, "n1"))
        await asyncio.sleep(0.01)
        await world.delete("a")
        assert await binding is BindOutcome.GONE


async def test_a_process_that_does_not_lead_binds_nothing() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        with pytest.raises(NotLeading):
            await bind(world.client.guarded_by(lambda: False), pod, "n1")
        assert await node_of(world) == ""


async def test_an_unschedulable_pod_has_a_condition_with_the_reason() -> None:
    async with World() as world:
        obj = await world.create("a")
        await _say(world, obj)
        condition = _scheduled(await world.get("a"))
        assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", "no room")


async def test_a_stale_version_never_overwrites_the_condition_of_a_bound_pod() -> None:
    async with World() as world:
        obj = await world.create("a")
        await bind(world.client, ref(obj), "n1")
        with pytest.raises(Conflict):
            await _say(world, obj)
        assert _scheduled(await world.get("a"))["status"] == "True"


async def test_a_condition_is_not_written_to_a_pod_recreated_under_the_same_name() -> None:
    async with World() as world:
        old = await world.create("a")
        await world.delete("a")
        await world.create("a")
        with pytest.raises(Conflict):
            await _say(world, old)


async def test_an_event_whose_answer_was_lost_is_recorded_once() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        world.faults.add(Rule(Fault.ANSWER_LOST, path=EVENTS, status=0))
        await EventRecorder(world.client, "me").record(_note(pod, "hello"), now=NOW)
        (event,) = (await world.ask("GET", EVENTS))["items"]
        assert (event["note"], event["regarding"]["uid"], event["reportingInstance"]) == ("hello", pod.uid, "me")


async def test_a_note_that_is_too_long_is_cut_and_not_refused() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        await EventRecorder(world.client, "me").record(_note(pod, "x" * 5000), now=NOW)
        (event,) = (await world.ask("GET", EVENTS))["items"]
        assert len(event["note"]) == 1024
        assert event["note"].endswith(" ...")


async def test_an_equal_event_soon_after_is_a_series_and_later_a_new_event() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        recorder = EventRecorder(world.client, "me")
        for at in (0, 60, 120):
            await recorder.record(_note(pod, "no room"), now=NOW + at)
        (event,) = (await world.ask("GET", EVENTS))["items"]
        assert event["series"]["count"] == 3
        await recorder.record(_note(pod, "no room"), now=NOW + 3600)
        assert len((await world.ask("GET", EVENTS))["items"]) == 2


async def test_a_series_whose_event_was_deleted_starts_again() -> None:
    async with World() as world:
        pod = ref(await world.create("a"))
        recorder = EventRecorder(world.client, "me")
        await recorder.record(_note(pod, "no room"), now=NOW)
        (event,) = (await world.ask("GET", EVENTS))["items"]
        await world.ask("DELETE", f"{EVENTS}/{event['metadata']['name']}")
        await recorder.record(_note(pod, "no room"), now=NOW + 1)
        assert len((await world.ask("GET", EVENTS))["items"]) == 1


async def test_a_lane_begins_calls_in_order_and_no_more_than_it_is_wide() -> None:
    lane, begun, at_once = Lane(2), [], []

    async def call(number: int) -> None:
        begun.append(number)
        at_once.append(1)
        await asyncio.sleep(1)
        at_once.pop()

    for number in range(6):
        lane.put(lambda number=number: call(number))
    task = asyncio.create_task(lane.run())
    await asyncio.sleep(0.5)
    assert (len(lane), len(at_once)) == (4, 2)
    await asyncio.sleep(5)
    assert begun == list(range(6))
    task.cancel()


async def test_a_cleared_lane_begins_nothing_more() -> None:
    lane = Lane(1)

    async def call() -> None:
        raise AssertionError("cleared, and begun all the same")

    lane.put(call)
    lane.clear()
    task = asyncio.create_task(lane.run())
    await asyncio.sleep(1)
    assert not task.done()
    task.cancel()


async def test_a_lane_behind_another_waits_until_that_is_empty() -> None:
    first, done = Lane(1), []
    second = Lane(4, behind=(first,), patience_s=60)
    tasks = [asyncio.create_task(lane.run()) for lane in (first, second)]
    for number in range(3):
        second.put(lambda number=number: _note_done(done, f"told {number}"))
        first.put(lambda number=number: _note_done(done, f"bound {number}", after_s=1))
    await first.drained()
    assert done == ["bound 0", "bound 1", "bound 2"]
    await second.drained()
    assert sorted(done[3:]) == ["told 0", "told 1", "told 2"]
    for task in tasks:
        task.cancel()


async def test_a_lane_behind_another_waits_no_longer_than_its_patience() -> None:
    first, done = Lane(1), []
    second = Lane(4, behind=(first,), patience_s=10)
    tasks = [asyncio.create_task(lane.run()) for lane in (first, second)]
    first.put(lambda: _note_done(done, "bound", after_s=1000))
    second.put(lambda: _note_done(done, "told"))
    await asyncio.sleep(9)
    assert done == []
    await asyncio.sleep(2)
    assert done == ["told"]
    for task in tasks:
        task.cancel()


async def test_a_lane_behind_two_others_waits_for_both() -> None:
    lanes, done = [Lane(1), Lane(1)], []
    last = Lane(4, behind=tuple(lanes), patience_s=60)
    tasks = [asyncio.create_task(lane.run()) for lane in (*lanes, last)]
    last.put(lambda: _note_done(done, "told"))
    lanes[0].put(lambda: _note_done(done, "evicted", after_s=1))
    lanes[1].put(lambda: _note_done(done, "bound", after_s=2))
    await last.drained()
    assert done == ["evicted", "bound", "told"]
    for task in tasks:
        task.cancel()


async def test_a_lane_is_not_idle_while_its_last_call_is_under_way() -> None:
    """Its queue is empty by then; whoever goes behind it must wait all the same."""
    first, done = Lane(2), []
    second = Lane(1, behind=(first,), patience_s=60)
    tasks = [asyncio.create_task(lane.run()) for lane in (first, second)]
    first.put(lambda: _note_done(done, "bound", after_s=1))
    await asyncio.sleep(0.5)
    second.put(lambda: _note_done(done, "told"))
    await second.drained()
    assert done == ["bound", "told"]
    for task in tasks:
        task.cancel()


async def _note_done(done: list[str], what: str, after_s: float = 0.0) -> None:
    await asyncio.sleep(after_s)
    done.append(what)


async def _say(world: World, obj: Json) -> None:
    condition = Unscheduled("Unschedulable", "no room", obj["metadata"]["resourceVersion"], generation=1, at=0.0)
    await say_unscheduled(world.client, ref(obj), condition)


def _note(pod: PodRef, text: str) -> Note:
    return Note(pod.as_object, "Warning", "FailedScheduling", "Scheduling", text, "koord-scheduler")


def _scheduled(pod: Json) -> Json:
    return next(c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled")


def _gated() -> Json:
    pod = pod_json("a")
    pod["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    return pod
