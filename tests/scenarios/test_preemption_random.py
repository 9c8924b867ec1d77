"""Random crowds and an urgent job: if anybody leaves, the job starts; and if it cannot start, nobody leaves.

To look at a failure, run its seed alone. Whether the victims are the cheapest is for `tests/preemption/` to say.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.plan.constraints import HOSTNAME
from tests.scenarios.objects import members, node_of
from tests.scenarios.world import World, embedded_world

pytestmark = pytest.mark.random

SEEDS = 24
CRASHES = (1, 20, 24, 35, 44, 56)  # where several leave, and sometimes a gang that goes as a whole
GANG = ("g-1", "g-2", "g-3")


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_whoever_is_evicted_makes_room_for_a_job_that_starts(virtual: World, seed: int) -> None:
    rng = Random(seed)
    await crowd(virtual, rng)
    job = members("a", rng.randint(1, 3))
    minimum = rng.randint(1, len(job))
    await virtual.pod_group("a", minimum=minimum)
    await virtual.urgent(*job, gang="a", cpu=rng.randint(1, 3), priority=rng.choice((2, 3, 1000)))
    await virtual.pods("small-1", "small-2", cpu=1)  # they would take what is freed

    await virtual.until(lambda: bound_of(virtual, job) >= minimum or refused(virtual, job), "an answer")
    await virtual.settled()
    if not virtual.observer.evictions.seen and bound_of(virtual, job) < minimum:
        await virtual.nobody_evicted()
        return
    await victims_gone(virtual)
    await virtual.until(lambda: bound_of(virtual, job) >= minimum, "the job starts")


@pytest.mark.parametrize("seed", CRASHES)
async def test_after_a_crash_between_deletions_nobody_leaves_who_would_not_have_left_otherwise(seed: int) -> None:
    """At least nobody more; and gangs that go as a whole do, although whoever began with them is dead."""
    async with embedded_world() as world:
        undisturbed = await evicted_for(world, seed)
    for deleted in range(1, undisturbed):
        async with embedded_world() as world:
            assert await evicted_for(world, seed, crash_after=undisturbed + deleted) <= undisturbed


async def evicted_for(world: World, seed: int, *, crash_after: int = 0) -> int:
    """How many leave for a gang; the scheduler may die after so many calls."""
    rng = Random(seed)
    job, cpu = members("a", rng.randint(2, 3)), rng.randint(2, 3)
    goes_whole = await crowd(world, Random(seed))
    await world.pod_group("a", minimum=len(job))
    if crash_after:
        world.strike(crash_after, "crash after")
    await world.urgent(*job, gang="a", cpu=cpu)
    if crash_after:
        await world.come_back()
    await world.settled()
    victims = list(world.observer.evictions.names)
    await victims_gone(world)
    await world.bound(*job)
    assert world.observer.evictions.names == victims
    if goes_whole and set(GANG) & set(victims):
        assert not any(world.mirror.pod(world.namespace, name) for name in GANG)
    return len(victims)


async def crowd(world: World, rng: Random) -> bool:
    """Pods and a gang of low and high priority, some with a budget, some protected, on nodes that are nearly full.

    Says whether the gang goes as a whole.
    """
    await world.nodes(3, cpu=4)
    mode = rng.choice(({}, {"koordpy.io/disruption-mode": "All"}))
    await world.pod_group("g", minimum=2, annotations=mode)
    await world.budget("b", rng.choice((0, 1)), app="db")
    free = {f"n{number}": 4 for number in (1, 2, 3)}
    await world.stop()
    for name in [*GANG, *(f"low-{number}" for number in range(1, 7))]:
        cpu = rng.choice((1, 1, 2, 3))
        node = rng.choice(sorted(free))
        if free[node] < cpu:
            continue
        free[node] -= cpu
        labels = rng.choice(({}, {}, {"app": "db"}, {"scheduling.koordinator.sh/disable-preemptible": "true"}))
        given = {"gang": "g"} if name in GANG else {"priority": rng.choice((0, 1, 2, 5))}
        await world.pods(name, cpu=cpu, labels=labels, node_selector={HOSTNAME: node}, **given)
    await world.start()
    await world.settled()
    return bool(mode)


async def victims_gone(world: World) -> None:
    """One after the other, with time in between for somebody to take what is not his."""
    for name in list(world.observer.evictions.names):
        await world.gone(name)
        await world.settled()


def bound_of(world: World, names: list[str]) -> int:
    return sum(bool(node_of(world.pod(name))) for name in names)


def refused(world: World, names: list[str]) -> bool:
    return any("preemption: " in str(world.pod(name)["status"].get("conditions")) for name in names)
