"""Which planning benches are run, at which sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure
from bench.planning import answers, earliest, eviction, gathering, growth, latency, memory, placement, queues, wakeups
from bench.traces import DIRECTORY


@dataclass(frozen=True)
class Sizes:
    """Sizes are part of the names of figures: only figures of equal sizes are compared."""

    plain_nodes: tuple[int, ...] = (100, 1_000, 5_000, 20_000)
    attempts: int = 300
    neighbour_nodes: int = 5_000
    neighbour_pods: int = 30_000
    loaded_nodes: int = 5_000
    loaded_pods: int = 50_000
    unschedulable: int = 10_000
    full_nodes: int = 1_000
    events: int = 5
    growth_nodes: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    growth_gang: int = 20
    growth_sizes: tuple[int, ...] = (1, 10, 100, 1_000, 10_000)
    growth_cluster: int = 10_000
    growth_attempts: int = 5
    evicting_nodes: int = 5_000
    evicting_gang: int = 250
    evicting_attempts: int = 5
    fabric_nodes: int = 5_000
    fabric_gangs: tuple[int, ...] = (2, 32, 512)
    queues: tuple[tuple[int, int], ...] = ((20, 2), (1_000, 5))  # how many, in how many levels
    asked_nodes: tuple[int, ...] = (1_000, 5_000)
    questions: int = 30
    reserving_nodes: int = 5_000
    reserving_gang: int = 512
    network_nodes: int = 1_000
    gangs: int = 300  # of each trace


FULL = Sizes()
QUICK = Sizes(
    attempts=50,
    events=2,
    growth_nodes=(100, 1_000, 10_000),
    growth_sizes=(1, 10, 100, 1_000),
    growth_attempts=3,
    asked_nodes=(1_000,),
    questions=10,
)


def run(sizes: Sizes, say: Callable[[str], None], traces: Path = DIRECTORY) -> list[Figure]:
    figures: list[Figure] = []
    for nodes in sizes.plain_nodes:
        say(f"planning on {nodes:,} nodes ...")
        figures += latency.plain(nodes, sizes.attempts)
    say(f"planning beside {sizes.neighbour_pods:,} running pods ...")
    figures += latency.neighbours(sizes.neighbour_nodes, sizes.neighbour_pods, sizes.attempts)
    say(f"loading {sizes.loaded_nodes:,} nodes and {sizes.loaded_pods:,} pods ...")
    figures += memory.figures(sizes.loaded_nodes, sizes.loaded_pods)
    say(f"waking among {sizes.unschedulable:,} parked pods ...")
    figures += wakeups.figures(sizes.unschedulable, sizes.full_nodes, sizes.events)
    say(f"planning gangs on {sizes.growth_nodes[0]:,} to {sizes.growth_nodes[-1]:,} nodes ...")
    figures += growth.by_nodes(sizes.growth_nodes, sizes.growth_gang, sizes.growth_attempts)
    say(f"planning gangs of {sizes.growth_sizes[0]:,} to {sizes.growth_sizes[-1]:,} pods ...")
    figures += growth.by_size(sizes.growth_sizes, sizes.growth_cluster, sizes.growth_attempts)
    say(f"seeking victims on {sizes.evicting_nodes:,} full nodes ...")
    figures += eviction.figures(sizes.evicting_nodes, sizes.evicting_gang, sizes.evicting_attempts)
    say(f"gathering gangs on {sizes.fabric_nodes:,} nodes ...")
    figures += gathering.figures(sizes.fabric_nodes, sizes.fabric_gangs, sizes.growth_attempts)
    for number, levels in sizes.queues:
        say(f"dividing among {number:,} queues ...")
        figures += queues.figures(number, levels, sizes.attempts)
    for nodes in sizes.asked_nodes:
        say(f"explaining on {nodes:,} nodes ...")
        figures += answers.figures(nodes, sizes.questions)
    say(f"seeking the earliest start of a gang of {sizes.reserving_gang:,} ...")
    figures += earliest.figures(sizes.reserving_nodes, sizes.reserving_gang, sizes.growth_attempts)
    figures += placement.figures(traces, sizes.network_nodes, sizes.gangs, say)
    return figures
