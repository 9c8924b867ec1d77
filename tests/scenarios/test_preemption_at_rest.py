"""Random stories of jobs that evict each other: when nothing happens any more, a restart changes nothing.

What a new scheduler would do at once, the old one should have done: a job that could start or make room was not woken
otherwise. Nor is room kept for anybody then. (Gangs that accumulate are left out: what they hold is nowhere written.)
"""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from tests.plan.constraints import HOSTNAME
from tests.scenarios.mirror import PODS
from tests.scenarios.objects import is_finished, node_of
from tests.scenarios.world import World

pytestmark = pytest.mark.random

_FIRST_WITH_ALL_MODES = 1000  # seeds before it mean what they meant
SEEDS = (*range(12), 23, 40, 128, 150, 180, *range(1000, 1012))  # some of them have found something
_STEPS = 24
_PROTECTED = "scheduling.koordinator.sh/disable-preemptible"
_MODE = "koordpy.io/disruption-mode"
_LONG_S = 45.0  # longer than any back-off, and shorter than the flush


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_restart_at_rest_changes_nothing(virtual: World, seed: int) -> None:
    modes = (None, "All", "Single", "Minimum") if seed >= _FIRST_WITH_ALL_MODES else ("All", None)
    story = Story(virtual, Random(seed), modes)
    await virtual.nodes(3, cpu=4)
    try:
        for _ in range(_STEPS):
            await story.step()
        await story.rest()
        before = story.picture()
        assert not story.promised(), f"room is kept for {story.promised()}"
        await virtual.restart()
        await story.rest()
        assert story.picture() == before
    except BaseException:
        print("\n".join(story.told))
        raise


class Story:
    """Things that users do, one after the other; victims leave when somebody looks after them."""

    def __init__(self, world: World, rng: Random, modes: tuple[str | None, ...]) -> None:
        self._world, self._rng, self._modes = world, rng, modes
        self._jobs = 0
        self.told: list[str] = []

    async def step(self) -> None:
        rng = self._rng
        does = rng.choice((self._job, self._job, self._job, self._gang, self._gang, self._leave, self._finish,
                           self._delete, self._protect, self._cordon, self._mode, self._restart))  # fmt: skip
        self.told.append(does.__name__)
        await does()
        await asyncio.sleep(rng.choice((0.01, 0.3, 2.0)))

    async def rest(self) -> None:
        """Victims leave, and whoever takes their place may have victims again, until nobody does."""
        while True:
            await asyncio.sleep(_LONG_S)
            if not await self._leave(everybody=True):
                return

    def picture(self) -> dict[str, str]:
        """Where each pod is."""
        return {pod["metadata"]["name"]: node_of(pod) for pod in self._world.mirror.all(PODS) if not is_finished(pod)}

    def promised(self) -> list[str]:
        """Pods that room is kept for."""
        pending = (pod for pod in self._world.mirror.all(PODS) if not node_of(pod))
        return [pod["metadata"]["name"] for pod in pending if pod["status"].get("nominatedNodeName")]

    # --- what users do ---

    async def _job(self) -> None:
        self._jobs += 1
        rng = self._rng
        given = {"cpu": rng.randint(1, 4), "priority": rng.choice((0, 1, 2, 5, 10))}
        given |= {"node_selector": {HOSTNAME: f"n{rng.randint(1, 3)}"}} if rng.random() < 0.2 else {}
        self.told[-1] += f" p{self._jobs} {given}"
        await self._world.urgent(f"p{self._jobs}", **given)

    async def _gang(self) -> None:
        self._jobs += 1
        rng, name = self._rng, f"g{self._jobs}"
        count = rng.randint(2, 4)
        minimum, cpu, priority = rng.randint(1, count), rng.randint(1, 3), rng.choice((0, 1, 2, 5, 10))
        self.told[-1] += f" {name} {minimum} of {count}, cpu {cpu}, priority {priority}"
        await self._world.pod_group(name, minimum=minimum)
        for number in range(1, count + 1):
            await self._world.urgent(f"{name}-{number}", gang=name, cpu=cpu, priority=priority)

    async def _leave(self, *, everybody: bool = False) -> list[str]:
        world = self._world
        leaving = [
            pod["metadata"]["name"]
            for pod in world.mirror.all(PODS)
            if "deletionTimestamp" in pod["metadata"] and (everybody or self._rng.random() < 0.5)
        ]
        await world.gone(*leaving)
        return leaving

    async def _finish(self) -> None:
        if running := self._running():
            await self._world.finish(self._rng.choice(running))

    async def _delete(self) -> None:
        if pods := [pod["metadata"]["name"] for pod in self._world.mirror.all(PODS)]:
            name = self._rng.choice(sorted(pods))
            self.told[-1] += f" {name}"
            await self._world.delete(name)

    async def _protect(self) -> None:
        if running := self._running():
            name = self._rng.choice(running)
            is_protected = _PROTECTED in (self._world.pod(name)["metadata"].get("labels") or {})
            self.told[-1] += f" {name} {not is_protected}"
            await self._world.label(name, labels={_PROTECTED: None if is_protected else "true"})

    async def _cordon(self) -> None:
        node, off = f"n{self._rng.randint(1, 3)}", self._rng.random() < 0.4
        self.told[-1] += f" {node} {off}"
        await self._world.change_node(node, unschedulable=off)

    async def _mode(self) -> None:
        gangs = [name for name in (f"g{number}" for number in range(1, self._jobs + 1)) if self._is_gang(name)]
        if gangs:
            name, mode = self._rng.choice(gangs), self._rng.choice(self._modes)
            self.told[-1] += f" {name} {mode}"
            await self._world.change_pod_group(name, annotations={_MODE: mode})

    async def _restart(self) -> None:
        await self._world.restart()

    def _running(self) -> list[str]:
        pods = (pod for pod in self._world.mirror.all(PODS) if node_of(pod) and not is_finished(pod))
        return sorted(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"])

    def _is_gang(self, name: str) -> bool:
        return any(pod["metadata"]["name"].startswith(f"{name}-") for pod in self._world.mirror.all(PODS))
