"""One grouper writes at a time; what one leaves half done the next completes."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

from koordpy.app.controllers import Controllers
from koordpy.app.settings import LeaderElection, Settings
from koordpy.kube.client import Client
from koordpy.kube.leader import Timing
from koordpy.kube.watch.shared import SharedReflectors
from tests.controllers.grouping.recording import Recording
from tests.controllers.grouping.world import World

TIMING = Timing(lease_duration_s=1.0, renew_deadline_s=0.6, retry_period_s=0.1)


class Replica:
    """A process with the controllers, on a connection of its own that can be cut."""

    def __init__(self, world: World) -> None:
        self.transport = Recording(world.recording)
        election = LeaderElection(enabled=True, namespace=world.namespace, timing=TIMING)
        settings = dataclasses.replace(Settings(), leader_election=election)
        client = Client(self.transport)
        reflectors = SharedReflectors(client)
        self._controllers = Controllers(client, settings, reflectors)
        self._tasks = [asyncio.ensure_future(each) for each in (reflectors.run(), self._controllers.run())]

    async def kill(self) -> None:
        """Nothing that it sends arrives any more."""
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            self.transport.refuse(method, "", 500)
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    def wrote(self) -> bool:
        return bool(self.transport.count("POST", "podgroups") or self.transport.count("PATCH", "/pods/"))


async def test_of_two_replicas_one_writes(world):
    first = Replica(world)
    owner = await world.owner("Job", "batch")
    await world.pod("batch-0", owner)
    await world.group_of("batch-0")
    second = Replica(world)
    try:
        await asyncio.sleep(0.5)
        await world.pod("batch-1", owner)
        await world.group_of("batch-1")
        assert first.wrote()
        assert not second.wrote()
    finally:
        await first.kill()
        await second.kill()


async def test_what_a_grouper_left_half_done_the_next_leader_completes(world):
    first = Replica(world)
    first.transport.refuse("PATCH", "/pods/batch-1", 500)  # it dies between the PodGroup and its last pod
    owner = await world.owner("Job", "batch", annotations={"kai.scheduler/batch-min-member": "2"})
    for index in range(2):
        await world.pod(f"batch-{index}", owner)
    group = await world.group_of("batch-0")
    await first.kill()
    await world.stays_ungrouped("batch-1")
    second = Replica(world)
    try:
        assert (await world.group_of("batch-1"))["metadata"]["uid"] == group["metadata"]["uid"]
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await second.kill()


async def test_an_answer_that_was_lost_makes_no_second_group(embedded):
    embedded.recording.lose("POST", "podgroups$", times=3)
    async with embedded.grouper():
        owner = await embedded.owner("Job", "batch")
        await embedded.pod("batch-0", owner)
        await embedded.group_of("batch-0")
        assert len(await embedded.pod_groups()) == 1
