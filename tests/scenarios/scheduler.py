"""koordpy in the test's own loop: the whole process but its signals, started in milliseconds, stopped or killed.

A kill is one: its connection goes dead first, then every task that descends from the process is cancelled until none
is left, so that no clean-up of it can reach the API server.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import weakref
from collections.abc import Coroutine, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

from koordpy.app import process
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.kube.watch.shared import SharedReflectors
from tests.scenarios.faults import FaultyTransport

_READY_S = 20.0
_owner: contextvars.ContextVar[Instance | None] = contextvars.ContextVar("owner", default=None)


class Instance:
    """One run of the scheduler, or of the controllers."""

    def __init__(self, transport: FaultyTransport, running: Any) -> None:
        self.transport, self.process = transport, running
        self.tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()

    async def start(self) -> None:
        token = _owner.set(self)
        try:
            self._main = asyncio.create_task(self.process.run(), name="koordpy")
        finally:
            _owner.reset(token)
        ends = asyncio.get_running_loop().time() + _READY_S
        while not (report := self.process.health.report(verbose=False))[0]:
            self.check()
            assert asyncio.get_running_loop().time() < ends, f"not ready: {report[1]}"
            await asyncio.sleep(0.01)

    def check(self) -> None:
        """Raises what it died of."""
        if self._main.done():
            self._main.result()
            raise AssertionError("koordpy ended by itself")

    async def stop(self) -> None:
        """As by SIGTERM."""
        self._main.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._main

    async def kill(self) -> None:
        """As by SIGKILL."""
        self.transport.die()
        while left := [task for task in self.tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=0.01)


def scheduler_instance(transport: FaultyTransport, settings: Settings) -> Instance:
    client = Client(transport)
    return Instance(transport, process.Process(client, settings, SharedReflectors(client)))


@contextlib.contextmanager
def traceable_tasks() -> Iterator[None]:
    """Every task of the loop is remembered by the instance that it descends from."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(_task)
    # A picture of three nodes needs no tuning of the collector, and what is frozen would never be freed in a test run.
    idle = SimpleNamespace(collect=lambda: 0, freeze=lambda: None, unfreeze=lambda: None, isenabled=gc.isenabled)
    try:
        with mock.patch.object(process, "gc", idle):
            yield
    finally:
        loop.set_task_factory(None)


def _task(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **given: Any) -> asyncio.Task[Any]:
    task = asyncio.Task(coroutine, loop=loop, **given)
    if (owner := _owner.get()) is not None:
        owner.tasks.add(task)
    return task
