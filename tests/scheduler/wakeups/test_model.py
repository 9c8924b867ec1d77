"""Random worlds: whenever one comes to rest, nobody sleeps who could run, and the picture is what is true.

To look at a failure: `World(SEED)` does the same things again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.scheduler.wakeups.world import World

pytestmark = pytest.mark.random

SEEDS = 60
STEPS = 150
# How often a world comes to rest: lost wake-ups show when each change has to wake by itself, races when many changes
# are under way.
RESTS = (0.9, 0.1)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_world_at_rest_is_in_order(seed: int):
    world, rests = World(seed), RESTS[seed % 2]
    for step in range(STEPS):
        world.disturb()
        world.progress()
        if world.rng.random() < rests or step == STEPS - 1:
            world.come_to_rest()
            wrong = [*overslept(world), *tickets(world), *places(world), *usage(world), *census(world)]
            assert not wrong, f"seed {seed}, step {step}: " + "; ".join(wrong)


def overslept(world: World) -> Iterator[str]:
    """No parked pod is feasible."""
    yield from (f"lost wake-up: {found}" for found in world.rig.overslept())


def tickets(world: World) -> Iterator[str]:
    """Exactly the pending pods of ours have tickets, each in the group of what the pod is now."""
    rig = world.rig
    for pod in rig.cluster.pods.values():
        ticket = rig.ticket(pod.name)
        ours = pod.scheduler in rig.profiles and pod.schedulable
        if ours != (ticket is not None):
            yield f"{pod.name} has ticket {ticket}, and it is {ours} that it should have one"
        if ticket is not None and ticket.equivalence.wants != ((pod.shape, 1),):
            yield f"{pod.name} sleeps under a shape that it no longer has"
    if strangers := rig.queue._tickets.keys() - rig.cluster.pods.keys():
        yield f"tickets of nobody: {sorted(strangers)}"


def places(world: World) -> Iterator[str]:
    """Pods are where the API server has them, and none is merely assumed."""
    known = world.rig.cluster.pods
    if known.keys() != world.pods.keys():
        yield f"pods {sorted(known)} are known, {sorted(world.pods)} exist"
        return
    for uid, pod in world.pods.items():
        place = pod["spec"].get("nodeName", "")
        if known[uid].node != place or known[uid].bound != bool(place):
            yield f"{uid} is thought to be on {known[uid].node!r} (bound: {known[uid].bound}), and is on {place!r}"


def usage(world: World) -> Iterator[str]:
    """No node is overcommitted by us, and what is counted on it is what runs there.

    Nodes never shrink here and pods never grow, so our pods fit at any time, whatever others put beside them.
    """
    columns = world.rig.cluster.nodes
    for name, node in world.nodes.items():
        ours, cpu = world.used(name, ours_only=True), node["status"]["allocatable"]["cpu"]
        if ours > int(cpu):
            yield f"{name} is overcommitted: our pods ask for {ours} of {cpu} CPUs"
        used, counted = world.used(name) * 1000, int(columns.requested[0, columns.row_of(name)])
        if counted != used:
            yield f"{name} counts {counted}m of CPU, and its pods ask for {used}m"


def census(world: World) -> Iterator[str]:
    """The running counts of selected pods are what counting them anew gives."""
    cluster = world.rig.cluster
    for tally in cluster.census._tally_index.order:
        counts = np.zeros_like(tally.counts)
        for pod in cluster.pods.values():
            row = cluster.nodes.row_of(pod.node)
            if row is not None and tally.includes(pod.shape):
                counts[row] += 1
        if (counts != tally.counts).any():
            yield f"a tally says {tally.counts.tolist()}, and it is {counts.tolist()}"
    if any((term.counts < 0).any() for term in cluster.census._term_index.order):
        yield "a term is held by fewer than no pods"
