"""Virtual time for all of koordpy: what asks a clock of the `time` module is given the loop's time meanwhile.

Timers of the loop are virtual by themselves (looptime); but a back-off that ends by the real clock would never end in
a test that spends an hour in a millisecond.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest import mock

_EPOCH = 1.8e9


_calls = itertools.count()


def monotonic() -> float:
    """The loop's time, and a nanosecond more with each call, as a real clock moves between two looks at it.

    Without that, a sum of times that is beyond the loop's time by rounding alone would never be reached.
    """
    return asyncio.get_running_loop().time() + next(_calls) * 1e-9


def wall() -> float:
    return _EPOCH + monotonic()


_VIRTUAL: dict[Callable[[], float], Callable[[], float]] = {time.monotonic: monotonic, time.time: wall}
_MODULE = SimpleNamespace(**vars(time) | {"monotonic": monotonic, "time": wall})


@contextlib.contextmanager
def virtual_clocks() -> Iterator[None]:
    """`time` as koordpy's modules see it, and clocks that stand as defaults in its signatures."""
    with contextlib.ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] != "koordpy":
                continue
            if getattr(module, "time", None) is time:
                stack.enter_context(mock.patch.object(module, "time", _MODULE))
            for function in _functions(module, name):
                _replace_defaults(function, stack)
        yield


def _functions(module: Any, name: str) -> Iterator[FunctionType]:
    for _, member in inspect.getmembers(module):
        if getattr(member, "__module__", "") != name:
            continue
        if inspect.isfunction(member):
            yield member
        elif inspect.isclass(member):
            yield from (value for value in vars(member).values() if inspect.isfunction(value))


def _replace_defaults(function: FunctionType, stack: contextlib.ExitStack) -> None:
    defaults, by_name = function.__defaults__ or (), function.__kwdefaults__ or {}
    if any(_is_clock(value) for value in defaults):
        stack.enter_context(mock.patch.object(function, "__defaults__", tuple(map(_virtual, defaults))))
    if any(_is_clock(value) for value in by_name.values()):
        replaced = {key: _virtual(value) for key, value in by_name.items()}
        stack.enter_context(mock.patch.object(function, "__kwdefaults__", replaced))


def _is_clock(value: Any) -> bool:
    return value is time.monotonic or value is time.time


def _virtual(value: Any) -> Any:
    return _VIRTUAL[value] if _is_clock(value) else value
