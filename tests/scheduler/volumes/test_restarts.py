"""A scheduler that dies between any two steps of binding volumes leaves a state from which the next one goes on."""

from __future__ import annotations

import asyncio

import pytest

from koordpy.sim.embedded.faults import Fault, Rule
from tests.kube.world import now, running
from tests.scheduler.volumes.asking import promises
from tests.scheduler.volumes.objects import DRIVER
from tests.scheduler.volumes.world import Instance, StorageWorld, settled

pytestmark = pytest.mark.looptime

# With every write taking a second, these fall before, between and after the writes of one pod: the volume is given at
# 1 s, the node selected at 2 s, the claims are bound until 2.5 s, the pod is bound at 3.5 s.
MOMENTS = [0.0, 0.5, 1.0, 1.01, 1.5, 2.0, 2.01, 2.3, 2.7, 3.0, 3.5, 4.5]
WRITES = "/api/v1/(persistentvolumes/.*|namespaces/default/(persistentvolumeclaims|pods)/.*)"


async def controllers(world: StorageWorld) -> None:
    """The volume controller and the provisioner, slow but always there."""
    controller, finished = world.controller, set()
    while True:
        await asyncio.sleep(0.4)
        for volume in ("pv1", "pv2"):
            if volume not in finished and await controller.owner_of(volume) == "data":
                await controller.finish("data", volume)
                finished.add(volume)
        if "made" not in finished and await controller.selected_node("made"):
            await controller.provision("made")
            finished.add("made")


async def populate(world: StorageWorld) -> None:
    """A pod with a claim for which a volume exists on two nodes and one for which a volume can be made anywhere."""
    await world.add_nodes("n1", "n2", "n3")
    await world.controller.add_class()
    await world.controller.add_class("fast", provisioner=DRIVER)
    for volume, node in (("pv1", "n1"), ("pv2", "n2")):
        await world.controller.add_volume(volume, nodes=[node])
    await world.controller.add_claim("data")
    await world.controller.add_claim("made", storage_class="fast")
    await world.add_pod("data", "made")
    world.faults.add(Rule(Fault.DELAY, "PATCH|POST", WRITES, seconds=1, count=None))


async def live_for(world: StorageWorld, seconds: float) -> None:
    """A scheduler that is killed after so long: what it has sent by then is all that it ever sends."""
    dies = now() + seconds
    instance = Instance(world.client.guarded_by(lambda: now() < dies))
    async with instance.scheduling():
        await asyncio.sleep(seconds)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_restart_at_any_moment_ends_as_if_there_had_been_none(moment: float) -> None:
    async with StorageWorld() as world, running(controllers(world)):
        await populate(world)
        await live_for(world, moment)
        async with world.scheduler() as instance:
            await settled(15)
            await check_the_end(world, instance)


async def test_restarts_every_second_do_not_keep_a_pod_from_its_node_for_ever() -> None:
    async with StorageWorld() as world, running(controllers(world)):
        await populate(world)
        for _ in range(8):
            await live_for(world, 1.2)
        async with world.scheduler() as instance:
            await settled(15)
            await check_the_end(world, instance)


async def check_the_end(world: StorageWorld, instance: Instance) -> None:
    """Whichever node it is, the pod and both of its volumes are there, and nothing else was taken or is promised."""
    node = await world.node_of()
    owners = {volume: await world.controller.owner_of(volume) for volume in ("pv1", "pv2")}
    assert owners == {"n1": {"pv1": "data", "pv2": ""}, "n2": {"pv1": "", "pv2": "data"}}[node]
    assert await world.controller.selected_node("made") == node
    for claim in ("data", "made"):
        assert (await world.controller.claim(claim))["status"]["phase"] == "Bound"
    assert promises(instance.cluster) == []
