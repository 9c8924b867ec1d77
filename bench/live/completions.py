"""Completes pods: deletes each gang with a run time when that has passed since its last bind.

It stands in for kubelets and job controllers in the replay of a trace. Its deletions are no evictions.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from collections.abc import Iterable
from typing import Self

from bench.live.objects import Gang
from bench.live.observer import Observer
from tests.controlplane.client import Client

POLL_SECONDS = 0.05


class Completions:
    """`async with Completions(client, observer, gangs) as completions`, and `await completions.wait_completed()`."""

    def __init__(self, client: Client, observer: Observer, gangs: Iterable[Gang]) -> None:
        self._client = client
        self._observer = observer
        self._finite = [gang for gang in gangs if gang.lasts < math.inf]
        self._gang_of = {name: gang for gang in self._finite for name in gang.member_names()}
        self._missing = {gang.name: gang.size for gang in self._finite}
        self.completed: dict[str, float] = {}  # pod -> when it was deleted

    async def __aenter__(self) -> Self:
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._following

    async def wait_completed(self) -> None:
        """Wait until all gangs that are fully bound are deleted; the verdict reports the others."""
        bound = self._observer.bound
        fully_bound = [gang for gang in self._finite if all(name in bound for name in gang.member_names())]
        while len(self.completed) < sum(gang.size for gang in fully_bound):
            await asyncio.wait((self._following,), timeout=POLL_SECONDS)
            if self._following.done():
                self._following.result()  # raises its error

    async def _follow(self) -> None:
        seen = 0
        async with asyncio.TaskGroup() as group:
            while True:
                new = list(itertools.islice(self._observer.bound, seen, None))
                seen += len(new)
                for gang in (self._gang_of[name] for name in new if name in self._gang_of):
                    self._missing[gang.name] -= 1
                    if not self._missing[gang.name]:
                        group.create_task(self._complete(gang))
                await asyncio.sleep(POLL_SECONDS)

    async def _complete(self, gang: Gang) -> None:
        names = gang.member_names()
        due = max(self._observer.bound[name] for name in names) + gang.lasts
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        # First, since the observer may see the deletion before the answer arrives.
        self.completed |= dict.fromkeys(names, time.monotonic())
        await asyncio.gather(*(self._client.delete("pods", name, grace=0) for name in names))
