"""Ends, crashes and outages: what a scheduler was in the middle of is finished once, by whoever comes back."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.app.cluster import Binds, add_nodes, add_pods, bound, election, lease, overcommitted
from tests.app.scheduler import SchedulerProcess
from tests.controlplane.fixtures import Real

pytestmark = pytest.mark.real


async def test_a_scheduler_killed_halfway_is_continued_and_nothing_is_bound_twice(real: Real, tmp_path) -> None:
    kubeconfig = real.kubeconfig(tmp_path)
    await add_nodes(real.client, 60)
    async with Binds(real.client) as binds:
        await add_pods(real.client, 600, "400m")  # exactly as many as there is room for
        async with SchedulerProcess(tmp_path, "--kubeconfig", kubeconfig) as first:
            await first.until(lambda: binds.count() > 150, every=0.01)
            first.signal(signal.SIGKILL)
            await first.ended()
        assert len(await bound(real.client)) < 600, "it was not killed halfway"
        async with SchedulerProcess(tmp_path, "--kubeconfig", kubeconfig) as second:
            await second.until(lambda: binds.count() == 600)
        assert binds.more_than_once() == []
    assert overcommitted(await bound(real.client)) == {}


async def test_sigterm_ends_it_with_0_and_gives_the_lease_back(real: Real, tmp_path) -> None:
    arguments = ("--kubeconfig", real.kubeconfig(tmp_path), "--config", election(tmp_path, real))
    async with SchedulerProcess(tmp_path, *arguments, elect=True) as scheduler:
        await scheduler.until(lambda: bool(scheduler.lines("scheduling")))
        assert (await lease(real))["holderIdentity"]
        scheduler.signal(signal.SIGTERM)
        assert await scheduler.ended() == 0
        assert not (await lease(real)).get("holderIdentity")
        assert "Traceback" not in scheduler.text()


async def test_an_api_server_that_goes_and_comes_back_is_waited_for(real: Real, tmp_path) -> None:
    arguments = ("--kubeconfig", real.kubeconfig(tmp_path), "--config", election(tmp_path, real))
    await add_nodes(real.client, 3)
    async with SchedulerProcess(tmp_path, *arguments, elect=True) as scheduler:
        await add_pods(real.client, 5, "100m", name="before")
        await scheduler.until(lambda: _bound(real, 5))
        await scheduler.ready()
        await real.control_plane.stop_apiserver()
        await scheduler.until(lambda: _ready(scheduler, 503, "[-]watch-pods failed: Unavailable"))
        await asyncio.sleep(3)  # longer than its lease
        await real.control_plane.start_apiserver()
        await add_pods(real.client, 5, "100m", name="after")
        await scheduler.until(lambda: _bound(real, 10))
        await scheduler.until(lambda: _ready(scheduler, 200, "ok"))
        assert "Traceback" not in scheduler.text()
        assert len([line for line in scheduler.lines("watch_failed") if line["resource"] == "pods"]) <= 2


async def _bound(real: Real, count: int) -> bool:
    return len(await bound(real.client)) == count


async def _ready(scheduler: SchedulerProcess, status: int, text: str) -> bool:
    found = await scheduler.get("/readyz")
    return found[0] == status and text in found[1]
