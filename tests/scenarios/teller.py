"""Tells random stories: gangs, nodes, mishaps and crashes in any order; in the end there is room, and everybody runs.

The observer is the judge of what happens on the way. A story is a function of its seed as far as the world is: the
same seed does the same things in the same order. It avoids only what no scheduler could help: that a member goes
while its gang is being bound.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from koordpy.sim.simulate.reading import gang_of
from tests.scenarios.mirror import PODS
from tests.scenarios.objects import TIMED_OUT, gang, is_finished, node_of
from tests.scenarios.world import World

_MOST_GANGS = 8
_MOST_NODES = 6
_POLICIES = ("once-satisfied", "once-satisfied", "waiting-and-running", "only-waiting")


@dataclass
class Cast:
    """A gang of the story."""

    name: str
    minimum: int
    needs_object: bool
    annotations: dict[str, str]
    priority: int | None
    pods: int = 0
    has_pod_group: bool = False


class Teller:
    """One story."""

    def __init__(self, world: World, seed: int, pause_s: float) -> None:
        self._world, self._random, self._pause_s = world, random.Random(seed), pause_s
        self._gangs: dict[str, Cast] = {}
        self._nodes: dict[str, bool] = {}  # name -> cordoned
        self._singles = 0
        self.told: list[str] = []

    async def tell(self, chapters: int) -> None:
        for _ in range(2):
            await self._add_node()
        for _ in range(chapters):
            await self._chapter()
        await self._happy_end()

    async def _chapter(self) -> None:
        if self._world.is_dead:
            await self._recover()
        chapter = self._random.choice(self._chapters())
        self.told.append(chapter.__name__)
        await asyncio.sleep(self._pause_s)  # binds under way arrive, so that it is clear what may be deleted
        await chapter()

    def _chapters(self) -> list[Callable[[], Awaitable[None]]]:
        often = [self._new_gang, self._new_member, self._new_member, self._new_member, self._lose_pod, self._finish_pod]
        seldom = [self._new_group, self._new_single, self._add_node, self._cordon, self._lose_node, self._grow_node]
        rare = [self._change_minimum, self._change_mode, self._leave_group, self._ungate, self._lose_pod_group]
        rare += [self._time_passes]
        mishaps = [self._restart, self._doom, self._bind_trouble, self._cut_watches, self._outage]
        return [*often, *often, *often, *seldom, *seldom, *rare, *mishaps]

    # --- gangs ---

    async def _new_gang(self) -> None:
        await self._add_gang(policy=self._random.choice(_POLICIES), groups=None)

    async def _new_group(self) -> None:
        """Two gangs that list each other."""
        number = len(self._gangs)
        both = self._world.group(f"g{number}", f"g{number + 1}")
        policy = self._random.choice(_POLICIES[:3])
        for _ in both:
            await self._add_gang(policy=policy, groups=both)

    async def _add_gang(self, policy: str, groups: list[str] | None) -> None:
        if groups is None and len(self._gangs) >= _MOST_GANGS:
            return
        choose = self._random.choice
        wait = choose((None, None, "5s"))
        said = gang(mode=choose(("Strict", "NonStrict")), policy=policy, groups=groups, wait=wait)
        cast = Cast(
            f"g{len(self._gangs)}",
            choose((1, 2, 3, 4)),
            needs_object=choose((True, False)),
            annotations=said,
            priority=choose((None, None, 10)),
        )
        self._gangs[cast.name] = cast
        if cast.needs_object and choose((True, True, False)):
            await self._make_pod_group(cast)
        await self._add_members(cast, self._random.randint(0, cast.minimum + 1))

    async def _make_pod_group(self, cast: Cast) -> None:
        cast.has_pod_group = True
        await self._world.pod_group(cast.name, minimum=cast.minimum, annotations=cast.annotations)

    async def _add_members(self, cast: Cast, count: int, **more: Any) -> None:
        names = [f"{cast.name}-{number}" for number in range(cast.pods, cast.pods + count)]
        cast.pods += count
        more |= {"cpu": 1, "priority": cast.priority}
        if cast.needs_object:
            await self._world.pods(*names, gang=cast.name, **more)
        else:
            said = cast.annotations | gang(cast.name, minimum=cast.minimum)
            await self._world.pods(*names, annotations=said, **more)

    async def _new_member(self) -> None:
        if self._gangs:
            cast = self._random.choice(list(self._gangs.values()))
            await self._add_members(cast, 1, gated=self._random.random() < 0.15)

    async def _change_minimum(self) -> None:
        cast = self._some_gang(lambda cast: cast.has_pod_group)
        if cast is not None:
            cast.minimum = self._random.choice((1, 2, 3, 4))
            await self._world.change_pod_group(cast.name, minMember=cast.minimum)

    async def _change_mode(self) -> None:
        cast = self._some_gang(lambda cast: cast.has_pod_group)
        if cast is not None:
            cast.annotations |= gang(mode=self._random.choice(("Strict", "NonStrict")))
            await self._world.change_pod_group(cast.name, annotations=cast.annotations)

    async def _leave_group(self) -> None:
        """Its partner may still list it; then that one waits for it, and not the other way round."""
        cast = self._some_gang(lambda cast: cast.has_pod_group)
        if cast is not None:
            cast.annotations |= gang(groups="")
            await self._world.change_pod_group(cast.name, annotations=cast.annotations)

    async def _lose_pod_group(self) -> None:
        cast = self._some_gang(lambda cast: cast.has_pod_group)
        if cast is not None:
            cast.has_pod_group = False
            await self._world.delete_pod_group(cast.name)

    def _some_gang(self, suits: Callable[[Cast], bool]) -> Cast | None:
        found = [cast for cast in self._gangs.values() if suits(cast) and self._may_change(cast.name)]
        return self._random.choice(found) if found else None

    def _may_change(self, name: str) -> bool:
        """Nothing of it, or of a partner, is bound in part or being bound."""
        number = int(name[1:])
        near = [f"{self._world.namespace}/g{each}" for each in (number - 1, number, number + 1)]
        return self._world.instance is not None and all(map(self._world.observer.may_lose_members, near))

    # --- pods ---

    async def _new_single(self) -> None:
        self._singles += 1
        await self._world.pods(f"single-{self._singles}", cpu=1, priority=self._random.choice((None, None, 10)))

    async def _lose_pod(self) -> None:
        name = self._some_pod(lambda _: True)
        if name:
            await self._world.delete(name)

    async def _finish_pod(self) -> None:
        name = self._some_pod(lambda pod: bool(node_of(pod)) and not is_finished(pod))
        if name:
            await self._world.finish(name, phase=self._random.choice(("Succeeded", "Failed")))

    async def _ungate(self) -> None:
        name = self._some_pod(lambda pod: bool(pod["spec"].get("schedulingGates")))
        if name:
            await self._world.ungate(name)

    def _some_pod(self, suits: Callable[[dict[str, Any]], bool]) -> str:
        found = sorted(
            pod["metadata"]["name"]
            for pod in self._world.mirror.all(PODS)
            if suits(pod) and (gang_of(pod) is None or self._may_change(pod["metadata"]["name"].partition("-")[0]))
        )
        return self._random.choice(found) if found else ""

    # --- nodes ---

    async def _add_node(self) -> None:
        if len(self._nodes) < _MOST_NODES:
            name = f"node-{len(self.told)}-{len(self._nodes)}"
            self._nodes[name] = False
            await self._world.node(name, cpu=self._random.choice((1, 2, 3)))

    async def _cordon(self) -> None:
        if self._nodes and self._world.instance is not None:
            name = self._random.choice(list(self._nodes))
            self._nodes[name] = not self._nodes[name]
            await self._world.change_node(name, unschedulable=self._nodes[name] or None)

    async def _lose_node(self) -> None:
        if len(self._nodes) > 2 and self._world.instance is not None and self._world.observer.at_rest():
            name = self._random.choice(list(self._nodes))
            del self._nodes[name]
            await self._world.delete_node(name)

    async def _grow_node(self) -> None:
        if self._nodes:
            await self._world.resize_node(self._random.choice(list(self._nodes)), cpu=4)

    # --- time and mishaps ---

    async def _time_passes(self) -> None:
        await asyncio.sleep(self._random.choice((1, 5, 20)) * self._pause_s)

    async def _restart(self) -> None:
        if self._world.instance is not None:
            await self._world.restart(onTimeout=self._random.choice(("Abandon", "Retry")))

    async def _doom(self) -> None:
        if self._world.instance is not None:
            self._world.doom(after_binds=self._random.choice((0, 1, 2)))

    async def _recover(self) -> None:
        await self._world.bury()
        for _ in range(self._random.choice((0, 0, 1, 2))):
            await self._new_member()
        await self._world.start()

    async def _bind_trouble(self) -> None:
        times = self._random.choice((1, 2, 8))
        if self._random.random() < 0.5:
            self._world.fails("bind", status=self._random.choice((0, 409, 429, 500, 503)), times=times)
        else:
            self._world.loses_answer("bind", status=self._random.choice((0, 500)), times=times)

    async def _cut_watches(self) -> None:
        if self._world.instance is not None:
            self._world.instance.transport.cut_watches()

    async def _outage(self) -> None:
        if self._world.instance is not None:
            async with self._world.outage(after_binds=self._random.choice((0, 0, 1))):
                await self._new_member()
                await asyncio.sleep(4 * self._pause_s)

    # --- the end ---

    async def _happy_end(self) -> None:
        """Every gang gets as many new members as its minimum, so that it is complete under any match policy."""
        world = self._world
        if world.is_dead:
            await self._recover()
        world.heals()
        world.doom(after_binds=100_000)
        for cast in self._gangs.values():
            if cast.needs_object and not cast.has_pod_group:
                await self._make_pod_group(cast)
            await self._add_members(cast, cast.minimum)
        for pod in world.mirror.all(PODS):
            if TIMED_OUT in (pod["metadata"].get("annotations") or {}):
                await world.annotate(pod["metadata"]["name"], timeout=None)
            if pod["spec"].get("schedulingGates"):
                await world.ungate(pod["metadata"]["name"])
        await world.node("plenty", cpu=500, pods=500)
        await world.until(lambda: not self._left_behind(), "everybody runs")

    def _left_behind(self) -> list[str]:
        pending = [pod for pod in self._world.mirror.all(PODS) if not node_of(pod)]
        return [pod["metadata"]["name"] for pod in pending if not self._waits_for_a_batch(pod, pending)]

    def _waits_for_a_batch(self, pod: dict[str, Any], pending: list[dict[str, Any]]) -> bool:
        """Only waiting members count for its gang, and there are too few: some were bound while others came."""
        cast = self._gangs.get(pod["metadata"]["name"].partition("-")[0])
        if cast is None or "only-waiting" not in cast.annotations.values():
            return False
        return sum(gang_of(each) == gang_of(pod) for each in pending) < cast.minimum
