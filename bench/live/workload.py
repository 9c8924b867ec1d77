"""A workload: nodes, gangs, and when they are created. It is data, and the same for every scheduler and every run."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from bench.live.objects import Gang, Json
from bench.live.queues import Queue


class Arrival(enum.Enum):
    """When the gangs are created."""

    BEFORE = "all there at the start"
    AT_ONCE = "all at once, with the scheduler up"
    STREAM = "one after the other, with the scheduler up"  # each at its time


# Bound first where the gangs are created later: when it has a node, the scheduler is up.
PROBE = Gang("probe", 1, all_or_nothing=False, requests={"memory": "1Mi"})


@dataclass(frozen=True)
class Workload:
    """`running` has nodes before the scheduler starts; `gangs` are what it has to schedule."""

    name: str
    nodes: tuple[Json, ...] = field(repr=False)
    gangs: tuple[Gang, ...] = field(repr=False)
    arrival: Arrival = Arrival.BEFORE
    about: str = ""  # what else matters for comparing figures
    running: tuple[Gang, ...] = field(default=(), repr=False)
    never: frozenset[str] = frozenset()  # gangs that cannot fit
    least_evictions: int = 0
    objects: tuple[tuple[str, Json], ...] = field(default=(), repr=False)  # (resource, object) it needs
    only_for_gangs: bool = False  # not for a scheduler without gangs
    queues: tuple[Queue, ...] = field(default=(), repr=False)  # parents first; only for a scheduler with queues
    stalled_after_s: float = 60  # without a bind

    @property
    def pods(self) -> int:
        return sum(gang.size for gang in self.gangs)

    @property
    def fitting(self) -> list[Gang]:
        return [gang for gang in self.gangs if gang.name not in self.never]

    @property
    def must_bind(self) -> frozenset[str]:
        """The names of the pods that fit."""
        return frozenset(name for gang in self.fitting for name in gang.member_names())

    @property
    def has_jobs(self) -> bool:
        """Whether a grouper has to make the gangs."""
        return any(gang.job for gang in self.gangs)

    @property
    def has_ceiling(self) -> bool:
        """Whether the bare client can run the workload: all pods fit wherever they are bound."""
        stays = all(gang.lasts == math.inf and not gang.pool for gang in self.gangs)
        return (
            self.arrival is not Arrival.AT_ONCE
            and not (self.never or self.objects or self.queues or self.has_jobs)
            and stays
        )

    @property
    def title(self) -> str:
        """With everything that matters for comparing its figures."""
        return f"{self.name}: {len(self.nodes):,} nodes, {self.pods:,} pods, {self.about or self.arrival.value}"
