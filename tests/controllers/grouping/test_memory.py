"""Workloads that come and go leave nothing behind in a grouper that leads for months."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.controllers.grouping import problems
from koordpy.kube import events
from tests.controllers.containers import growth, sizes
from tests.controllers.grouping.world import World

WORKLOADS = 200
_BOUND = 10


@pytest.fixture(autouse=True)
def short_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are bounded on purpose."""
    monkeypatch.setattr(problems, "_MOST_REMEMBERED", _BOUND)
    monkeypatch.setattr(events, "_MOST_REMEMBERED", _BOUND)


async def test_of_workloads_that_came_and_went_nothing_is_remembered(embedded: World):
    async with embedded.grouper() as controllers:
        stays = await embedded.owner("Deployment", "stays")
        await embedded.pod("first", stays)
        await embedded.group_of("first")
        await embedded.delete("Pod", "first")
        before = sizes(controllers)
        for number in range(WORKLOADS):
            owner = await embedded.owner("Job", f"batch{number}")
            await embedded.pod(f"batch{number}-0", owner)
            await embedded.pod(f"stays-{number}", stays)
        for number in range(WORKLOADS):
            await embedded.group_of(f"batch{number}-0")
            await embedded.group_of(f"stays-{number}")
        grown = growth(before, sizes(controllers), WORKLOADS // 2)
        assert any("_workload_of_group" in path for path in grown), "what is remembered is seen"
        for number in range(WORKLOADS):
            for kind, name in (("Pod", f"batch{number}-0"), ("Job", f"batch{number}"), ("Pod", f"stays-{number}")):
                await embedded.delete(kind, name)
        await asyncio.sleep(2)
        for each in await embedded.pod_groups():  # as the garbage collector does
            await embedded.api.ask("DELETE", embedded.path("PodGroup", each["metadata"]["name"]))
        await asyncio.sleep(1)
        assert growth(before, sizes(controllers), _BOUND) == {}
