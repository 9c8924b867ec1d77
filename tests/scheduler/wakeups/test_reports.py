"""A parked pod may sleep for hours, and autoscalers act on its condition: it arrives, whatever happened meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from koordpy.plan.framework.answers import Refusal
from koordpy.state.events import EventKind
from tests.scheduler.wakeups.rig import Rig, client_of, uid

pytestmark = pytest.mark.looptime

OUTAGE_S = 30
# The pause before a condition is said again is at most a minute, and the write itself may take a few attempts.
SOON_S = 90


class Outage:
    """An API server that takes writes or fails them with `status`."""

    def __init__(self, status: int) -> None:
        self.status, self.down = status, True
        self.conditions: Counter[str] = Counter()  # by path: how often the condition was accepted

    def answer(self, method: str, path: str) -> tuple[int, bytes]:
        if method != "GET" and self.down:
            return self.status, b"{}"
        if path.endswith("/status"):
            self.conditions[path] += 1
        return 200, b"{}"


@asynccontextmanager
async def running(api: Outage) -> AsyncIterator[Rig]:
    """A scheduler at work, with one node."""
    rig = Rig(client=client_of(api.answer), clock=asyncio.get_running_loop().time)
    rig.node("n1", cpu=1)
    task = asyncio.create_task(rig.scheduler.run())
    try:
        yield rig
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.parametrize("status", [503, 500, 403, 404, 409])
async def test_conditions_arrive_after_an_outage(status: int):
    api = Outage(status)
    async with running(api) as rig:
        for i in range(3):
            rig.pod(f"p{i}", cpu=2)
        await asyncio.sleep(OUTAGE_S)
        assert not api.conditions
        api.down = False
        await asyncio.sleep(SOON_S)
        assert len(api.conditions) == 3


async def test_a_condition_that_arrived_is_not_said_again():
    api = Outage(503)
    async with running(api) as rig:
        rig.pod("p", cpu=2)
        await asyncio.sleep(OUTAGE_S)
        api.down = False
        await asyncio.sleep(3600)
        assert list(api.conditions.values()) == [1]


async def test_a_condition_held_up_by_an_outage_is_not_said_of_a_pod_that_was_placed_meanwhile():
    api = Outage(503)
    async with running(api) as rig:
        rig.pod("p", cpu=2)
        await asyncio.sleep(OUTAGE_S)
        rig.pod("p", cpu=2, on="n1")
        api.down = False
        await asyncio.sleep(SOON_S)
        assert not api.conditions


@pytest.mark.parametrize(("members", "told"), [(20, 2), (21, 1)])
async def test_members_of_large_gangs_are_told_of_new_figures_only_after_a_while(members: int, told: int):
    api = Outage(503)
    api.down = False
    async with running(api) as rig:
        rig.pod("p", cpu=2, scheduler="other")  # so that nobody but the test speaks of it
        pod = rig.cluster.pods[uid("p")]
        for figure in (500, 499):
            rig.reporter.refused(pod, Refusal(f"{figure} Insufficient cpu", EventKind.NONE, pod.uid), of=members)
            await asyncio.sleep(1)
        assert list(api.conditions.values()) == [told]
        await asyncio.sleep(12)
        assert list(api.conditions.values()) == [2]


async def test_nobody_is_told_anything_while_others_are_being_evicted():
    api = Outage(503)
    api.down = False
    async with running(api) as rig:
        rig.lanes.evictions.put(lambda: asyncio.sleep(1))
        rig.pod("p", cpu=2)
        await asyncio.sleep(0.9)
        assert not api.conditions
        await asyncio.sleep(0.2)
        assert len(api.conditions) == 1


@pytest.mark.parametrize(("placed", "written"), [(False, 2), (True, 0)])
async def test_a_refusal_is_told_only_while_it_is_true(placed: bool, written: int):
    """Its condition and its event wait behind binds. A pod that waited for some milliseconds needs neither."""
    writes: list[str] = []

    def answer(method: str, path: str) -> tuple[int, bytes]:
        writes.append(f"{method} {path}")
        return 200, b"{}"

    rig = Rig(client=client_of(answer))
    rig.node("n1", cpu=1)
    rig.pod("p", cpu=2)
    rig.attempt()
    if placed:
        rig.node("n2", cpu=2)
        rig.cluster.assume(uid("p"), "n2")
    while len(rig.lanes.reports):
        await rig.lanes.reports._calls.get_nowait()()
    assert len(writes) == written
