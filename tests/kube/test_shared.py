"""One reflector for each resource of a process, however many consumers there are."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
import structlog

from koordpy.api.decode import Decoder
from koordpy.api.meta import ObjectMeta, Struct
from koordpy.api.pod import Pod
from koordpy.kube.watch.definitions import Definition
from koordpy.kube.watch.reflector import Resource
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.sim.embedded.faults import Fault, Rule
from tests.kube.world import Sink, World, running, until

pytestmark = pytest.mark.looptime


class NamedPod(Struct, frozen=True):
    metadata: ObjectMeta


def pods() -> Resource[Pod]:
    """As each consumer says it for itself."""
    return Resource("/api/v1/pods", Decoder("Pod", Pod))


async def test_consumers_of_one_resource_share_its_list_and_its_watch() -> None:
    async with World() as world:
        await world.create("a")
        shared, first, second = SharedReflectors(world.client), Sink(), Sink()
        assert shared.subscribe(pods(), first) is shared.subscribe(pods(), second)
        async with running(shared.run()):
            await shared.synced()
            await world.create("b")
            await until(lambda: first.names == second.names == ["a", "b"])
        assert len(world.lists()) == len(world.watches()) == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(pods(), path="/api/v1/namespaces/default/pods"),
        replace(pods(), field_selector="spec.nodeName="),
        Resource("/api/v1/pods", Decoder("Pod", NamedPod)),
    ],
)
def test_another_path_selector_or_struct_is_another_reflector(other) -> None:
    shared = SharedReflectors(World().client)
    assert shared.subscribe(pods(), Sink()) is not shared.subscribe(other, Sink())


def test_a_resource_is_optional_for_all_or_for_none() -> None:
    shared = SharedReflectors(World().client)
    shared.subscribe(pods(), Sink())
    with pytest.raises(ValueError, match="/api/v1/pods: optional for one sink and required for another"):
        shared.subscribe(replace(pods(), optional=True), Sink())


async def test_a_new_resource_after_the_start_is_refused() -> None:
    async with World() as world:
        shared = SharedReflectors(world.client)
        async with running(shared.run()):
            await asyncio.sleep(1)
            with pytest.raises(RuntimeError, match="pods: subscribe before the reflectors run"):
                shared.subscribe(pods(), Sink())


async def test_synced_waits_for_all_reflectors() -> None:
    async with World() as world:
        rule = world.faults.add(Rule(Fault.STATUS, path="/api/v1/nodes", status=503, count=None))
        shared = SharedReflectors(world.client)
        shared.subscribe(pods(), Sink())
        shared.subscribe(Resource("/api/v1/nodes", Decoder("Node", NamedPod)), Sink())
        async with running(shared.run()), running(shared.synced()) as waiting:
            await asyncio.sleep(100)
            assert not waiting.done()
            rule.count = 0
            await asyncio.sleep(31)
            assert waiting.done()


async def test_each_resource_has_a_check_that_returns_its_trouble() -> None:
    async with World() as world:
        world.faults.add(Rule(Fault.STATUS, path="/api/v1/nodes", status=403, count=None))
        shared = SharedReflectors(world.client)
        shared.subscribe(pods(), Sink())
        shared.subscribe(Resource("/api/v1/nodes", Decoder("Node", NamedPod)), Sink())
        checks = shared.checks()
        assert {name: check() for name, check in checks.items()} == {
            "watch-pods": "not synced yet",
            "watch-nodes": "not synced yet",
        }
        async with running(shared.run()):
            await asyncio.sleep(1)
            assert checks["watch-pods"]() == ""
            assert checks["watch-nodes"]().startswith("Forbidden: GET /api/v1/nodes")


async def test_two_reflectors_of_one_name_are_one_check() -> None:
    async with World() as world:
        shared = SharedReflectors(world.client)
        first = shared.subscribe(pods(), Sink())
        second = shared.subscribe(Resource("/api/v1/pods", Decoder("Pod", NamedPod)), Sink())
        check = shared.checks()["watch-pods"]
        async with running(first.run()):
            await first.synced.wait()
            assert check() == "not synced yet"
        second.trouble = "Gone: away"
        assert check() == "Gone: away"


async def test_a_missing_definition_is_told_once_whoever_needs_it() -> None:
    gadgets = Resource("/apis/x.test/v1/gadgets", Decoder("Gadget", NamedPod), optional=True)
    async with World() as world:
        shared = SharedReflectors(world.client)
        shared.subscribe(gadgets, Sink())
        with structlog.testing.capture_logs() as entries:
            first, second = (shared.installed(Definition("gadgets", (gadgets,), "make some")) for _ in range(2))
            async with running(shared.run()):
                await asyncio.sleep(30)
        assert not first.now
        assert not second.now
    assert [(entry["event"], entry["hint"]) for entry in entries] == [("gadgets_not_installed", "make some")]
