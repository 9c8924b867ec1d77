"""A cluster without schedulers, on virtual time: a test writes what a scheduler would, and asks the judge about it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.simulate.judge import Judge
from koordpy.sim.simulate.loop import VirtualLoop
from koordpy.sim.simulate.objects import NAMESPACE, path
from koordpy.sim.simulate.rest import untrue_statuses, wrong_at_rest
from koordpy.sim.simulate.surprises import Surprises
from koordpy.sim.simulate.surroundings import EPOCH
from koordpy.sim.simulate.users import Users
from koordpy.sim.simulate.world import prepare

_STEP_S = 1.0
Story = Callable[["Bench"], Awaitable[None]]


def told(story: Story) -> list[str]:
    """What the judge has to say in the end."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(_told(story, loop))
    finally:
        loop.close()


async def _told(story: Story, loop: VirtualLoop) -> list[str]:
    async with EmbeddedCluster(clock=lambda: EPOCH + loop.time(), quarantine_s=None) as cluster:
        await prepare(cluster)
        bench = Bench(cluster, loop)
        await bench.let_pass(100)  # nothing that comes now is news from the beginning
        await story(bench)
        return list(dict.fromkeys(bench.judge.wrong))


class Bench:
    """Users, nodes, and a scheduler's writes one by one."""

    def __init__(self, cluster: EmbeddedCluster, loop: VirtualLoop) -> None:
        self.users, self._loop = Users(cluster), loop
        self.surprises = Surprises()
        self.judge = Judge(cluster.store, self.surprises)
        self.gang, self.pod, self.node = self.users.gang, self.users.pod, self.users.node

    async def let_pass(self, seconds: float) -> None:
        until = self._loop.time() + seconds
        while self._loop.time() < until:
            await asyncio.sleep(_STEP_S)
            self.judge.check()

    async def bind(self, **nodes: str) -> None:
        """`gang_0="n1"`: names with underscores."""
        for name, node in nodes.items():
            pod = name.replace("_", "-")
            target = {"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}}
            status = await self.users.ask("POST", f"{path('v1', 'pods')}/{pod}/binding", target)
            assert status == 201, (pod, status)

    async def evict(self, victim: str, job: str, trigger: str) -> None:
        """As a scheduler does: it is told, and deleted."""
        message = (
            f"koord-scheduler: preempting to accommodate higher priority pods, "
            f"preemptor: {NAMESPACE}/{job}, triggerpod: {NAMESPACE}/{trigger}"
        )
        why: dict[str, Any] = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        body = {"status": {"conditions": [why | {"message": message}]}}
        strategic = {"content-type": "application/strategic-merge-patch+json"}
        target = f"{path('v1', 'pods')}/{victim}"
        assert await self.users.ask("PATCH", f"{target}/status", body, **strategic) == 200
        assert await self.users.ask("DELETE", target) == 200

    def at_rest(self) -> list[str]:
        truth = self.judge.truth
        return [*wrong_at_rest(truth), *untrue_statuses(truth)]
