"""QueueJobs that come and go leave nothing behind in a process that leads for months."""

from __future__ import annotations

import asyncio
from typing import Any

import looptime
import pytest

from koordpy.controllers.queuejob import gone
from koordpy.kube import events
from tests.controllers.containers import growth, sizes
from tests.controllers.queuejob.world import World, embedded_world, job, task

JOBS = 1000
_BOUND = 10


@pytest.fixture
async def virtual(monkeypatch: pytest.MonkeyPatch):
    """In virtual time, and memories that are bounded on purpose are short."""
    monkeypatch.setattr(gone, "MOST", _BOUND)
    monkeypatch.setattr(events, "_MOST_REMEMBERED", _BOUND)
    with looptime.enabled(strict=True):
        yield


def _some_job(number: int) -> dict[str, Any]:
    """One of each kind in turn, so that whatever is remembered of a job is remembered of some."""
    name, worker = f"j{number}", task("w")
    if number % 5 == 1:
        return job(name, task("w", 2), network="Hostnames", minimum=1)
    if number % 5 == 2:
        worker["template"]["spec"]["containers"][0]["name"] = "Not A Name"
        return job(name, worker)
    if number % 5 == 3:
        return job(name, worker, ttlSecondsAfterFinished=30)
    if number % 5 == 4:
        return job(name, worker, schedSpec={"minAvailable": 0})
    return job(name, worker)


async def test_of_a_thousand_jobs_that_came_and_went_nothing_is_remembered(virtual):
    async with embedded_world() as world, world.controllers() as controllers:
        await world.create(job())
        await world.until_status(pending=2)
        await world.delete()
        await asyncio.sleep(60)
        before = sizes(controllers)
        await world.quota(most=JOBS // 2)
        await _take_the_names_of(world, range(0, 250, 5))
        for number in range(JOBS):
            await world.create(_some_job(number))
        await asyncio.sleep(120)
        await world.phase("Running")
        for name in list(await world.pods())[: JOBS // 4]:
            await world.phase("Succeeded", name)
        await asyncio.sleep(60)
        grown = growth(before, sizes(controllers), JOBS // 10)
        assert any("_index._jobs" in path for path in grown), "what is remembered is seen"
        await _remove_everything(world)
        assert growth(before, sizes(controllers), _BOUND) == {}


async def _take_the_names_of(world: World, numbers: range) -> None:
    for number in numbers:
        body = {
            "apiVersion": "arbitrator.incubator.k8s.io/v1alpha1",
            "kind": "SchedulingSpec",
            "metadata": {"name": f"j{number}"},
            "spec": {"minAvailable": 1},
        }
        await world.api.ask("POST", world.specs(), body)


async def _remove_everything(world: World) -> None:
    for path in (world._jobs(), world.specs()):
        for each in (await world.api.ask("GET", path))["items"]:
            await world.api.ask("DELETE", f"{path}/{each['metadata']['name']}", {"propagationPolicy": "Background"})
    await world.until_pods()
    await asyncio.sleep(600)
