"""Acts: what is done to a scheduler beside its watches and its own tasks, so that a journal can have it, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Act(Protocol):
    """Does something at once, and returns what it returns."""

    def __call__(self, entry: tuple[Any, ...], call: Callable[[], T], /) -> T:
        """`entry` is the name of the act and its arguments, as plain values."""


def unrecorded(_: tuple[Any, ...], call: Callable[[], T], /) -> T:
    return call()
