"""Pods with volumes from the queue to their node: on the embedded API, in virtual time."""

from __future__ import annotations

import pytest

from koordpy.sim.embedded.faults import Fault, Rule
from tests.scheduler.volumes.asking import promises
from tests.scheduler.volumes.objects import DRIVER
from tests.scheduler.volumes.world import TIME_LIMIT_S, StorageWorld, settled

pytestmark = pytest.mark.looptime

NO_EVENT = "node(s) didn't find available persistent volumes to bind"
PATCH_VOLUME = "/api/v1/persistentvolumes/.*"


async def local_volumes(world: StorageWorld, **where: str) -> None:
    """Nodes n1 to n3, a class without a provisioner, and volumes by name on the nodes named."""
    await world.add_nodes("n1", "n2", "n3")
    await world.controller.add_class()
    for name, node in where.items():
        await world.controller.add_volume(name, nodes=[node])


async def test_a_pod_is_bound_beside_its_volume_after_the_volume() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await local_volumes(world, pv1="n2")
        await world.controller.add_claim()
        await world.add_pod("data")
        await settled()
        assert (await world.controller.owner_of(), await world.node_of()) == ("data", "")
        await world.controller.finish()
        await settled()
        assert await world.node_of() == "n2"
        assert world.writes() == ["PATCH persistentvolumes/pv1", "POST p1/binding"]
        assert promises(instance.cluster) == []


async def test_a_pod_is_bound_after_its_volume_was_made() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await world.add_nodes("n1")
        await world.controller.add_class("fast", provisioner=DRIVER)
        await world.controller.add_claim(storage_class="fast")
        await world.add_pod("data")
        await settled()
        assert (await world.controller.selected_node(), await world.node_of()) == ("n1", "")
        await world.controller.provision()
        await settled()
        assert await world.node_of() == "n1"
        assert promises(instance.cluster) == []


async def test_nothing_stays_promised_after_many_pods_have_come_and_gone() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await local_volumes(world, **{f"pv{i}": "n1" for i in range(5)})
        for i in range(5):
            await world.controller.add_claim(f"c{i}")
            await world.add_pod(f"c{i}", name=f"p{i}")
        await settled()
        owners = {f"pv{i}": await world.controller.owner_of(f"pv{i}") for i in range(5)}
        assert sorted(owners.values()) == [f"c{i}" for i in range(5)]
        for volume, claim in owners.items():
            await world.controller.finish(claim, volume)
        await settled()
        assert {await world.node_of(f"p{i}") for i in range(5)} == {"n1"}
        assert promises(instance.cluster) == []
        for i in range(5):
            await world.delete(f"p{i}")
        await settled()
        assert (promises(instance.cluster), dict(instance.cluster.storage.users)) == ([], {})


async def test_a_pod_whose_volume_somebody_takes_is_planned_again_with_another() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await local_volumes(world, pv1="n1", pv2="n2")
        await world.controller.add_claim()
        world.faults.add(Rule(Fault.DELAY, "PATCH", PATCH_VOLUME, seconds=1))
        await world.add_pod("data")
        await settled()
        await world.controller.take_volume("pv1")
        await settled(5)
        assert (await world.controller.owner_of("pv1"), await world.controller.owner_of("pv2")) == ("thief", "data")
        await world.controller.finish(volume="pv2")
        await settled()
        assert await world.node_of() == "n2"
        assert promises(instance.cluster) == []


async def test_a_pod_whose_only_volume_somebody_takes_waits_and_holds_nothing() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await local_volumes(world, pv1="n1")
        await world.controller.add_claim()
        world.faults.add(Rule(Fault.DELAY, "PATCH", PATCH_VOLUME, seconds=1))
        await world.add_pod("data")
        await settled()
        await world.controller.take_volume("pv1")
        await settled(5)
        assert (
            await world.message() == f"0/3 nodes are available: 3 {NO_EVENT}; even on an empty cluster it would not fit"
        )
        assert promises(instance.cluster) == []


async def test_a_volume_that_could_not_be_given_goes_to_whoever_waits_for_it() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await local_volumes(world, pv1="n1")
        for name in ("a", "b"):
            await world.controller.add_claim(name)
        world.faults.add(Rule(Fault.DELAY, "PATCH", PATCH_VOLUME, seconds=1))
        await world.add_pod("a", name="first")
        await settled()
        await world.add_pod("b", name="second")
        await settled(0.2)
        assert NO_EVENT in await world.message("second")
        touched = {"metadata": {"labels": {"touched": "yes"}}}
        await world.ask("PATCH", "/api/v1/persistentvolumes/pv1", touched)  # so that the write of the first fails
        await settled(0.2)
        assert await world.controller.owner_of() == ""
        await settled(5)
        assert await world.controller.owner_of() == "b", "the first backs off meanwhile"
        assert len(promises(instance.cluster)) == 1


async def test_the_pod_of_a_claim_that_is_deleted_meanwhile_says_so_and_goes_on_when_it_is_back() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await world.add_nodes("n1")
        await world.controller.add_class("fast", provisioner=DRIVER)
        await world.controller.add_claim(storage_class="fast")
        await world.add_pod("data")
        await settled()
        await world.controller.delete_claim()
        await settled(5)
        assert await world.message() == '0/1 nodes are available: persistentvolumeclaim "data" not found.'
        assert promises(instance.cluster) == []
        await world.controller.add_claim(storage_class="fast")
        await settled()
        await world.controller.provision()
        await settled()
        assert await world.node_of() == "n1"


async def test_a_pod_whose_volume_does_not_come_in_time_is_planned_again() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await local_volumes(world, pv1="n1")
        await world.controller.add_claim()
        await world.add_pod("data")
        await settled(TIME_LIMIT_S + 0.5)
        assert await world.message() == "binding failed: volumes were not bound within 600 s"
        assert promises(instance.cluster) == []
        await settled(5)
        assert promises(instance.cluster) != [], "tried again"
        await world.controller.finish()
        await settled()
        assert await world.node_of() == "n1"
        assert world.writes() == ["PATCH persistentvolumes/pv1", "POST p1/binding"]


async def test_a_provisioner_that_cannot_serve_a_node_gets_the_pod_planned_elsewhere() -> None:
    async with StorageWorld() as world, world.scheduler():
        await world.add_nodes("n1", "n2")
        await world.controller.add_class("fast", provisioner=DRIVER)
        await world.controller.add_claim(storage_class="fast")
        await world.add_pod("data")
        await settled()
        first = await world.controller.selected_node()
        await world.ask("PATCH", f"/api/v1/nodes/{first}", {"spec": {"unschedulable": True}})
        await world.controller.give_up()
        await settled(5)
        second = await world.controller.selected_node()
        assert {first, second} == {"n1", "n2"}
        await world.controller.provision()
        await settled()
        assert await world.node_of() == second


async def test_a_pod_that_is_deleted_while_its_volume_is_made_leaves_nothing_behind() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await world.add_nodes("n1")
        await world.controller.add_class("fast", provisioner=DRIVER)
        await world.controller.add_claim(storage_class="fast")
        await world.add_pod("data")
        await settled()
        await world.delete("p1")
        await settled()
        assert promises(instance.cluster) == []
        assert instance.lanes.volume_binds._calls._unfinished_tasks == 0, "nobody waits for it any more"


async def test_pods_that_share_a_claim_are_bound_together_without_a_failure() -> None:
    async with StorageWorld() as world, world.scheduler() as instance:
        await world.add_nodes("n1", "n2")
        await world.controller.add_class("fast", provisioner=DRIVER)
        await world.controller.add_claim(storage_class="fast")
        for i in range(4):
            await world.add_pod("data", name=f"p{i}")
        await settled()
        await world.controller.provision()
        await settled()
        assert len({await world.node_of(f"p{i}") for i in range(4)}) == 1
        assert [await world.message(f"p{i}") for i in range(4)] == [""] * 4
        assert world.writes().count("PATCH persistentvolumeclaims/data") == 1
        assert promises(instance.cluster) == []


async def test_a_pod_that_waits_for_its_volume_keeps_no_other_from_its_node() -> None:
    async with StorageWorld() as world, world.scheduler():
        await local_volumes(world, pv1="n1")
        await world.controller.add_claim()
        await world.add_pod("data")
        await world.add_pod(name="plain")
        await settled()
        assert (await world.node_of("p1"), bool(await world.node_of("plain"))) == ("", True)
