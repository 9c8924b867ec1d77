"""Pods that end: each gang with a run time is taken away when that has passed since it was whole.

The stand-in for kubelets and job controllers where a trace is replayed. What it deletes, nobody has evicted.
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

LOOK_SECONDS = 0.05


class Ends:
    """`async with Ends(client, observer, gangs) as ends`, and `await ends.all_ended()`."""

    def __init__(self, client: Client, observer: Observer, gangs: Iterable[Gang]) -> None:
        self._client = client
        self._observer = observer
        self._ending = [gang for gang in gangs if gang.lasts < math.inf]
        self._gang_of = {name: gang for gang in self._ending for name in gang.member_names()}
        self._missing = {gang.name: gang.size for gang in self._ending}
        self.ended: dict[str, float] = {}  # pod -> when it was taken away

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._looking

    async def all_ended(self) -> None:
        """Of the gangs that have become whole: the others are the verdict's business."""
        bound = self._observer.bound
        whole = [gang for gang in self._ending if all(name in bound for name in gang.member_names())]
        while len(self.ended) < sum(gang.size for gang in whole):
            await asyncio.wait((self._looking,), timeout=LOOK_SECONDS)
            if self._looking.done():
                self._looking.result()  # raises what it died of

    async def _look(self) -> None:
        seen = 0
        async with asyncio.TaskGroup() as group:
            while True:
                new = list(itertools.islice(self._observer.bound, seen, None))
                seen += len(new)
                for gang in (self._gang_of[name] for name in new if name in self._gang_of):
                    self._missing[gang.name] -= 1
                    if not self._missing[gang.name]:
                        group.create_task(self._end(gang))
                await asyncio.sleep(LOOK_SECONDS)

    async def _end(self, gang: Gang) -> None:
        names = gang.member_names()
        due = max(self._observer.bound[name] for name in names) + gang.lasts
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        self.ended |= dict.fromkeys(names, time.monotonic())  # first: the observer may see it before the answer comes
        await asyncio.gather(*(self._client.delete("pods", name, grace=0) for name in names))
