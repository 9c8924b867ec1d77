"""The status follows the pods, whatever is installed and whatever goes wrong; and nothing is written in vain."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from koordpy.api.podgroup import GROUPS, SIGS_GROUP, X_GROUP
from koordpy.app.controllers import lease_and_writing_client
from koordpy.app.settings import Settings
from koordpy.controllers.podgroup import reconciler
from koordpy.controllers.podgroup.status import status_of
from koordpy.kube.client import Client, NotLeading
from koordpy.sim.embedded.faults import Fault, Rule
from koordpy.sim.embedded.transport import DirectTransport
from tests.builders import pod_json
from tests.controllers.world import ALONE, DEFINITIONS, MEMBER, PODS, World, definition, path_of

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
    found.pop("scheduleStartTime")
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


async def test_a_start_over_finds_nothing_to_write():
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


async def test_what_happened_while_nobody_looked_is_made_up_for():
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


# --- definitions come and go ---


async def test_without_definitions_nothing_is_asked_but_whether_there_are_some():
    async with World() as world, world.controllers() as controllers:
        await world.pod("a")
        await asyncio.sleep(60)
        assert world.writes() == []
        assert controllers.health.report(verbose=False) == (True, "ok")
        assert len(world.requests) <= 100  # three kinds, each every other second


async def test_a_definition_that_is_installed_later_is_noticed():
    async with World() as world, world.controllers():
        await world.pod("a")
        await asyncio.sleep(30)
        await world.cluster.create(DEFINITIONS, definition(X_GROUP))
        await world.pod_group(minimum=1, group=X_GROUP)
        assert await world.phase_of(group=X_GROUP) == "PreScheduling"


async def test_a_definition_that_is_deleted_and_installed_again_is_followed():
    async with World(definition()) as world, world.controllers():
        await world.pod("a")
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "PreScheduling"
        await world.ask("DELETE", f"{DEFINITIONS}/podgroups.{SIGS_GROUP}")
        await asyncio.sleep(10)
        await world.cluster.create(DEFINITIONS, definition(status_subresource=False))
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "PreScheduling"


async def test_a_definition_that_gets_its_subresource_while_we_run_is_written_there():
    koordinators = definition(status_subresource=False)
    async with World(koordinators) as world, world.controllers():
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "Pending"
        name = f"{DEFINITIONS}/podgroups.{SIGS_GROUP}"
        await world.ask("PATCH", name, {"spec": {"versions": definition()["spec"]["versions"]}})
        await world.pod("a")
        assert await world.phase_of() == "PreScheduling"
        await world.bind("a")
        before = len(world.writes())
        assert await world.phase_of() == "Scheduled"
        assert len(world.writes()) == before + 1  # it has learned where


async def test_a_definition_that_gets_its_subresource_is_written_there_although_the_phase_stays():
    async with World(definition(status_subresource=False)) as world, world.controllers():
        await world.pod_group(minimum=1)
        for name in ("a", "b"):
            await world.pod(name, node="n")
        await world.phase("a", "Running")
        assert (await world.status())["running"] == 1
        name = f"{DEFINITIONS}/podgroups.{SIGS_GROUP}"
        await world.ask("PATCH", name, {"spec": {"versions": definition()["spec"]["versions"]}})
        await world.phase("b", "Running")
        assert (await world.status())["running"] == 2


# --- what goes wrong ---


async def test_a_status_whose_making_raised_is_written_without_further_news(monkeypatch):
    failures = iter([RuntimeError("as ordered")] * 3)

    def failing(*given):
        if (error := next(failures, None)) is not None:
            raise error
        return status_of(*given)

    monkeypatch.setattr(reconciler, "status_of", failing)
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1)
        await asyncio.sleep(10)
        assert next(failures, None) is None
        assert await world.phase_of() == "Pending"


@pytest.mark.parametrize("status", [404, 409, 429, 500, 503])
async def test_a_write_that_fails_is_made_later(status):
    async with World(definition()) as world:
        rule = world.faults.add(Rule(Fault.STATUS, "PATCH", count=12, status=status))
        async with world.controllers():
            await world.pod_group(minimum=1)
            await asyncio.sleep(600)
            assert rule.hits == 12
            assert await world.phase_of() == "Pending"


@pytest.mark.parametrize("status", [403, 409, 422, 503])
async def test_a_write_that_fails_in_one_api_group_does_not_hold_up_the_other(status):
    async with World(*(definition(group) for group in GROUPS)) as world:
        world.faults.add(Rule(Fault.STATUS, "PATCH", f".*{SIGS_GROUP}.*", count=None, status=status))
        async with world.controllers():
            for group in GROUPS:
                await world.pod_group(minimum=1, group=group)
            await asyncio.sleep(30)
            assert await world.phase_of(group=X_GROUP) == "Pending"


async def test_what_we_have_written_is_known_although_the_watch_is_silent():
    async with World(definition()) as world:
        await world.pod_group(minimum=1)
        world.faults.add(Rule(Fault.WATCH_STUCK, path=".*/podgroups"))
        async with world.controllers():
            assert await world.phase_of() == "Pending"
            await world.pod("a")
            assert await world.phase_of() == "PreScheduling"
            assert len(world.writes()) == 2


async def test_a_write_whose_answer_is_lost_is_no_harm():
    async with World(definition()) as world, world.controllers():
        world.faults.add(Rule(Fault.ANSWER_LOST, "PATCH", count=1))
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "Pending"


async def test_a_missing_permission_is_told_and_made_up_for_when_it_is_granted():
    async with World(definition()) as world:
        rule = world.faults.add(Rule(Fault.STATUS, "PATCH", count=None, status=403))
        async with world.controllers() as controllers:
            await world.pod_group(minimum=1)
            await asyncio.sleep(30)
            ready, text = controllers.health.report(verbose=False)
            assert not ready
            assert "podgroup-status failed: Forbidden" in text
            assert rule.hits < 10
            world.faults.clear()
            await asyncio.sleep(90)
            assert await world.phase_of() == "Pending"
            assert controllers.health.report(verbose=False) == (True, "ok")


async def test_a_podgroup_that_could_not_be_written_and_is_deleted_is_no_trouble_any_more():
    async with World(definition()) as world:
        world.faults.add(Rule(Fault.STATUS, "PATCH", count=None, status=403))
        async with world.controllers() as controllers:
            await world.pod_group(minimum=1)
            await asyncio.sleep(30)
            assert not controllers.health.report(verbose=False)[0]
            await world.ask("DELETE", path_of(name="g"))
            await asyncio.sleep(90)
            assert controllers.health.report(verbose=False) == (True, "ok")


async def test_trouble_lasts_while_any_podgroup_cannot_be_written():
    async with World(definition()) as world:
        world.faults.add(Rule(Fault.STATUS, "PATCH", ".*/podgroups/g/status", count=None, status=403))
        async with world.controllers() as controllers:
            await world.pod_group("g", minimum=1)
            await asyncio.sleep(100)
            await world.pod_group("h", minimum=1)
            assert await world.phase_of("h") == "Pending"
            assert not controllers.health.report(verbose=False)[0]


async def test_a_podgroup_that_is_deleted_meanwhile_is_let_go():
    async with World(definition()) as world:
        world.faults.add(Rule(Fault.DELAY, "PATCH", count=1, seconds=2.0))
        async with world.controllers() as controllers:
            await world.pod_group(minimum=1)
            await asyncio.sleep(1)
            await world.ask("DELETE", path_of(name="g"))
            await asyncio.sleep(60)
            assert len(world.writes()) == 2  # with and without the subresource
            assert controllers.health.report(verbose=False) == (True, "ok")


async def test_a_podgroup_made_again_under_its_name_never_gets_the_status_of_the_old_one():
    async with World(definition()) as world:
        await world.pod("a", node="n")
        await world.pod_group(minimum=1)
        world.faults.add(Rule(Fault.DELAY, "PATCH", count=1, seconds=2.0))
        async with world.controllers():
            await asyncio.sleep(1)
            await world.ask("DELETE", path_of(name="g"))
            await world.delete("a")
            await world.pod_group(minimum=1)
            assert await world.status() == {
                "phase": "Pending", "occupiedBy": "", "scheduled": 0, "running": 0, "succeeded": 0, "failed": 0,
            }  # fmt: skip


async def test_a_status_that_the_definition_refuses_is_told_once_and_not_repeated():
    strict = definition()
    status = strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    status["properties"]["phase"]["enum"] = ["Pending", "Scheduled"]
    async with World(strict) as world, world.controllers():
        await world.pod_group(minimum=1)
        await world.pod("a")
        await asyncio.sleep(300)
        refused = len(world.writes())
        assert refused <= 3
        await world.bind("a")
        assert await world.phase_of() == "Scheduled"


async def test_a_status_that_the_definition_refused_is_written_when_the_definition_is_mended():
    strict = definition()
    status = strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    status["properties"]["phase"]["enum"] = ["Scheduled"]
    async with World(strict) as world, world.controllers():
        await world.pod_group(minimum=1)
        assert await world.phase_of() == ""
        name = f"{DEFINITIONS}/podgroups.{SIGS_GROUP}"
        await world.ask("PATCH", name, {"spec": {"versions": definition()["spec"]["versions"]}})
        await asyncio.sleep(600)
        assert await world.phase_of() == "Pending"


async def test_a_status_that_somebody_else_changes_is_mended():
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1)
        await world.status()
        await world.ask("PATCH", path_of(name="g") + "/status", {"status": {"phase": "Running", "running": 7}})
        found = await world.status()
        assert (found["phase"], found["running"]) == ("Pending", 0)


async def test_pods_are_never_written():
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1)
        made = await world.pod("a")
        await world.status()
        found = await world.ask("GET", f"{PODS}/a")
        assert found["metadata"] == made["metadata"]


# --- who writes ---


async def test_gangs_of_other_schedulers_are_left_alone():
    async with World(definition()) as world, world.controllers():
        await world.pod("a", scheduler="scheduler-plugins-scheduler")
        await world.pod_group(minimum=1)
        assert await world.phase_of() == ""


async def test_a_pod_of_another_scheduler_is_no_member():
    async with World(definition()) as world, world.controllers():
        await world.pod("a")
        await world.pod("b", scheduler="default-scheduler")
        await world.pod_group(minimum=2)
        assert await world.phase_of() == "Pending"


async def test_a_gated_pod_is_no_member_until_its_gates_are_gone():
    async with World(definition()) as world, world.controllers():
        await world.pod_group(minimum=1)
        gated = pod_json("a", labels={MEMBER: "g"})
        gated["spec"]["schedulingGates"] = [{"name": "x.io/quota"}]
        await world.cluster.create(PODS, gated)
        assert await world.phase_of() == "Pending"
        await world.ask("PATCH", f"{PODS}/a", {"spec": {"schedulingGates": None}})
        assert await world.phase_of() == "PreScheduling"


async def test_nothing_can_be_written_without_the_lease():
    async with World(definition()) as world:
        client = Client(DirectTransport(world.cluster.handle))
        _, writing = lease_and_writing_client(client, Settings())
        with pytest.raises(NotLeading):
            await writing.write("PATCH", path_of(name="g"), {})


async def test_of_two_only_the_holder_of_the_lease_writes():
    settings = Settings()
    async with World(definition()) as world, world.controllers(settings), world.controllers(settings) as second:
        await world.pod_group(minimum=1)
        await asyncio.sleep(5)
        assert await world.phase_of() == "Pending"
        assert len(world.writes()) == 1
        lease = await world.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/koordpy-controllers")
        assert lease["spec"]["holderIdentity"]
        assert second.health.report(verbose=False) == (True, "ok")


async def test_the_lease_is_the_controllers_own_whatever_the_schedulers_is_called():
    named = replace(Settings(), leader_election=replace(Settings().leader_election, name="mine", namespace="default"))
    async with World() as world, world.controllers(named):
        await asyncio.sleep(5)
        await world.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/koordpy-controllers")


async def test_without_an_election_there_is_no_lease():
    async with World() as world, world.controllers(ALONE):
        await asyncio.sleep(5)
        assert not any("/leases" in path for _, _, path, _ in world.requests)
