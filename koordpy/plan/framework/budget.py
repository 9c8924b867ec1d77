"""A budget for long searches: how many dry runs they may make before they give up, and say so.

Counted in dry runs and not in seconds: planning knows no clock, and the same state must give the same answer.
"""

from __future__ import annotations


class Budget:
    """So many dry runs, for all parts of one search together."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._left = runs
        self.gave_up = False  # something was not tried for lack of budget

    def spend(self) -> bool:
        """Whether one more dry run may be made."""
        if self._left <= 0:
            self.gave_up = True
            return False
        self._left -= 1
        return True

    def __str__(self) -> str:
        return f"the search gave up after {self._runs} dry runs"
