"""What is scheduled. A new workload is a function here and a line in the table below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.live import network, replay
from bench.live.objects import Gang, Json, nodes, priority_class
from bench.live.workload import Arrival, Workload
from bench.traces import DIRECTORY

PODS_PER_APP = 100
LOW, HIGH = priority_class("low", 100), priority_class("high", 1000)


def basic(node_count: int = 1_000, pods: int = 5_000) -> Workload:
    """How fast a queue of single pods is emptied."""
    per_app = min(PODS_PER_APP, pods)
    apps = tuple(Gang(f"app-{number:03d}", per_app, all_or_nothing=False) for number in range(pods // per_app))
    return Workload("basic", nodes(node_count), apps)


def gangs(count: int, size: int, node_count: int = 1_000, name: str = "") -> Workload:
    """How fast gangs are started, all of which fit."""
    made = tuple(Gang(f"gang-{number:04d}", size) for number in range(count))
    return Workload(name or f"gang{'s' if count > 1 else ''}-{count}x{size}", nodes(node_count), made)


def streaming(count: int = 500, size: int = 20, node_count: int = 1_000, per_second: float = 5) -> Workload:
    """How long a gang waits at a rate of arrival that every scheduler keeps up with on two cores."""
    made = tuple(Gang(f"gang-{number:04d}", size, at=number / per_second) for number in range(count))
    about = f"{per_second:g} gangs a second"
    return Workload(f"gangs-{count}x{size}-streaming", nodes(node_count), made, Arrival.STREAM, about)


def preempt(node_count: int = 500, size: int = 250) -> Workload:
    """A full cluster, and a gang of higher priority that needs half of it: one eviction for each member."""
    made = nodes(node_count)
    whole = {"cpu": "4", "memory": "1Gi"}
    low, high = LOW["metadata"]["name"], HIGH["metadata"]["name"]
    victims = tuple(
        Gang(f"running-{number:04d}", 1, all_or_nothing=False, requests=whole, priority_class=low, on=(name,))
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
    return Workload(
        "topology", cluster or network.nodes(), made, objects=(("clusternetworktopologies", network.TOPOLOGY),)
    )


_MADE: dict[str, Callable[[], Workload]] = {
    "basic": basic,
    "gangs-500x20": lambda: gangs(500, 20),
    "gangs-20x500": lambda: gangs(20, 500),
    "gang-1x5000": lambda: gangs(1, 5_000),
    "large": lambda: gangs(500, 20, 5_000, "large"),
    "streaming": streaming,
    "streaming-short": lambda: streaming(count=100),
    "preempt": preempt,
    "never-fits": never_fits,
    "topology": topology,
}
_READ: dict[str, Callable[[Path], Workload]] = {"trace-philly": replay.philly, "trace-alibaba": replay.alibaba}

NAMES = (*_MADE, *_READ)
QUICK = ("basic", "gangs-500x20", "streaming-short")
FULL = tuple(name for name in NAMES if name != "streaming-short")


def workload(name: str, traces: Path = DIRECTORY) -> Workload:
    """The workload of this name; those that replay traces look for them in the directory."""
    return _MADE[name]() if name in _MADE else _READ[name](traces)
