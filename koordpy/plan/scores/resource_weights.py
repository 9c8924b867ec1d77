"""Which resources a score looks at, and how much each counts."""

from __future__ import annotations

from typing import NamedTuple


class ResourceWeight(NamedTuple):
    name: str
    weight: int


CPU_AND_MEMORY = (ResourceWeight("cpu", 1), ResourceWeight("memory", 1))
