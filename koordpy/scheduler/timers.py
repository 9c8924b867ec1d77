"""What happens to gangs because nothing happens: each timer looks at gangs that changed, and acts when a time is up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from koordpy.state.gangs.groups import GangGroup


class GangTimer(Protocol):
    """Nothing is polled: the loop sleeps until the first of all timers."""

    def look_at(self, groups: Iterable[GangGroup]) -> None:
        """Something happened to these groups of gangs: their times may begin or end."""

    def seconds_to_next(self) -> float | None:
        """Until some time is up; None when none runs."""

    def act(self) -> None:
        """Do what is to be done for those whose time is up."""

    def clear(self) -> None:
        """Another term of leadership: all times begin anew."""
