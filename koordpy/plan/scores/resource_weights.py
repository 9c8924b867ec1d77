"""The resources that a score reads, with their weights."""

from __future__ import annotations

from typing import NamedTuple


class ResourceWeight(NamedTuple):
    name: str
    weight: int


CPU_AND_MEMORY = (ResourceWeight("cpu", 1), ResourceWeight("memory", 1))
