"""The examples of workloads, on the embedded cluster that plays their operators: what their pods are grouped into."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from koordpy.sim.embedded.kubelet import Timing
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.transport import DirectTransport
from koordpy.sim.embedded.workloads.operators.definitions import PATH, definitions
from tests.controllers.grouping.world import BUILT_IN, CUSTOM, World, run_ai_definition

EXAMPLES = Path(__file__).parents[3] / "examples"


@contextlib.asynccontextmanager
async def played() -> AsyncIterator[World]:
    """A cluster with kubelets and operators, as `koordpy embedded` has it."""
    nodes = [simulated_node("n", now="2026-01-01T00:00:00Z", cpu="64", memory="256Gi")]
    async with EmbeddedCluster(nodes, timing=Timing()) as cluster:
        for definition in definitions():
            await cluster.create(PATH, definition)
        transport = DirectTransport(cluster.handle)
        world = World(transport, transport, "default", wait_s=20.0)
        await world.install(run_ai_definition())
        yield world


def example(name: str) -> dict[str, Any]:
    return yaml.safe_load((EXAMPLES / f"workload-{name}.yaml").read_text())


async def submit(world: World, name: str) -> dict[str, Any]:
    body = example(name)
    return await world.api.ask("POST", world.path(body["kind"]), body)


async def pods_of(world: World, count: int) -> list[str]:
    async def there() -> list[str]:
        items = (await world.api.ask("GET", world.path("Pod")))["items"]
        return [each["metadata"]["name"] for each in items] if len(items) == count else []

    return await world.until(there, f"{count} pods")


@pytest.mark.parametrize(
    ("name", "count", "minimum", "parts"),
    [
        ("pytorchjob", 4, 4, {"master": 1, "worker": 3}),
        ("raycluster", 3, 3, {"headgroup": 1, "small": 2}),
        ("job-minimum", 6, 3, {}),
    ],
)
async def test_the_example_is_a_gang(name, count, minimum, parts):
    async with played() as world, world.grouper():
        owner = await submit(world, name)
        pods = await pods_of(world, count)
        groups = [await world.group_of(pod) for pod in pods]
        assert {group["metadata"]["name"] for group in groups} == {
            f"pg-{owner['metadata']['name']}-{owner['metadata']['uid']}"
        }
        spec = groups[0]["spec"]
        assert spec["minMember"] == minimum
        assert {part["name"]: part["minMember"] for part in spec.get("subGroups", ())} == parts


async def test_the_launcher_of_the_example_joins_when_the_workers_are_ready():
    async with played() as world, world.grouper():
        await submit(world, "mpijob")
        workers = await pods_of(world, 2)
        await world.spec_becomes(workers[0], minMember=2)
        for worker in workers:
            await world.bind(worker)
        (launcher,) = set(await pods_of(world, 3)) - set(workers)
        await world.spec_becomes(launcher, minMember=3)


@pytest.mark.parametrize("name", sorted(path.stem.removeprefix("workload-") for path in EXAMPLES.glob("workload-*")))
def test_each_example_is_of_a_kind_that_the_guide_names(name):
    body = example(name)
    assert body["kind"] in CUSTOM | BUILT_IN
    assert f"workload-{name}.yaml" in (EXAMPLES.parent / "docs" / "workloads.md").read_text()


async def test_the_group_goes_with_its_workload_and_stays_gone():
    async with played() as world, world.grouper():
        await submit(world, "pytorchjob")
        for pod in await pods_of(world, 4):
            await world.group_of(pod)
        await world.delete("PyTorchJob", "finetune")

        async def nothing_left() -> bool:
            pods = (await world.api.ask("GET", world.path("Pod")))["items"]
            return not pods and not await world.pod_groups()

        await world.until(nothing_left, "pods and PodGroup are gone")
        await world.quiet()
        assert await world.pod_groups() == []
