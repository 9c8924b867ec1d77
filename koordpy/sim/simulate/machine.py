"""A machine: one process of koordpy with its own clocks and chance, that can be stopped, resumed, ended and killed.

A kill is one: none of the process's callbacks runs ever again, so that no clean-up of it reaches the API server. They
are kept until the world ends, and are then cancelled with a network that carries nothing.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from koordpy.sim.simulate.loop import RUNNING_ON, VirtualLoop

_SAID = 40  # of the last log lines of a machine


class Machine:
    """`name` is its hostname, and unlike that of any other run."""

    def __init__(self, name: str, seed: int, loop: VirtualLoop) -> None:
        self.name, self._loop = name, loop
        self.chance = random.Random(f"{seed} {name}")  # noqa: S311 - a simulation has to be repeatable
        self.stopped = False
        self.was_stopped = False
        self.is_dead = False
        self.backlog: list[asyncio.Handle] = []
        self.wall_offset = 0.0  # what a jump of its wall clock has added
        self.said: deque[str] = deque(maxlen=_SAID)
        self.process: Any = None  # what runs on it, for those who ask what it believes
        self.tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._context = contextvars.copy_context()
        self._context.run(RUNNING_ON.set, self)
        self._main: asyncio.Task[None] | None = None
        self._was_asked_to_end = False

    def start(self, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._main = self._loop.create_task(main(), name=self.name, context=self._context)

    @property
    def ended_by(self) -> str:
        """What the process ended by, though nobody killed it or asked it to end; empty while it runs."""
        if self._main is None or not self._main.done() or self.is_dead:
            return ""
        if self._main.cancelled():
            return "" if self._was_asked_to_end else "cancelled"
        return repr(self._main.exception())

    def stop(self) -> None:
        """As by SIGSTOP; its clocks go on."""
        self.stopped = self.was_stopped = True

    def go_on(self) -> None:
        if self.stopped and not self.is_dead:
            self.stopped = False
            self._loop.go_on(self)

    @property
    def has_ended(self) -> bool:
        """By itself; one that was killed never does."""
        return self._main is not None and self._main.done()

    async def end(self, grace_s: float) -> bool:
        """As by SIGTERM, and by SIGKILL if it has not ended by then. Whether it ended in time, or was stopped."""
        if self._main is None or self.is_dead:
            return True
        self._was_asked_to_end = True
        self._main.cancel()
        await asyncio.wait([self._main], timeout=grace_s)
        in_time = self.has_ended or self.stopped
        if not self.ended_by:  # a mistake of its own at the end stays to be seen
            self.kill()
        return in_time

    def kill(self) -> None:
        """As by SIGKILL."""
        self.stopped = self.is_dead = True

    async def dispose(self) -> None:
        """At the end of the world: nothing of it may be left in memory."""
        self.is_dead, self.stopped = True, False
        self._loop.go_on(self)
        while left := [task for task in self.tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=0.01)
        for task in self.tasks:
            if not task.cancelled():
                task.exception()  # has been asked for, and is not logged


def task_of_a_machine(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **given: Any
) -> asyncio.Task[Any]:
    """A task factory: each task is remembered by the machine that it runs on."""
    task = asyncio.Task(coroutine, loop=loop, **given)
    context = given.get("context")
    machine = context.get(RUNNING_ON) if context is not None else RUNNING_ON.get()
    if isinstance(machine, Machine):
        machine.tasks.add(task)
    return task
