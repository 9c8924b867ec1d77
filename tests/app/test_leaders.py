"""Two schedulers, one lease: whatever happens to them, one writes at a time."""

from __future__ import annotations

import asyncio
import datetime as dt
import signal
import time

import pytest

from tests.app.cluster import Binds, add_nodes, add_pods, bound, election, events, lease, overcommitted
from tests.app.scheduler import SchedulerProcess
from tests.controlplane.fixtures import Real

pytestmark = pytest.mark.real


async def _writers(real: Real) -> dict[str, int]:
    """Who recorded how many events; each bind is followed by one of the same process."""
    found: dict[str, int] = {}
    for event in await events(real):
        found[event["reportingInstance"]] = found.get(event["reportingInstance"], 0) + 1
    return found


async def _holder(real: Real) -> str:
    return (await lease(real)).get("holderIdentity", "")


async def test_a_stopped_leader_is_succeeded_and_writes_nothing_more_when_it_goes_on(real: Real, tmp_path) -> None:
    arguments = ("--kubeconfig", real.kubeconfig(tmp_path), "--config", election(tmp_path, real))
    await add_nodes(real.client, 40)
    async with (
        Binds(real.client) as binds,
        SchedulerProcess(tmp_path, *arguments, elect=True, name="one") as one,
        SchedulerProcess(tmp_path, *arguments, elect=True, name="two") as two,
    ):
        leader, standby = await _who_leads(one, two)
        first = await _holder(real)
        await add_pods(real.client, 200, "400m", name="first")
        await leader.until(lambda: binds.count() > 50, every=0.01)
        leader.signal(signal.SIGSTOP)
        await add_pods(real.client, 200, "400m", name="second")  # exactly as many as there is room for
        await standby.until(lambda: binds.count() == 400)
        assert await _holder(real) != first
        leader.signal(signal.SIGCONT)
        continued = time.time()
        await leader.until(lambda: bool(leader.lines("leadership_lost")))
        await asyncio.sleep(1)
        assert await _begun_after(real, first, continued) == []
        assert binds.more_than_once() == []
        assert overcommitted(await bound(real.client)) == {}


async def _begun_after(real: Real, writer: str, when: float) -> list[str]:
    """The events of a process that it began to write after `when`.

    What was being handed to the kernel when it was stopped may still leave it afterwards, as the docstring of
    `koordpy.kube.leader` says; that nothing else does is a test of the transport.
    """
    by_writer = (event for event in await events(real) if event["reportingInstance"] == writer)
    return [event["note"] for event in by_writer if dt.datetime.fromisoformat(event["eventTime"]).timestamp() > when]


async def test_the_standby_writes_nothing_and_leads_as_soon_as_the_lease_is_released(real: Real, tmp_path) -> None:
    arguments = ("--kubeconfig", real.kubeconfig(tmp_path), "--config", election(tmp_path, real))
    await add_nodes(real.client, 2)
    async with (
        SchedulerProcess(tmp_path, *arguments, elect=True, name="one") as one,
        SchedulerProcess(tmp_path, *arguments, elect=True, name="two") as two,
    ):
        leader, standby = await _who_leads(one, two)
        first = await _holder(real)
        await standby.ready()
        await add_pods(real.client, 10, "100m", name="first")
        await leader.until(lambda: _written_by(real, {first: 10}))
        assert (await leader.metric("koordpy_leader"), await standby.metric("koordpy_leader")) == (1, 0)
        leader.signal(signal.SIGTERM)
        assert await leader.ended() == 0
        await add_pods(real.client, 10, "100m", name="second")
        await standby.until(lambda: _written_by(real, {first: 10, standby_identity(standby): 10}), 10)


def standby_identity(scheduler: SchedulerProcess) -> str:
    leading = scheduler.lines("leading")
    return leading[0]["identity"] if leading else ""


async def _written_by(real: Real, wanted: dict[str, int]) -> bool:
    return await _writers(real) == wanted


async def _who_leads(one: SchedulerProcess, two: SchedulerProcess) -> tuple[SchedulerProcess, SchedulerProcess]:
    """The leader and the other one, when both are up."""
    await one.until(lambda: bool(one.lines("scheduling") or two.lines("scheduling")))
    for scheduler in (one, two):
        await scheduler.until(lambda scheduler=scheduler: _answers(scheduler))
    assert bool(one.lines("leading")) != bool(two.lines("leading")), "both or none"
    return (one, two) if one.lines("leading") else (two, one)


async def _answers(scheduler: SchedulerProcess) -> bool:
    return (await scheduler.get("/livez"))[0] == 200
