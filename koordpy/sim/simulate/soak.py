"""Days of churn on a large cluster, without faults: memory must not grow, and the picture must stay the truth.

One scheduler and the controllers. Gangs and pods come at a steady rate, run, and are deleted when they have ended. What
is told after each simulated hour are sizes: of memory, and of every structure of the scheduler that has a length.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.simulate import objects
from koordpy.sim.simulate.beliefs import drift
from koordpy.sim.simulate.loop import VirtualLoop
from koordpy.sim.simulate.machine import Machine, task_of_a_machine
from koordpy.sim.simulate.network import Network
from koordpy.sim.simulate.objects import FRONT_ENDS
from koordpy.sim.simulate.surroundings import EPOCH, Surroundings
from koordpy.sim.simulate.truth import Truth, is_finished
from koordpy.sim.simulate.users import Users
from koordpy.sim.simulate.weather import Weather
from koordpy.sim.simulate.world import prepare, run_controllers, run_scheduler

Json = dict[str, Any]

_HOUR_S = 3600.0
_RUNS_S = (300, 1800, 7200)
_GROWN = 1.05  # the last third against the middle one
_FEW = 2000  # entries: what is smaller does not count as growing


class Hour(NamedTuple):
    """At the end of a simulated hour."""

    memory_mb: float
    pods: int  # that were created so far
    sizes: dict[str, int]


def soak(hours: int, nodes: int, tell: Callable[[str], object], *, jobs_an_hour: int = 120, seed: int = 0) -> int:
    """How many things were wrong, at most 1."""
    loop = VirtualLoop()
    loop.set_task_factory(task_of_a_machine)  # type: ignore[arg-type]  # the protocol has changed between versions
    try:
        told, wrong = loop.run_until_complete(_Soak(hours, nodes, jobs_an_hour, seed, tell).run(loop))
    finally:
        loop.close()
    wrong += grown(told)
    for each in wrong:
        tell(f"wrong: {each}")
    tell(f"{hours} hours on {nodes} nodes, {told[-1].pods} pods: {len(wrong)} wrong")
    return int(bool(wrong))


def grown(told: list[Hour]) -> list[str]:
    """What is larger in the last third than in the middle one."""
    third = len(told) // 3
    if not third:
        return []
    middle, last = told[-2 * third : -third], told[-third:]
    before, after = mean(each.memory_mb for each in middle), mean(each.memory_mb for each in last)
    found = [f"memory grew from {before:.0f} to {after:.0f} MB"] if after > before * _GROWN else []
    for name in last[-1].sizes:
        had, has = mean(e.sizes.get(name, 0) for e in middle), mean(e.sizes.get(name, 0) for e in last)
        if has > max(had * _GROWN, had + _FEW):
            found.append(f"{name} grew from {had:.0f} to {has:.0f} entries")
    return found


class _Soak:
    def __init__(self, hours: int, nodes: int, jobs_an_hour: int, seed: int, tell: Callable[[str], object]) -> None:
        self._hours, self._nodes, self._pause_s, self._seed, self._tell = (
            hours,
            nodes,
            _HOUR_S / jobs_an_hour,
            seed,
            tell,
        )
        self._dice = random.Random(f"soak {seed}")  # noqa: S311 - see Machine
        self._wrong: list[str] = []
        self._jobs = self._pods = 0

    async def run(self, loop: VirtualLoop) -> tuple[list[Hour], list[str]]:
        told: list[Hour] = []
        with Surroundings(self._seed, self._wrong.append).in_place():
            async with EmbeddedCluster(clock=lambda: EPOCH + loop.time(), history=2000) as cluster:
                await prepare(cluster)
                users, truth = Users(cluster), Truth(cluster.store)
                for number in range(self._nodes):
                    await users.node(f"node-{number}", cpu=16, gpu=0)
                machines = [self._start(role, cluster, loop) for role in ("scheduler-a", "controllers-a")]
                for hour in range(self._hours):
                    while loop.time() < (hour + 1) * _HOUR_S:
                        await self._submit(users)
                        await asyncio.sleep(self._pause_s)
                    await self._tidy(users, truth)
                    told.append(self._look(machines[0], hour))
                    self._wrong += drift(truth, machines[:1])
                    self._wrong += [f"{each.name} ended: {each.ended_by}" for each in machines if each.ended_by]
                    if self._wrong:
                        break
                for machine in machines:
                    await machine.dispose()
        return told, self._wrong

    def _start(self, role: str, cluster: EmbeddedCluster, loop: VirtualLoop) -> Machine:
        machine = Machine(f"{role}0", self._seed, loop)
        network = Network(cluster, machine, Weather(self._seed, []), lambda *_: None, lambda *_: None)
        machine.start(lambda: (run_scheduler if role.startswith("s") else run_controllers)(machine, network))
        return machine

    async def _submit(self, users: Users) -> None:
        dice = self._dice
        self._jobs += 1
        ask: Json = {
            "cpu": dice.choice((1, 2, 4)),
            "run_s": dice.choice(_RUNS_S),
            "priority": dice.choice(("low", "mid")),
        }
        members = dice.choice((1, 1, 2, 4, 8, 16))
        self._pods += members
        if members == 1:
            await users.pod(f"job{self._jobs}", **ask)
        else:
            gang = {"frontend": dice.choice(FRONT_ENDS), "members": members, "minimum": members}
            await users.gang(f"job{self._jobs}", **ask, **gang)

    async def _tidy(self, users: Users, truth: Truth) -> None:
        """What has ended is deleted, as a controller of finished jobs does it; and then a moment of rest."""
        for pod in truth.pods:
            if is_finished(pod):
                await users.ask("DELETE", f"{objects.path('v1', 'pods')}/{pod['metadata']['name']}")
        for name, gang in truth.gangs().items():
            if gang.object is not None and not gang.members:
                api_version = gang.object["apiVersion"]
                await users.ask("DELETE", f"{objects.path(api_version, 'podgroups')}/{name.partition('@')[0][6:]}")
        await asyncio.sleep(30.0)

    def _look(self, scheduler: Machine, hour: int) -> Hour:
        gc.collect()
        found = Hour(_resident_mb(), self._pods, dict(_sizes(scheduler.process.built, "scheduler")))
        largest = sorted(found.sizes.items(), key=lambda each: -each[1])[:3]
        self._tell(f"hour {hour + 1}: {found.memory_mb:.0f} MB, {found.pods} pods so far; largest: {largest}")
        return found


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def _sizes(root: object, name: str, most_depth: int = 4) -> Iterator[tuple[str, int]]:
    """Of everything with a length that hangs on an object of koordpy's, by the way that leads there."""
    seen: set[int] = set()
    left = [(root, name, 0)]
    while left:
        thing, path, depth = left.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, dict | list | set):
            yield path, len(thing)
        elif depth < most_depth and type(thing).__module__.startswith("koordpy."):
            keys = sorted({*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())})
            left += [(getattr(thing, key, None), f"{path}.{key}", depth + 1) for key in keys]
