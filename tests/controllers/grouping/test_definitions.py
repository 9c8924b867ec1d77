"""The definition of PodGroups that KAI had in 2025 does as well: no `minSubGroup`, and no minimum of 0."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.controllers.grouping.test_gangs_of_workloads import RAY, jobset_labels, ray_labels
from tests.controllers.grouping.world import World, embedded_world, real_world, run_ai_definition

Json = dict[str, Any]


def older() -> Json:
    found = run_ai_definition()
    spec = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for part in (spec, spec["properties"]["subGroups"]["items"]):
        part["properties"] = dict(part["properties"])
        del part["properties"]["minSubGroup"]
        del part["x-kubernetes-validations"]
        part["properties"]["minMember"] = {"type": "integer", "format": "int32", "minimum": 1}
    return found


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    which = embedded_world() if request.param == "embedded" else real_world(request.getfixturevalue("control_plane"))
    async with which as world:
        await world.install(older())
        await world.change_definition(older()["spec"]["versions"])  # where another test has installed ours
        yield world
        await world.change_definition(run_ai_definition()["spec"]["versions"])  # definitions outlive a test


async def test_a_jobset_is_a_flat_gang_there(world):
    jobs = [{"name": name, "replicas": 2, "template": {"spec": {"parallelism": 2}}} for name in ("a", "b")]
    async with world.grouper():
        owner = await world.owner("JobSet", "set", {"replicatedJobs": jobs})
        job = await world.owner("Job", "set-a-0", owner=owner)
        await world.pod("set-a-0-0-x", job, labels=jobset_labels("a", 0))
        spec = await world.spec_becomes("set-a-0-0-x", minMember=8)
        assert await world.subgroup_of("set-a-0-0-x") == "a-replica-0"
    assert {part["name"]: part["minMember"] for part in spec["subGroups"]} == {
        f"{name}-replica-{index}": 2 for name in ("a", "b") for index in range(2)
    }


async def test_a_part_of_a_jobset_that_depends_on_another_joins_the_flat_gang_when_it_begins(world):
    after = {"dependsOn": [{"name": "init", "status": "Complete"}]}
    node = {"name": "node", "replicas": 2, "template": {"spec": {"parallelism": 2}}, **after}
    async with world.grouper():
        jobs = [{"name": "init", "replicas": 1, "template": {}}, node]
        owner = await world.owner("JobSet", "set", {"replicatedJobs": jobs})
        first = await world.owner("Job", "set-init-0", owner=owner)
        await world.pod("set-init-0-0-x", first, labels=jobset_labels("init", 0))
        await world.spec_becomes("set-init-0-0-x", minMember=1)
        second = await world.owner("Job", "set-node-0", owner=owner)
        await world.pod("set-node-0-0-x", second, labels=jobset_labels("node", 0))
        await world.spec_becomes("set-node-0-0-x", minMember=5)


async def test_a_minimum_of_0_is_left_out_there(world):
    empty = {"groupName": "spare", "replicas": 0, "minReplicas": 0}
    async with world.grouper():
        owner = await world.owner("RayCluster", "ray", RAY | {"workerGroupSpecs": [empty]})
        await world.pod("ray-head", owner, labels=ray_labels("ray", "head", "headgroup"))
        spec = await world.spec_becomes("ray-head", minMember=1)
    assert spec["subGroups"] == [{"name": "headgroup", "minMember": 1}, {"name": "spare"}]
