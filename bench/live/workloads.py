"""What is scheduled: nodes, gangs, and when they come. A new workload is a function here and a line in WORKLOADS.

A workload is data, and the same for every scheduler and every run.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bench.live import network
from bench.live.objects import Gang, Json, nodes, priority_class

PODS_PER_APP = 100
LOW, HIGH = priority_class("low", 100), priority_class("high", 1000)


class Arrival(enum.Enum):
    """When the gangs come."""

    BEFORE = "all there at the start"
    AT_ONCE = "all at once, with the scheduler up"
    STREAM = "one after the other, with the scheduler up"


# Bound first where the gangs come later: when it has a node, the scheduler is up.
PROBE = Gang("probe", 1, together=False, requests={"memory": "1Mi"})


@dataclass(frozen=True)
class Workload:
    """`running` has nodes before the scheduler starts; `gangs` are what it has to schedule."""

    name: str
    nodes: tuple[Json, ...] = field(repr=False)
    gangs: tuple[Gang, ...] = field(repr=False)
    arrival: Arrival = Arrival.BEFORE
    per_second: float = 0.0  # gangs, of a STREAM
    running: tuple[Gang, ...] = field(default=(), repr=False)
    never: frozenset[str] = frozenset()  # gangs that cannot fit
    least_evictions: int = 0
    objects: tuple[tuple[str, Json], ...] = field(default=(), repr=False)  # (resource, object) it needs
    only_for_gangs: bool = False  # means nothing to a scheduler that knows none

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
    def has_ceiling(self) -> bool:
        """Whether somebody who only deals the pods out does the same: all fit wherever they are put."""
        return self.arrival is Arrival.BEFORE and not self.never and not self.objects

    @property
    def title(self) -> str:
        """With everything that matters for comparing its figures."""
        come = f"{self.per_second:g} gangs a second" if self.arrival is Arrival.STREAM else self.arrival.value
        return f"{self.name}: {len(self.nodes):,} nodes, {self.pods:,} pods, {come}"


def basic(node_count: int = 1_000, pods: int = 5_000) -> Workload:
    """How fast a queue of single pods is emptied."""
    per_app = min(PODS_PER_APP, pods)
    apps = tuple(Gang(f"app-{number:03d}", per_app, together=False) for number in range(pods // per_app))
    return Workload("basic", nodes(node_count), apps)


def gangs(count: int, size: int, node_count: int = 1_000, name: str = "") -> Workload:
    """How fast gangs are started, all of which fit."""
    made = tuple(Gang(f"gang-{number:04d}", size) for number in range(count))
    return Workload(name or f"gang{'s' if count > 1 else ''}-{count}x{size}", nodes(node_count), made)


def streaming(count: int = 500, size: int = 20, node_count: int = 1_000, per_second: float = 5) -> Workload:
    """How long a gang waits when they come at a rate that two cores can keep up with, whoever schedules."""
    made = gangs(count, size, node_count)
    return Workload(f"{made.name}-streaming", made.nodes, made.gangs, Arrival.STREAM, per_second)


def preempt(node_count: int = 500, size: int = 250) -> Workload:
    """A full cluster, and a gang of higher priority that needs half of it: one eviction for each member."""
    made = nodes(node_count)
    whole = {"cpu": "4", "memory": "1Gi"}
    low, high = LOW["metadata"]["name"], HIGH["metadata"]["name"]
    victims = tuple(
        Gang(f"running-{number:04d}", 1, together=False, requests=whole, priority_class=low, on=(name,))
        for number, name in enumerate(node["metadata"]["name"] for node in made)
    )
    return Workload(
        "preempt", made, (Gang("urgent", size, requests=whole, priority_class=high),), Arrival.AT_ONCE,
        running=victims, least_evictions=size, objects=(("priorityclasses", LOW), ("priorityclasses", HIGH)),
    )  # fmt: skip


def never_fits(node_count: int = 500, count: int = 100, size: int = 10) -> Workload:
    """A gang that needs twice the cluster came first; behind it are gangs that fit."""
    giant = Gang("giant", 2 * node_count, requests={"cpu": "4", "memory": "1Gi"})
    others = tuple(Gang(f"gang-{n:04d}", size, requests={"cpu": "1", "memory": "1Gi"}) for n in range(count))
    return Workload(
        "never-fits", nodes(node_count), (giant, *others), never=frozenset((giant.name,)), only_for_gangs=True
    )


def topology(count: int = 60, size: int = 32, cluster: tuple[Json, ...] | None = None) -> Workload:
    """Gangs that want to be near each other fill 96 % of a network of four layers."""
    requests = {"cpu": "8", "memory": "32Gi", network.GPU: "4"}
    made = tuple(Gang(f"gang-{n:04d}", size, requests=requests, gather=network.LAYERS) for n in range(count))
    resource = "apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
    return Workload("topology", cluster or network.nodes(), made, objects=((resource, network.TOPOLOGY),))


_ALL: Iterable[tuple[str, Callable[[], Workload]]] = (
    ("basic", basic),
    ("gangs-500x20", lambda: gangs(500, 20)),
    ("gangs-20x500", lambda: gangs(20, 500)),
    ("gang-1x5000", lambda: gangs(1, 5_000)),
    ("large", lambda: gangs(500, 20, 5_000, "large")),
    ("streaming", streaming),
    ("streaming-short", lambda: streaming(count=100)),
    ("preempt", preempt),
    ("never-fits", never_fits),
    ("topology", topology),
)
WORKLOADS: dict[str, Callable[[], Workload]] = dict(_ALL)
QUICK = ("basic", "gangs-500x20", "streaming-short")
FULL = tuple(name for name in WORKLOADS if name != "streaming-short")
