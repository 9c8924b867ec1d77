"""What can be set about how jobs are treated; each field gives its default and the reason for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class GangSettings:
    """How jobs, and gangs above all, are treated."""

    on_timeout: Literal["Abandon", "Retry"] = "Abandon"  # a gang that waited in vain is left alone, as documented
    max_gap_percent: int = 100  # a NonStrict gang that misses more of its minimum than this keeps nothing
    preemption: bool = True
    topology: bool = True
