"""The status of a PodGroup follows its pods, whatever definition is installed; and nothing is written in vain."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.api.podgroup.coscheduling import GROUPS, SIGS_GROUP, X_GROUP
from koordpy.sim.embedded.faults import Fault, Rule
from tests.controllers.world import MEMBER, PODS, World, definition, path_of

pytestmark = pytest.mark.looptime

# What is installed in the wild: ours, Koordinator's, and coscheduling's.
KINDS = {
    "ours": definition(),
    "without-subresource": definition(status_subresource=False),
    "without-scheduled": definition(scheduled=False),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_the_status_follows_the_pods_from_the_first_to_the_last(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        phases = []
        await world.pod_group(minimum=2)
        phases.append(await world.phase_of())
        for name in ("a", "b"):
            await world.pod(name, owner=("Job", "job"))
            phases.append(await world.phase_of())
        for name in ("a", "b"):
            await world.bind(name)
            phases.append(await world.phase_of())
        for phase in ("Running", "Succeeded"):
            for name in ("a", "b"):
                await world.phase(name, phase)
            phases.append(await world.phase_of())
        for name in ("a", "b"):
            await world.delete(name)
        found = await world.status()
    assert phases == [
        "Pending",
        "Pending",
        "PreScheduling",
        "Scheduling",
        "Scheduled",
        "Running",
        "Finished",
    ]
    assert found["scheduleStartTime"].startswith("2027-")
    for timed in ("scheduleStartTime", "conditions"):
        found.pop(timed, None)
    counts = {"running": 0, "succeeded": 2, "failed": 0}
    counts |= {} if kind == "without-scheduled" else {"scheduled": 2}
    assert found == {"phase": "Finished", "occupiedBy": "default/job", **counts}


@pytest.mark.parametrize("kind", KINDS)
async def test_one_change_is_one_write_and_no_change_is_none(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await world.pod_group(minimum=1)
        await world.status()
        await world.pod("a")
        await world.bind("a")
        await world.status()
        before = len(world.writes())
        await world.phase("a", "Running")
        await world.status()
        assert len(world.writes()) == before + 1
        await world.ask("PATCH", f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})
        await world.ask("PATCH", path_of(name="g"), {"metadata": {"labels": {"x": "y"}}})
        await world.status()
        assert len(world.writes()) == before + 1


async def test_a_field_that_the_definition_does_not_keep_is_not_written_again_and_again():
    async with World(definition(scheduled=False)) as world, world.controllers():
        await world.pod("a", node="n")
        await world.pod_group("g", minimum=1)
        await world.pod_group("h", minimum=1)
        assert (await world.phase_of("g"), await world.phase_of("h")) == ("Scheduled", "Pending")
        before = len(world.writes())
        for name in ("h", "g"):
            await world.ask("PATCH", path_of(name=name), {"metadata": {"labels": {"x": "y"}}})
            await world.status()
        assert len(world.writes()) == before


async def test_nothing_is_written_before_all_pods_are_known():
    async with World(definition()) as world:
        await world.pod_group(minimum=1)
        await world.pod("a", node="n")
        async with world.controllers():
            assert await world.phase_of() == "Scheduled"
        writes = len(world.writes())
        world.faults.add(Rule(Fault.DELAY, "GET", "/api/v1/pods", seconds=20.0))
        async with world.controllers():
            await asyncio.sleep(30)
        assert len(world.writes()) == writes


async def test_a_restart_finds_nothing_to_write():
    async with World(definition()) as world:
        await world.pod_group(minimum=1)
        await world.pod("a", owner=("Job", "job"))
        await world.bind("a")
        async with world.controllers():
            before = await world.status()
        assert before["phase"] == "Scheduled"
        writes = len(world.writes())
        async with world.controllers():
            assert await world.status() == before
        assert len(world.writes()) == writes


async def test_after_a_restart_a_field_that_the_definition_lacks_is_not_written_again_and_again():
    async with World(definition(scheduled=False)) as world:
        await world.pod_group(minimum=1)
        await world.pod("a", node="n")
        async with world.controllers():
            assert await world.phase_of() == "Scheduled"
        writes = len(world.writes())
        async with world.controllers():
            await asyncio.sleep(600)
        assert len(world.writes()) - writes <= 2  # on either path


async def test_changes_while_no_controller_ran_are_made_up_for():
    async with World(definition()) as world:
        await world.pod_group(minimum=1)
        async with world.controllers():
            await world.pod("a")
            assert await world.phase_of() == "PreScheduling"
        await world.bind("a")
        await world.phase("a", "Running")
        async with world.controllers():
            assert await world.phase_of() == "Running"


async def test_a_burst_of_a_whole_gang_is_a_write_or_two():
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=50)
        for number in range(50):
            await world.pod(f"p{number}")
        await world.status()
        before = len(world.writes())
        for number in range(50):
            await world.bind(f"p{number}")
        assert (await world.status())["scheduled"] == 50
        assert len(world.writes()) - before <= 2


async def test_a_gang_whose_members_trickle_in_is_not_written_for_each_of_them():
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1000)
        for number in range(200):
            await world.pod(f"p{number}", node="n")
            await asyncio.sleep(0.01)
        assert (await world.status())["scheduled"] == 200
        assert len(world.writes()) <= 12  # two seconds, at most every fifth of one


@pytest.mark.parametrize(
    "key",
    ["pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io/name"],
)
@pytest.mark.parametrize("group", GROUPS)
async def test_a_pod_may_name_the_podgroup_of_either_api_group_by_any_key(group, key):
    async with World(definition(group)) as world, world.controllers():
        await world.pod_group(minimum=1, group=group)
        await world.pod("a", key=key)
        assert await world.phase_of(group=group) == "PreScheduling"


async def test_podgroups_of_one_name_in_both_api_groups_agree():
    async with World(*(definition(group) for group in GROUPS)) as world, world.controllers():
        await world.pod_group(minimum=1, group=SIGS_GROUP)
        await world.pod_group(minimum=5, group=X_GROUP)
        await world.pod("a")
        assert await world.phase_of(group=SIGS_GROUP) == "PreScheduling"
        assert await world.phase_of(group=X_GROUP) == "PreScheduling"  # the scheduler listens to Koordinator's


async def test_a_gang_of_the_same_name_in_another_namespace_is_another():
    async with World(definition()) as world, world.controllers():
        await world.cluster.create("/api/v1/namespaces", {"metadata": {"name": "other"}})
        await world.pod_group(minimum=1)
        pod = {
            "metadata": {"name": "a", "labels": {MEMBER: "g"}},
            "spec": {"containers": [{"name": "m", "image": "i"}]},
        }
        await world.cluster.create("/api/v1/namespaces/other/pods", pod)
        assert await world.phase_of() == "Pending"


async def test_a_pod_that_changes_its_gang_is_counted_where_it_belongs():
    async with World(definition()) as world, world.controllers():
        await world.pod_group("g", minimum=1)
        await world.pod_group("h", minimum=1)
        await world.pod("a", gang="g")
        assert await world.phase_of("g") == "PreScheduling"
        await world.ask("PATCH", f"{PODS}/a", {"metadata": {"labels": {MEMBER: "h"}}})
        assert (await world.phase_of("g"), await world.phase_of("h")) == ("Pending", "PreScheduling")
