"""A budget for a search: the number of dry runs after which it gives up, and says so.

The budget counts dry runs and not seconds: planning reads no clock, and the same state must give the same answer.
"""

from __future__ import annotations


class Budget:
    """The dry runs that all parts of one search share."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._left = runs
        self.gave_up = False  # a dry run was denied

    def spend(self) -> bool:
        """Whether one more dry run may be made."""
        if self._left <= 0:
            self.gave_up = True
            return False
        self._left -= 1
        return True

    def __str__(self) -> str:
        return f"the search gave up after {self._runs} dry runs"
