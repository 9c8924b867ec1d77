"""Verbs: Queues, jobs in them, and declared run times."""

from __future__ import annotations

import asyncio
from typing import Any

from koordpy.api.times import instant_of_seconds, seconds_of_instant
from tests.scenarios import api
from tests.scenarios.api import MERGE, STRATEGIC
from tests.scenarios.evicting import EvictingVerbs
from tests.scenarios.frontends import FrontEndVerbs
from tests.scenarios.mirror import KAI_GROUPS, PODS, QUEUES
from tests.scenarios.objects import node_of

LABEL = "kai.scheduler/queue"
RUN_TIME = "koordpy.io/run-time"
RESERVED = "koordpy.io/reserved-start"


class QueueVerbs(FrontEndVerbs, EvictingVerbs):
    """`queue("a", quota=2, limit=4)` is in CPUs. Whoever has queues may reclaim, whatever the priority."""

    async def queue(
        self, name: str, *, quota: int = 0, limit: int = -1, weight: int = 1, parent: str = "", **spec: Any
    ) -> None:
        self.observer.evictions.by_right = True
        body = {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": self._resources(quota, limit, weight) | ({"parentQueue": parent} if parent else {}) | spec,
        }
        await self.api.ask("POST", QUEUES, body)
        await self.until(lambda: self.mirror.find(QUEUES, "", name), f"Queue {name}")

    async def queues(self, *names: str, **given: Any) -> None:
        for name in names:
            await self.queue(name, **given)

    async def change_queue(self, name: str, *, quota: int = 0, limit: int = -1, weight: int = 1, **spec: Any) -> None:
        body = {"spec": self._resources(quota, limit, weight) | spec}
        await self.api.ask("PATCH", f"{QUEUES}/{name}", body, MERGE)

    async def delete_queue(self, name: str) -> None:
        await self.api.ask("DELETE", f"{QUEUES}/{name}")
        await self.until(lambda: not self.mirror.find(QUEUES, "", name), f"no Queue {name}")

    def _resources(self, quota: int, limit: int, weight: int) -> dict[str, Any]:
        quota, limit = (each * 1000 if each > 0 else each for each in (quota, limit))
        return {"resources": {"cpu": {"quota": quota, "limit": limit, "overQuotaWeight": weight}}}

    async def in_queue(self, queue: str, *names: str, **given: Any) -> None:
        """Pods of one CPU that name their queue."""
        labels = {LABEL: queue} | given.pop("labels", {})
        await self.pods(*names, labels=labels, **({"cpu": 1} | given))

    async def jobs_of(self, queue: str, count: int, **given: Any) -> list[str]:
        """Pods a-1, a-2, ... of queue a."""
        names = [f"{queue}-{number}" for number in range(1, count + 1)]
        await self.in_queue(queue, *names, **given)
        return names

    def placed_in(self, queue: str) -> int:
        """How many pods that name a queue have a node, and are not leaving it."""
        pods = [pod for pod in self.mirror.all(PODS) if (pod["metadata"].get("labels") or {}).get(LABEL) == queue]
        return sum(bool(node_of(pod)) and "deletionTimestamp" not in pod["metadata"] for pod in pods)

    async def have(self, **counts: int) -> None:
        """`have(a=3, b=1)`: so many pods of each queue have a node, and it stays so."""
        now = {queue: self.placed_in(queue) for queue in counts}
        await self.until(lambda: all(self.placed_in(q) == n for q, n in counts.items()), f"{counts}, and it was {now}")
        await self.stays(lambda: all(self.placed_in(q) == n for q, n in counts.items()), f"{counts}")

    async def victims_gone(self, rounds: int = 8) -> None:
        """Whoever is evicted goes at once, until nobody is any more."""
        quiet = 0
        while quiet < 3:
            await self.settled()
            names = [each for each in self.observer.evictions.names if self.mirror.pod(self.namespace, each)]
            quiet = 0 if names else quiet + 1
            await self.gone(*names)
            rounds -= bool(names)
            assert rounds >= 0, f"evictions do not stop: {self.observer.evictions.names}"

    # --- run times ---

    async def timed(self, *names: str, seconds: int | None = None, **given: Any) -> None:
        """Pods of one CPU that declare their run time."""
        said = {RUN_TIME: f"{seconds}s"} if seconds else {}
        await self.pods(*names, annotations=said | given.pop("annotations", {}), **({"cpu": 1} | given))

    async def starts_now(self, *names: str) -> None:
        """The kubelets of bound pods begin with them."""
        for name in names:
            await self.bound(name)
            status = {"status": {"phase": "Running", "startTime": instant_of_seconds(self._wall())}}
            await self.api.ask("PATCH", api.pods(self.namespace, name, "status"), status, STRATEGIC)
            await self.until(lambda name=name: self.pod(name)["status"].get("startTime"), f"{name} has started")
        await self.settled()

    def reserved_start(self, *, gang: str = "", pod: str = "") -> str:
        found = self.mirror.find(KAI_GROUPS, self.namespace, gang) if gang else self.pod(pod)
        return ((found or {})["metadata"].get("annotations") or {}).get(RESERVED, "")

    async def reserved(self, *, within: float, gang: str = "", pod: str = "") -> str:
        """A start is promised, at most so many seconds from now; returns it."""
        what = f"a reservation of {gang or pod}"
        at = await self.until(lambda: self.reserved_start(gang=gang, pod=pod), what)
        assert 0 <= seconds_of_instant(at) - self._wall() + 1 <= within + 1, f"{at} is not within {within} s"
        return at

    async def not_reserved(self, *, gang: str = "", pod: str = "") -> None:
        await self.until(lambda: not self.reserved_start(gang=gang, pod=pod), f"no reservation of {gang or pod}")

    async def let_pass(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
