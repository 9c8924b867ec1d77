"""The delay before a retry."""

from __future__ import annotations

import random

_SHARED = random.Random()  # noqa: S311 - jitter needs no secrecy; seeding one for each request costs more than the request


class Backoff:
    """Exponential with jitter: half of each delay is random, so that many clients do not retry in step."""

    def __init__(self, first_s: float, most_s: float, rng: random.Random | None = None) -> None:
        self._first_s, self._most_s = first_s, most_s
        self._rng = rng or _SHARED
        self._failures = 0

    def next_s(self, at_least_s: float | None = None) -> float:
        """The next delay; never shorter than the server's Retry-After."""
        longest = min(self._first_s * 2.0 ** min(self._failures, 32), self._most_s)
        self._failures += 1
        delay: float = longest * (0.5 + self._rng.random() / 2)
        return max(delay, at_least_s or 0.0)

    def reset(self) -> None:
        """After a success: start from the first delay next time."""
        self._failures = 0
