"""Days of churn on a large cluster, without faults: memory must not grow, and the state must stay the truth.

One scheduler and the controllers. Jobs of all kinds come at a rate that nearly fills the nodes, run, and are deleted
when they have ended. What is told after each simulated hour are sizes: of memory, and of every structure of the
scheduler and the controllers that has a length.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable
from typing import Any

from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.store import Change
from koordpy.sim.simulate import objects
from koordpy.sim.simulate.beliefs import drift
from koordpy.sim.simulate.loop import VirtualLoop
from koordpy.sim.simulate.machine import Machine, task_of_a_machine
from koordpy.sim.simulate.network import Network
from koordpy.sim.simulate.rest import untrue_statuses
from koordpy.sim.simulate.sizes import LEAST_HOURS, Hour, grown, is_judged, resident_mb, sizes
from koordpy.sim.simulate.soakload import LOAD, NODE_CPUS, OWNERS, Submissions
from koordpy.sim.simulate.surroundings import EPOCH, Surroundings
from koordpy.sim.simulate.truth import Truth, asked, condition, is_finished, is_pending, node_of
from koordpy.sim.simulate.users import Users
from koordpy.sim.simulate.weather import Weather
from koordpy.sim.simulate.world import prepare, run_controllers, run_scheduler

Json = dict[str, Any]

_HOUR_S = 3600.0
_TIDY_EVERY_S = 600.0
_REST_S, _RESTS = 10.0, 12  # until statuses are true


def soak(hours: int, nodes: int, tell: Callable[[str], object], *, seed: int = 0) -> int:
    """How many things were wrong, at most 1."""
    loop = VirtualLoop()
    loop.set_task_factory(task_of_a_machine)  # type: ignore[arg-type]  # the protocol has changed between versions
    try:
        told, wrong = loop.run_until_complete(_Soak(hours, nodes, seed, tell).run(loop))
    finally:
        loop.close()
    if is_judged(told):
        wrong += grown(told)
    else:
        tell(f"too short to say whether anything grows: that takes {LEAST_HOURS} hours")
    for each in wrong:
        tell(f"wrong: {each}")
    tell(f"{len(told)} hours on {nodes} nodes, {told[-1].pods if told else 0} pods: {len(wrong)} wrong")
    return int(bool(wrong))


class _Soak:
    def __init__(self, hours: int, nodes: int, seed: int, tell: Callable[[str], object]) -> None:
        self._hours, self._nodes, self._seed, self._tell = hours, nodes, seed, tell
        self._submissions = Submissions(nodes, random.Random(f"soak {seed}"))  # noqa: S311 - see Machine
        self._wrong: list[str] = []
        self._jobs = self._pods = self._evicted = 0
        self._owners: dict[str, str] = {}  # kind, by name: of those that are there

    async def run(self, loop: VirtualLoop) -> tuple[list[Hour], list[str]]:
        told: list[Hour] = []
        with Surroundings(self._seed, self._wrong.append).in_place():
            async with EmbeddedCluster(clock=lambda: EPOCH + loop.time(), history=2000) as cluster:
                await prepare(cluster)
                cluster.store.subscribe("pods", self._hear)
                users, truth = Users(cluster), Truth(cluster.store)
                for number in range(self._nodes):
                    await users.node(f"node-{number}", cpu=NODE_CPUS, gpu=0)
                machines = [self._start(role, cluster, loop) for role in ("scheduler-a", "controllers-a")]
                tidying = loop.create_task(self._tidy(cluster, users, truth))
                for hour in range(self._hours):
                    while (left := (hour + 1) * _HOUR_S - loop.time()) > 0:
                        await asyncio.sleep(min(left, self._submissions.pause_s()))
                        await self._submit(users)
                    told.append(await self._look(machines, truth, hour))
                    self._wrong += [f"{each.name} ended: {each.ended_by}" for each in machines if each.ended_by]
                    if self._wrong:
                        break
                tidying.cancel()
                for machine in machines:
                    await machine.dispose()
        return told, self._wrong

    def _start(self, role: str, cluster: EmbeddedCluster, loop: VirtualLoop) -> Machine:
        machine = Machine(f"{role}0", self._seed, loop)
        network = Network(cluster, machine, Weather(self._seed, []), lambda *_: None, lambda *_: None)
        machine.start(lambda: (run_scheduler if role.startswith("s") else run_controllers)(machine, network))
        return machine

    def _hear(self, change: Change) -> None:
        self._pods += change.kind == "ADDED"
        told = condition(change.new.obj, "DisruptionTarget").get("status") == "True"
        self._evicted += change.kind == "DELETED" and told

    async def _submit(self, users: Users) -> None:
        self._jobs += 1
        name, job = f"job{self._jobs}", self._submissions.draw()
        if job.kind in OWNERS:
            self._owners[name] = job.kind
            await users.owner(name, kind=job.kind, **job.ask)
        elif job.kind:
            await users.gang(name, **job.ask)
        else:
            await users.pod(name, **job.ask)

    async def _tidy(self, cluster: EmbeddedCluster, users: Users, truth: Truth) -> None:
        """Until cancelled: what has ended is deleted, as users and controllers of finished jobs do it."""
        while True:
            await asyncio.sleep(_TIDY_EVERY_S)
            living = {pod["metadata"]["name"].partition("-")[0] for pod in truth.pods if not is_finished(pod)}
            for name in [name for name in self._owners if name not in living]:
                await users.delete_owner(name, self._owners.pop(name))
            for pod in truth.pods:
                if is_finished(pod) and not pod["metadata"].get("ownerReferences"):
                    await users.ask("DELETE", f"{objects.path('v1', 'pods')}/{pod['metadata']['name']}")
            for name, gang in truth.gangs().items():
                if gang.object is not None and not gang.members and not gang.object_metadata.get("ownerReferences"):
                    api_version = gang.object["apiVersion"]
                    await users.ask("DELETE", f"{objects.path(api_version, 'podgroups')}/{name.partition('@')[0][6:]}")
            users.deleted.clear()
            for event in cluster.store.items("events"):  # as an API server does it, an hour after they were written
                cluster.store.remove(event)

    async def _look(self, machines: list[Machine], truth: Truth, hour: int) -> Hour:
        """What is wrong after a moment of rest, and how large everything is."""
        for _ in range(_RESTS):
            await asyncio.sleep(_REST_S)
            untrue = [*untrue_statuses(truth), *drift(truth, machines[:1])]
            if not untrue:
                break
        self._wrong += untrue
        gc.collect()
        scheduler, controllers = machines
        found = sizes(scheduler.process.built, "scheduler") | sizes(controllers.process, "controllers")
        used = sum(asked(pod)["cpu"] for pod in truth.pods if node_of(pod) and not is_finished(pod))
        part, waiting = used / (self._nodes * NODE_CPUS * 1000), sum(map(is_pending, truth.pods))
        now = f"{part:.0%} of the CPUs taken of {LOAD:.0%} asked for, {waiting} pods waiting"
        self._tell(f"hour {hour + 1}: {self._pods} pods so far, {self._evicted} evicted; {now}; {resident_mb():.0f} MB")
        largest = sorted(found.items(), key=lambda each: -each[1])[:3]
        self._tell(f"  largest of {len(found)} structures: {largest}")
        return Hour(resident_mb(), self._pods, found)
