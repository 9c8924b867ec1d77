"""What the controllers say of definitions that are not installed: once, with what installs them, and when they are."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from koordpy.app.crds import definitions
from tests.controllers.world import DEFINITIONS, World

pytestmark = pytest.mark.looptime

KEPT = ["podgroup", "queue", "queuejob", "topology"]
KINDS = ["kai_podgroups", "podgroups", "queuejobs", "queues", "topologies"]


def events(entries: list[dict], part: str) -> list[str]:
    return sorted(entry["event"] for entry in entries if part in entry["event"])


async def test_each_kind_that_is_not_installed_is_told_once_with_the_command_that_installs_it():
    with structlog.testing.capture_logs() as entries:
        async with World() as world, world.controllers():
            await asyncio.sleep(60)
    told = [entry for entry in entries if entry["event"].endswith("_not_installed")]
    assert sorted(entry["event"] for entry in told) == [f"{kind}_not_installed" for kind in KINDS]
    assert all(entry["hint"].startswith("koordpy crds | kubectl apply -f -; until then ") for entry in told)


async def test_only_what_pods_wait_for_is_a_warning():
    with structlog.testing.capture_logs() as entries:
        async with World() as world, world.controllers():
            await asyncio.sleep(60)
    assert [entry["event"] for entry in entries if entry["log_level"] == "warning"] == ["podgroups_not_installed"]


async def test_nothing_is_said_to_be_kept_that_cannot_exist():
    with structlog.testing.capture_logs() as entries:
        async with World() as world, world.controllers():
            await asyncio.sleep(60)
    assert events(entries, "keeping_") == []


async def test_what_is_installed_is_said_to_be_kept_though_there_are_no_objects():
    with structlog.testing.capture_logs() as entries:
        async with World(*definitions()) as world, world.controllers():
            await asyncio.sleep(60)
    kept = {entry["event"]: entry["objects"] for entry in entries if entry["event"].endswith("_status")}
    assert kept == {f"keeping_{name}_status": 0 for name in KEPT}
    assert events(entries, "installed") == []


async def test_what_is_installed_later_is_told():
    with structlog.testing.capture_logs() as entries:
        async with World() as world, world.controllers():
            await asyncio.sleep(30)
            for each in definitions():
                await world.cluster.create(DEFINITIONS, each)
            await asyncio.sleep(30)
    assert events(entries, "_installed") == sorted(
        f"{kind}_{end}" for kind in KINDS for end in ("installed", "not_installed")
    )
