"""What koordpy's modules ask of the computer that they run on: clocks, chance, its name, a port, a log.

While a world runs they get those of the machine in whose context they ask. This is the one place that reaches into
other modules; a parameter for each would have to be handed through every constructor, for a simulation alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import random
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from koordpy.kube import backoff
from koordpy.server import http
from koordpy.sim.simulate.loop import RUNNING_ON
from koordpy.sim.simulate.machine import Machine

EPOCH = 1_800_000_000.0
_OWN = "koordpy.sim."  # the world itself has no machine
_IMPORTED_LATE = ("controllers.grouping.expansion", "server.answers", "server.authorization", "server.gangs")
_SAYINGS = ("debug", "info", "warning", "error", "exception", "critical")
OnMistake = Callable[[str], None]


class Surroundings:
    """Those of one world; `on_mistake` is told what a machine logs as an exception of its own."""

    def __init__(self, seed: int, on_mistake: OnMistake) -> None:
        self._nobody = random.Random(f"{seed} nobody")  # noqa: S311 - see Machine
        self._looks = 0
        self._on_mistake = on_mistake

    def monotonic(self) -> float:
        """The loop's time, and a nanosecond more with each look, as a real clock moves between two looks at it.

        Without that, a sum of times that is beyond the loop's time by rounding alone would never be reached.
        """
        self._looks += 1
        return asyncio.get_running_loop().time() + self._looks * 1e-9

    def wall(self) -> float:
        machine = RUNNING_ON.get()
        return EPOCH + self.monotonic() + (machine.wall_offset if isinstance(machine, Machine) else 0.0)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Until the block ends."""
        for name in _IMPORTED_LATE:
            import_module(f"koordpy.{name}")
        clocks = {"monotonic": self.monotonic, "time": self.wall}
        chance = {"random": lambda: self._chance().random(), "randrange": lambda *args: self._chance().randrange(*args)}
        modules: dict[str, tuple[ModuleType, Any]] = {
            "time": (time, SimpleNamespace(**vars(time) | clocks)),
            "random": (random, SimpleNamespace(**vars(random) | chance)),
            "secrets": (secrets, SimpleNamespace(**vars(secrets) | {"token_hex": self._token})),
            "socket": (socket, SimpleNamespace(**vars(socket) | {"gethostname": _hostname})),
            # The state of a few nodes needs no tuning of the collector, and what is frozen would never be freed.
            "gc": (gc, SimpleNamespace(**vars(gc) | {"collect": lambda: 0, "freeze": lambda: None})),
        }
        undo: list[tuple[Any, str, Any]] = []

        def put(owner: Any, name: str, value: Any) -> None:
            undo.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)

        try:
            for name, module in sorted(sys.modules.items()):
                if name.partition(".")[0] == "koordpy" and not name.startswith(_OWN):
                    for attribute, (real, replaced) in modules.items():
                        if getattr(module, attribute, None) is real:
                            put(module, attribute, replaced)
                    if hasattr(getattr(module, "log", None), "exception"):
                        put(module, "log", _Log(self._on_mistake))
                    for function in _functions(module, name):
                        self._put_defaults(function, put)
            put(backoff, "_SHARED", SimpleNamespace(random=chance["random"]))
            put(http, "serve", _serve)
            yield
        finally:
            for owner, name, value in reversed(undo):
                setattr(owner, name, value)

    def _put_defaults(self, function: FunctionType, put: Callable[[Any, str, Any], None]) -> None:
        """Clocks that stand as defaults in signatures."""
        clocks = {time.monotonic: self.monotonic, time.time: self.wall}

        def replaced(value: Any) -> Any:
            return clocks[value] if any(value is clock for clock in clocks) else value

        defaults, by_name = function.__defaults__ or (), function.__kwdefaults__ or {}
        if any(value is clock for clock in clocks for value in defaults):
            put(function, "__defaults__", tuple(map(replaced, defaults)))
        if any(value is clock for clock in clocks for value in by_name.values()):
            put(function, "__kwdefaults__", {key: replaced(value) for key, value in by_name.items()})

    def _chance(self) -> random.Random:
        machine = RUNNING_ON.get()
        return machine.chance if isinstance(machine, Machine) else self._nobody

    def _token(self, size: int = 16) -> str:
        return self._chance().randbytes(size).hex()


class _Log:
    """Keeps what a machine says, and tells of its mistakes."""

    def __init__(self, on_mistake: OnMistake) -> None:
        self._on_mistake = on_mistake

    def __getattr__(self, level: str) -> Callable[..., None]:
        if level not in _SAYINGS:
            raise AttributeError(level)
        return lambda event, **fields: self._say(level, event, fields)

    def _say(self, level: str, event: str, fields: dict[str, Any]) -> None:
        machine = RUNNING_ON.get()
        if not isinstance(machine, Machine) or machine.is_dead:
            return
        told = " ".join(f"{key}={value}" for key, value in fields.items())
        machine.said.append(f"{asyncio.get_running_loop().time():.3f} {level} {event} {told}")
        if level in ("exception", "critical"):
            error = sys.exc_info()[1]
            self._on_mistake(f"{machine.name} made a mistake: {event} {told}: {error!r}")


def _hostname() -> str:
    machine = RUNNING_ON.get()
    return machine.name if isinstance(machine, Machine) else "nobody"


async def _serve(*_: Any, **__: Any) -> None:
    """Nobody asks over HTTP."""
    await asyncio.Event().wait()


def _functions(module: Any, name: str) -> Iterator[FunctionType]:
    for _, member in inspect.getmembers(module):
        if getattr(member, "__module__", "") != name:
            continue
        if inspect.isfunction(member):
            yield member
        elif inspect.isclass(member):
            yield from (value for value in vars(member).values() if inspect.isfunction(value))
