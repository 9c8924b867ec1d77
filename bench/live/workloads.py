"""What is scheduled. A new workload is a function here and a line in the table below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.live import network, replay
from bench.live.objects import CPUS, MEMORY_GIB, Gang, Json, nodes, priority_class
from bench.live.queues import NO_LIMIT, Queue
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


def gangs_in_queues(count: int = 500, size: int = 20, node_count: int = 1_000, queue_count: int = 20) -> Workload:
    """What queues cost where none is ever full: each may have the whole cluster."""
    tree = _tree(queue_count, CPUS * node_count, MEMORY_GIB * node_count)
    leaves = [queue.name for queue in tree if queue.parent]
    made = tuple(Gang(f"gang-{n:04d}", size, queue=leaves[n % len(leaves)]) for n in range(count))
    return Workload(f"gangs-{count}x{size}-queues", nodes(node_count), made, queues=tree)


def streaming(count: int = 500, size: int = 20, node_count: int = 1_000, per_second: float = 5) -> Workload:
    """How long a gang waits at a rate of arrival that every scheduler keeps up with on two cores."""
    made = tuple(Gang(f"gang-{number:04d}", size, at=number / per_second) for number in range(count))
    about = f"{per_second:g} gangs a second"
    return Workload(f"gangs-{count}x{size}-streaming", nodes(node_count), made, Arrival.STREAM, about)


def grouped(count: int = 1_000, size: int = 20, node_count: int = 1_000) -> Workload:
    """Training jobs, of which a grouper makes gangs."""
    made = tuple(Gang(f"job-{number:04d}", size, job=True) for number in range(count))
    return Workload("grouped", nodes(node_count), made, about=f"{count:,} PyTorchJobs, all there at the start")


def grouped_streaming(count: int = 100, size: int = 20, node_count: int = 1_000, per_second: float = 2) -> Workload:
    """How long a training job waits when a grouper has to make a gang of it first."""
    made = tuple(Gang(f"job-{n:04d}", size, job=True, at=n / per_second) for n in range(count))
    about = f"{per_second:g} PyTorchJobs a second"
    return Workload("grouped-streaming", nodes(node_count), made, Arrival.STREAM, about)


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


def reclaim(node_count: int = 500, size: int = 20) -> Workload:
    """A queue has the whole cluster, and half of it by right; another comes for its half: one eviction for each member.

    The gangs lie across each other: on each node there are members of several.
    """
    made = nodes(node_count)
    one = {"cpu": "1", "memory": "1Gi"}
    tree = _tree(2, CPUS * node_count // 2, MEMORY_GIB * node_count // 2)
    rich, poor = (queue.name for queue in tree if queue.parent)
    names = [node["metadata"]["name"] for node in made]
    everywhere = names * CPUS  # one member for each CPU
    running = tuple(
        Gang(f"running-{n:04d}", size, requests=one, queue=rich, on=tuple(everywhere[n * size : (n + 1) * size]))
        for n in range(len(everywhere) // size)
    )
    gangs = tuple(Gang(f"gang-{n:04d}", size, requests=one, queue=poor) for n in range(len(running) // 2))
    return Workload(
        "reclaim", made, gangs, Arrival.AT_ONCE, running=running, least_evictions=len(gangs) * size,
        queues=tree, only_for_gangs=True, stalled_after_s=180,
    )  # fmt: skip


def _tree(leaves: int, cpus: int, memory_gib: int) -> tuple[Queue, ...]:
    """A queue for everybody, and below it queues that may count on so much each."""
    top = Queue("everybody", NO_LIMIT, NO_LIMIT)
    return (top, *(Queue(f"team-{n:02d}", cpus, memory_gib, parent=top.name) for n in range(leaves)))


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
    "gangs-500x20-queues": gangs_in_queues,
    "gangs-20x500": lambda: gangs(20, 500),
    "gang-1x5000": lambda: gangs(1, 5_000),
    "large": lambda: gangs(500, 20, 5_000, "large"),
    "streaming": streaming,
    "streaming-short": lambda: streaming(count=100),
    "preempt": preempt,
    "reclaim": reclaim,
    "never-fits": never_fits,
    "topology": topology,
    "grouped": grouped,
    "grouped-streaming": grouped_streaming,
}
_READ: dict[str, Callable[[Path], Workload]] = {"trace-philly": replay.philly, "trace-alibaba": replay.alibaba}

NAMES = (*_MADE, *_READ)
QUICK = ("basic", "gangs-500x20", "streaming-short")
FULL = tuple(name for name in NAMES if name != "streaming-short")


def workload(name: str, traces: Path = DIRECTORY) -> Workload:
    """The workload of this name; those that replay traces look for them in the directory."""
    return _MADE[name]() if name in _MADE else _READ[name](traces)
