"""Any call of ours raises once: the statuses and events are the same in the end, without any further change."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from koordpy.api.podgroup.coscheduling import SIGS_GROUP
from koordpy.api.topology import GROUP
from koordpy.controllers.podgroup import reconciler as podgroup_reconciler
from koordpy.controllers.podgroup.api import PodGroupApi
from koordpy.controllers.podgroup.gangs import GangIndex
from koordpy.controllers.podgroup.reconciler import PodGroupReconciler
from koordpy.controllers.queues import reconciler as queue_reconciler
from koordpy.controllers.queues.index import QueueIndex
from koordpy.controllers.queues.reconciler import QueueReconciler
from koordpy.controllers.runtime.statuswriter import StatusWriter
from koordpy.controllers.topology import reconciler as topology_reconciler
from koordpy.controllers.topology.problems import ProblemReporter
from koordpy.controllers.topology.reconciler import TopologyReconciler
from koordpy.controllers.topology.tree import TopologyTree
from koordpy.kube.client import Client
from koordpy.kube.events import EventRecorder
from tests.controllers.queues import actions as queues
from tests.controllers.topologies import BROKEN, DEFAULT, GOOD, NODES, TOPOLOGIES, node, ready, topology, tree_lines
from tests.controllers.world import World, definition

pytestmark = pytest.mark.looptime

LONGEST_RETRY_S = 90.0  # after a single failure it is half a second, but a call may raise inside a retry

WRITING = [(StatusWriter, "differs"), (StatusWriter, "write"), (StatusWriter, "_learn"), (Client, "write")]
OF_PODGROUPS = [
    (podgroup_reconciler, "status_of"),
    (PodGroupReconciler, "reconcile"),
    (PodGroupApi, "write"),
    (GangIndex, "get"),
    (GangIndex, "record_write"),
    *WRITING,
]
OF_TOPOLOGIES = [
    (topology_reconciler, "status_of"),
    (topology_reconciler, "ready_condition"),
    (TopologyReconciler, "reconcile"),
    (TopologyTree, "domains"),
    (TopologyTree, "record_write"),
    (ProblemReporter, "notice"),
    (ProblemReporter, "send"),
    (EventRecorder, "record"),
    *WRITING,
]

OF_QUEUES = [
    (queue_reconciler, "status_of"),
    (queue_reconciler, "ready_condition"),
    (QueueReconciler, "reconcile"),
    (QueueIndex, "queue"),
    (QueueIndex, "total"),
    (QueueIndex, "record_write"),
    (EventRecorder, "record"),
    *WRITING,
]


class RaiseOnce:
    """In place of a call: raises at the `nth`, before or after its effect."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, nth: int, when: str) -> None:
        self._call, self._nth, self._when = getattr(owner, name), nth, when
        self._calls = 0
        monkeypatch.setattr(
            owner, name, self._asynchronous() if inspect.iscoroutinefunction(self._call) else self._plain()
        )

    @property
    def has_raised(self) -> bool:
        return self._calls >= self._nth

    def _plain(self) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self._calls += 1
            raises = self._calls == self._nth
            self._raise(raises and self._when == "before")
            answer = self._call(*given, **named)
            self._raise(raises)
            return answer

        return call

    def _asynchronous(self) -> Any:
        async def call(*given: Any, **named: Any) -> Any:
            self._calls += 1
            raises = self._calls == self._nth
            self._raise(raises and self._when == "before")
            answer = await self._call(*given, **named)
            self._raise(raises)
            return answer

        return call

    def _raise(self, wanted: bool) -> None:
        if wanted:
            raise RuntimeError("as ordered")


def named(calls: list[tuple[Any, str]]) -> Any:
    return pytest.mark.parametrize(("owner", "name"), calls, ids=[f"{o.__name__.split('.')[-1]}.{n}" for o, n in calls])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
@named(OF_PODGROUPS)
async def test_the_status_of_a_podgroup_is_right_in_the_end(monkeypatch, owner, name, nth, when):
    async with World(definition(SIGS_GROUP)) as world, world.controllers() as controllers:
        injected = RaiseOnce(monkeypatch, owner, name, nth, when)
        await world.pod_group(minimum=1)
        await asyncio.sleep(1)
        await world.pod("a")
        await world.bind("a")
        await asyncio.sleep(LONGEST_RETRY_S)
        assert injected.has_raised
        assert await world.phase_of() == "Scheduled"
        assert controllers.health.report(verbose=False) == (True, "ok")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
@named(OF_TOPOLOGIES)
async def test_the_status_of_the_topology_and_its_event_are_right_in_the_end(monkeypatch, owner, name, nth, when):
    async with World(definition(GROUP)) as world, world.controllers() as controllers:
        await world.cluster.create(NODES, node("n1", "s1", "b1"))
        await world.cluster.create(TOPOLOGIES, topology(GOOD))
        await asyncio.sleep(1)
        injected = RaiseOnce(monkeypatch, owner, name, nth, when)
        await world.cluster.create(NODES, node("n2", "s1", "b1"))
        await asyncio.sleep(1)
        await world.ask("PATCH", DEFAULT, {"spec": {"networkTopologySpec": BROKEN["cycle"][0]}})
        await asyncio.sleep(LONGEST_RETRY_S)
        status = (await world.ask("GET", DEFAULT))["status"]
        assert injected.has_raised or name == "record"  # there is one event only
        assert tree_lines(status)[0] == "cluster 2 spine: s1"
        assert ready(status)["status"] == "False"
        events = (await world.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
        assert {event["note"] for event in events} == {ready(status)["message"]}
        assert len(events) <= 2  # two if the answer to the first was lost
        assert controllers.health.report(verbose=False) == (True, "ok")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
@named(OF_QUEUES)
async def test_the_status_of_a_queue_and_its_event_are_right_in_the_end(monkeypatch, owner, name, nth, when):
    async with World(queues.definition()) as world, world.controllers() as controllers:
        injected = RaiseOnce(monkeypatch, owner, name, nth, when)
        await queues.add(world, queues.queue_json("q"), queues.queue_json("lost", "gone"))
        await asyncio.sleep(1)
        await world.cluster.create(queues.PODS, queues.pod_in("q", "p"))
        await asyncio.sleep(LONGEST_RETRY_S)
        assert injected.has_raised or name == "record"  # there is one event only
        found = await queues.status_of(world, "q", 0)
        assert (queues.ready(found), found["requested"][queues.GPU]) == (("True", "Ready"), "1")
        assert queues.ready(await queues.status_of(world, "lost", 0)) == ("False", "ParentMissing")
        assert {told[:3] for told in await queues.events(world)} == {("Warning", "ParentMissing", "lost")}
        assert controllers.health.report(verbose=False) == (True, "ok")
