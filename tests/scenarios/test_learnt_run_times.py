"""Expected starts by what earlier runs took, on both API servers, also after a restart."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.times import instant_of_seconds
from koordpy.scheduler.runtimes import store
from tests.scenarios.api import STRATEGIC, Refused, pods
from tests.scenarios.questions import jobs
from tests.scenarios.world import World

pytestmark = pytest.mark.usefixtures("patient")


async def certainty(world: World) -> str:
    (job,) = await jobs(world)
    return job["expectedStart"]["certainty"]


async def what_is_written(world: World) -> str:
    try:
        found = await world.api.ask("GET", f"/api/v1/namespaces/{world.namespace}/configmaps/{store.NAME}")
    except Refused:
        return ""
    return str(found["data"])


async def one_run_was_seen(world: World) -> None:
    """`eval-2` runs on the only node, as `eval-1` did before, and `next` waits for it."""
    await world.nodes(1, cpu=1)
    await world.pods("eval-1", cpu=1)
    await world.bound("eval-1")
    running = {"phase": "Running", "startTime": instant_of_seconds(world._wall() - 600)}
    await world.api.ask("PATCH", pods(world.namespace, "eval-1", "status"), {"status": running}, STRATEGIC)
    await world.until(lambda: world.pod("eval-1")["status"].get("startTime"), "eval-1 has started")
    await world.settled()
    await world.finish("eval-1")
    await world.pods("eval-2", cpu=1)
    await world.starts_now("eval-2")
    await world.pods("next", cpu=1)
    await world.says("next", "Insufficient cpu")


async def test_a_start_that_depends_on_earlier_runs_is_estimated(world: World) -> None:
    await one_run_was_seen(world)
    assert await certainty(world) == "Estimated"


async def test_what_was_learnt_is_known_after_a_restart(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_WRITE_EVERY_S", 0.2)
    await world.restart()
    await one_run_was_seen(world)
    async with asyncio.timeout(30):
        while f"{world.namespace}/Pod/eval" not in await what_is_written(world):  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.1)
    await world.restart()
    async with asyncio.timeout(30):
        while await certainty(world) != "Estimated":  # noqa: ASYNC110 - it is read once the scheduler leads
            await asyncio.sleep(0.1)


async def test_nothing_is_reserved_by_what_was_learnt(world: World) -> None:
    await one_run_was_seen(world)
    await world.timed("declared", seconds=100)
    await world.says("declared", "No start can be reserved")
    assert not world.reserved_start(pod="declared")
