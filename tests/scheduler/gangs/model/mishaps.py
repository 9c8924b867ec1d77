"""Mistakes of our own: once in a while, some call inside koordpy raises.

Any function of the scheduler, of planning or of the state can be the one. What is promised does not change by that: no
gang starts in part, and nobody is left behind. Whatever is not caught ends the process, which starts again.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import koordpy

_ROOT = Path(koordpy.__file__).parent
_OURS = tuple(str(_ROOT / room) for room in ("scheduler", "plan", "state"))
# How an error is dealt with, and what may not fail a second time.
_NOT_THESE = ("recovery.py", "guard.py", "lane.py")
_LATEST = 400  # calls of ours in one step, at most, before the one that raises


class Stumble(Exception):
    """Nobody expects this one."""


class Mishaps:
    """Decides when a call raises, apart from everything else that is random in a world."""

    def __init__(self, seed: int, often: float) -> None:
        self._rng, self._often = random.Random(f"mishaps of {seed}"), often
        self.happened: list[str] = []

    def stop(self) -> None:
        """No more of them: what is checked is the scheduler, and not the check."""
        self._often = 0.0

    @contextmanager
    def possible(self) -> Iterator[None]:
        """Within, a call of ours may raise."""
        if self._rng.random() >= self._often:
            yield
            return
        left = self._rng.randrange(1, _LATEST)

        def trace(frame: FrameType, event: str, _: Any) -> None:
            nonlocal left
            code, caller = frame.f_code, frame.f_back
            if event != "call" or not code.co_filename.startswith(_OURS) or code.co_filename.endswith(_NOT_THESE):
                return
            if caller is None or not caller.f_code.co_filename.startswith(_OURS):
                return  # a call that we make, and not one that is made of us
            left -= 1
            if not left:
                sys.settrace(None)
                self.happened.append(f"{Path(code.co_filename).name}: {code.co_qualname}")
                raise Stumble(code.co_qualname)

        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(None)
