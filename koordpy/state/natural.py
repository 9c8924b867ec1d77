"""The order of names as people count: `pod-2` before `pod-10`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_PARTS = re.compile(r"(\d+)")


@lru_cache(maxsize=2**16)  # the same nodes and domains are put in order again and again
def natural(text: str) -> tuple[Any, ...]:
    """A key to sort by."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in _PARTS.split(text) if part)
