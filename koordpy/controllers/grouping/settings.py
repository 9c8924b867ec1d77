"""How workloads are grouped, as configured."""

from __future__ import annotations

from dataclasses import dataclass

from koordpy.controllers.grouping.kinds.table import Kind


@dataclass(frozen=True)
class GroupingSettings:
    """`koordpy.podGrouper` of the configuration."""

    enabled: bool = True
    kinds: tuple[Kind, ...] = ()  # those that are configured
