"""What all verbs stand on: a server, a mirror of it, an observer, and waiting until something is so.

Waiting fails at once when the observer has seen what never may happen, or when the scheduler has died.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from koordpy.app.settings import LeaderElection
from tests.scenarios.api import Api
from tests.scenarios.mirror import PODS, Mirror
from tests.scenarios.objects import condition, node_of
from tests.scenarios.observer import Observer
from tests.scenarios.scheduler import Instance

Json = dict[str, Any]

_TINY_S = 1e-5  # virtual time moves in microseconds: less than one of them would never be over
_LOOK_EVERY_S = 0.05  # what is waited for need not be on the mirror


class Ground:
    """`wait_s`: until something expected counts as missing; `quiet_s`: long enough to see that nothing happens."""

    def __init__(
        self,
        server: Api,
        mirror: Mirror,
        observer: Observer,
        *,
        namespace: str,
        new_instance: Callable[[dict[str, Any], LeaderElection], Instance],
        wait_s: float,
        quiet_s: float,
    ) -> None:
        self.api, self.mirror, self.observer, self.namespace = server, mirror, observer, namespace
        self.new_instance = new_instance  # from the fields of CoschedulingArgs
        self.instance: Instance | None = None  # while it runs
        self._wait_s, self._quiet_s = wait_s, quiet_s

    def pod(self, name: str, namespace: str = "") -> Json:
        found = self.mirror.pod(namespace or self.namespace, name)
        assert found is not None, f"there is no pod {name}"
        return found

    def group(self, *names: str) -> list[str]:
        """The value of a groups annotation: gangs of this namespace."""
        return [f"{self.namespace}/{name}" for name in names]

    async def until(self, true: Callable[[], Any], what: str) -> Any:
        """Wait until it is true, or something that counts as true; that is returned."""
        ends = asyncio.get_running_loop().time() + self._wait_s
        while True:
            self.check()
            if found := true():
                return found
            left = ends - asyncio.get_running_loop().time()
            assert left > _TINY_S, f"never happened: {what}\n{self.describe()}"
            await self._next_change(min(left, _LOOK_EVERY_S))

    async def stays(self, true: Callable[[], Any], what: str, *, share: float = 1.0) -> None:
        """It is so, and stays so for a while, or a share of it."""
        ends = asyncio.get_running_loop().time() + share * self._quiet_s
        while (left := ends - asyncio.get_running_loop().time()) > _TINY_S:
            self.check()
            assert true(), f"not so, or not any more: {what}\n{self.describe()}"
            await self._next_change(left)

    def check(self) -> None:
        self.mirror.check()
        self.observer.check()
        if self.instance is not None:
            self.instance.check()

    def describe(self) -> str:
        """All pods, for the message of a failure."""
        lines = []
        for pod in self.mirror.all(PODS):
            meta, told = pod["metadata"], condition(pod)
            where = node_of(pod) or f"{told.get('reason', '')}: {told.get('message', 'says nothing')}"
            lines.append(f"  {meta['namespace']}/{meta['name']}: {where}")
        return "\n".join(sorted(lines))

    def fill(self, text: str) -> str:
        return text.replace("{ns}", self.namespace)

    def filled(self, annotations: dict[str, Any] | None) -> dict[str, Any]:
        return {key: self.fill(value) if value else value for key, value in (annotations or {}).items()}

    async def _next_change(self, seconds: float) -> None:
        self.mirror.changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.mirror.changed.wait()
