"""Who writes the status of a PodGroup: the leader, and only for gangs of this scheduler."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from koordpy.app.controllers import lease_and_writing_client
from koordpy.app.settings import Settings
from koordpy.controllers.podgroup import reconciler
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.leader import LeaderLease
from koordpy.sim.embedded.transport import DirectTransport
from tests.builders import pod_json
from tests.controllers.world import ALONE, MEMBER, PODS, World, definition, path_of

pytestmark = pytest.mark.looptime

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/koordpy-controllers"


async def test_gangs_of_other_schedulers_are_left_alone():
    async with World(definition()) as world, world.controllers():
        await world.pod("a", scheduler="scheduler-plugins-scheduler")
        await world.pod_group(minimum=1)
        assert await world.phase_of() == ""


async def test_a_gang_whose_pods_all_misspell_the_scheduler_is_told_so():
    async with World(definition()) as world, world.controllers():
        await world.pod("a", scheduler="koord-schduler")
        await world.pod("b", scheduler="koord-schduler")
        await world.pod_group(minimum=2)
        assert await world.phase_of() == "Pending"
        (condition,) = (await world.ask("GET", path_of(name="g")))["status"]["conditions"]
        assert condition["reason"] == "NoPods"
        assert condition["message"].startswith("2 pods ask for the scheduler koord-schduler, which is none of")


async def test_a_scheduler_whose_name_is_like_ours_is_left_alone_when_it_has_bound_a_pod():
    async with World(definition()) as world, world.controllers():
        await world.pod("a", scheduler="koord-scheduler2", node="n")
        await world.pod_group(minimum=1)
        assert await world.phase_of() == ""


async def test_a_scheduler_whose_name_is_like_ours_is_left_alone_when_its_controller_has_counted_members():
    async with World(definition()) as world, world.controllers():
        await world.pod("a", scheduler="koord-scheduler2")
        await world.pod_group(minimum=1)
        assert await world.phase_of() == "Pending"
        await world.ask("PATCH", path_of(name="g") + "/status", {"status": {"phase": "PreScheduling"}})
        assert await world.phase_of() == "PreScheduling"


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


async def test_a_write_held_back_while_the_lease_was_uncertain_is_made_when_it_is_certain_again(monkeypatch):
    holds, uncertain = LeaderLease.holds, False
    monkeypatch.setattr(LeaderLease, "holds", lambda lease: not uncertain and holds(lease))
    async with World(definition()) as world, world.controllers(Settings()):
        await asyncio.sleep(4.5)  # it was renewed at 4 s, and is at 6 s
        uncertain = True
        await world.pod_group(minimum=1)
        await asyncio.sleep(1)
        uncertain = False
        await asyncio.sleep(10)
        assert await world.phase_of() == "Pending"


async def test_what_failed_before_leadership_was_lost_is_written_when_it_is_regained(monkeypatch):
    status_of, fails = reconciler.status_of, True

    def failing(*given, **named):
        if fails:
            raise RuntimeError("as ordered")
        return status_of(*given, **named)

    monkeypatch.setattr(reconciler, "status_of", failing)
    async with World(definition()) as world, world.controllers(Settings()):
        await world.pod_group(minimum=1)
        await asyncio.sleep(20)
        await world.ask("PATCH", LEASE, {"spec": {"holderIdentity": "another"}})
        await asyncio.sleep(5)
        fails = False
        await world.ask("PATCH", LEASE, {"spec": {"holderIdentity": ""}})
        await asyncio.sleep(10)
        assert await world.phase_of() == "Pending"


async def test_of_two_only_the_holder_of_the_lease_writes():
    settings = Settings()
    async with World(definition()) as world, world.controllers(settings), world.controllers(settings) as second:
        await world.pod_group(minimum=1)
        await asyncio.sleep(5)
        assert await world.phase_of() == "Pending"
        assert len(world.writes()) == 1
        lease = await world.ask("GET", LEASE)
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
