"""Gangs whose members have volumes: the wait for these is long, and a gang that loses members is not started."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from koordpy.scheduler.execute.bind import Binder
from tests.builders import Json
from tests.scheduler.volumes.asking import promises
from tests.scheduler.volumes.objects import DRIVER
from tests.scheduler.volumes.world import Instance, StorageWorld, settled

pytestmark = pytest.mark.looptime

KOORDINATOR = "gang.scheduling.koordinator.sh"


@asynccontextmanager
async def one_node() -> AsyncIterator[tuple[StorageWorld, Instance]]:
    """A node, and a claim `data` whose volume is made once the test says so."""
    async with StorageWorld() as world, world.scheduler() as instance:
        await world.add_nodes("n1")
        await world.controller.add_class("fast", provisioner=DRIVER)
        await world.controller.add_claim(storage_class="fast")
        yield world, instance


async def add_member(world: StorageWorld, name: str, *claims: str, **given: Any) -> Json:
    """Of a gang of two."""
    says = {f"{KOORDINATOR}/name": "a", f"{KOORDINATOR}/min-available": "2"}
    return await world.add_pod(*claims, name=name, annotations=says, **given)


async def test_a_gang_is_bound_when_the_volumes_of_all_its_members_are() -> None:
    async with one_node() as (world, _):
        await add_member(world, "a-1", "data")
        await add_member(world, "a-2")
        await settled()
        assert (await world.node_of("a-1"), await world.node_of("a-2")) == ("", "")
        await world.controller.provision()
        await settled()
        assert (await world.node_of("a-1"), await world.node_of("a-2")) == ("n1", "n1")


@pytest.mark.parametrize("finalizers", [[], ["example.com/stays"]], ids=["deleted", "terminating"])
async def test_a_gang_that_loses_a_member_meanwhile_is_not_started(finalizers: list[str]) -> None:
    async with one_node() as (world, instance):
        await add_member(world, "a-1", "data")
        last = await add_member(world, "a-2")
        if finalizers:
            last["metadata"]["finalizers"] = finalizers
            await world.ask("PUT", "/api/v1/namespaces/default/pods/a-2", last)
        await settled()
        await world.delete("a-2")
        await world.controller.provision()
        await settled(5)
        assert await world.node_of("a-1") == ""
        assert (await world.message("a-1")).startswith("gang default/a is incomplete: 1 of 2 members")
        assert promises(instance.cluster) == []


async def test_a_gang_that_can_spare_the_lost_member_is_started() -> None:
    async with one_node() as (world, _):
        await add_member(world, "a-1", "data")
        await add_member(world, "a-2")
        await add_member(world, "a-3")
        await settled()
        await world.delete("a-2")
        await world.controller.provision()
        await settled()
        assert (await world.node_of("a-1"), await world.node_of("a-3")) == ("n1", "n1")


async def test_a_surplus_pod_is_not_bound_if_its_gang_has_left_meanwhile() -> None:
    """It was an ordinary pod when it was placed; with the last started member gone, the gang begins anew."""
    async with one_node() as (world, _):
        await add_member(world, "a-1")
        await add_member(world, "a-2")
        await settled()
        await add_member(world, "a-3", "data")
        await settled()
        await world.delete("a-1")
        await world.delete("a-2")
        await world.controller.provision()
        await settled(5)
        assert await world.node_of("a-3") == ""
        assert (await world.message("a-3")).startswith("gang default/a is incomplete: 1 of 2 members")
        await add_member(world, "a-4")
        await settled()
        assert (await world.node_of("a-3"), await world.node_of("a-4")) == ("n1", "n1")


async def test_a_surplus_pod_is_not_bound_before_the_gang_whose_volumes_are_waited_for() -> None:
    """Should these not come, it would run alone."""
    async with one_node() as (world, _):
        await add_member(world, "a-1", "data")
        await add_member(world, "a-2")
        await settled()
        await add_member(world, "a-3")
        await settled()
        assert await world.node_of("a-3") == ""
        await world.controller.provision()
        await settled()
        assert [await world.node_of(name) for name in ("a-1", "a-2", "a-3")] == ["n1", "n1", "n1"]


async def test_a_surplus_pod_goes_back_with_the_gang_whose_volumes_do_not_come() -> None:
    async with one_node() as (world, _):
        await add_member(world, "a-1", "data")
        await add_member(world, "a-2", "data")
        await settled()
        await add_member(world, "a-3")
        await settled()
        await world.ask("DELETE", "/api/v1/namespaces/default/persistentvolumeclaims/data")
        await settled(5)
        assert [await world.node_of(name) for name in ("a-1", "a-2", "a-3")] == ["", "", ""]


async def test_an_error_of_ours_when_the_volumes_are_there_gives_the_gang_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        monkeypatch.undo()
        raise RuntimeError("a mistake of ours")

    async with one_node() as (world, _):
        await add_member(world, "a-1", "data")
        await add_member(world, "a-2")
        await settled()
        monkeypatch.setattr(Binder, "_broken_gangs", broken)
        await world.controller.provision()
        await settled()
        assert (await world.node_of("a-1"), await world.node_of("a-2")) == ("", "")
        await settled(5)
        assert (await world.node_of("a-1"), await world.node_of("a-2")) == ("n1", "n1")
