"""Random worlds with gangs: whatever happens, no gang starts in part, and at rest nobody is pending who could run.

`make fuzz-gangs` plays more worlds, `GANG_SEEDS=1000:2000` others. A world is a function of its seed: to look at a
failure, play it again.
"""

from __future__ import annotations

import os

import pytest

from tests.scheduler.gangs.model.checks import AT_ANY_STEP, AT_REST, IN_THE_END, wrong_with
from tests.scheduler.gangs.model.world import World

pytestmark = pytest.mark.random

STEPS = 80
# How often a world comes to rest: lost wake-ups show when each change has to wake by itself, races when many changes
# are under way.
RESTS = (0.9, 0.1)


def seeds() -> range:
    first, _, last = os.environ.get("GANG_SEEDS", "80").rpartition(":")
    return range(int(first or 0), int(last))


# Worlds that were wrong once, and what was wrong with them; each has its rule in a test of its own, too.
ONCE_WRONG = (
    448, 547, 865, 1136, 1181, 100059, 100524, 100932, 101283, 101567, 101759, 101901, 102037, 102169, 102229, 103241,
    104357, 400155, 400309, 400506, 400827, 401260, 401289, 401498, 410256, 600069, 700439, 700704,
    701114, 701324, 701484, 900038, 2000111, 2000273,
)  # fmt: skip
ONCE_WRONG_WITH_MISHAPS = (200608, 600345, 600784, 602332, 602375, 605063, 607032, 607262, 2000019, 2000048)
# Worlds in which some gangs, or all, are KAI's, half of them with subgroups.
WITH_KAI = range(700_004, 700_204, 5)
# Worlds in which gangs may lack members for some time only, and nodes die with all that ran there.
WITH_GRACES = range(800_000, 800_040)
# How often a call inside koordpy raises, among the calls that are made from outside.
MISHAPS = 0.03


@pytest.mark.parametrize("seed", [*seeds(), *ONCE_WRONG, *WITH_KAI, *WITH_GRACES])
def test_whatever_happens_gangs_start_whole_and_nobody_is_left_behind(seed: int):
    play(World(seed), seed)


@pytest.mark.parametrize("seed", [*seeds(), *ONCE_WRONG_WITH_MISHAPS])
def test_whatever_raises_in_our_own_code_gangs_start_whole_and_nobody_is_left_behind(seed: int):
    world = World(seed, mishaps=MISHAPS)
    try:
        play(world, seed)
    except AssertionError as error:
        raise AssertionError(f"{error}, after {world.mishaps.happened}") from None


def play(world: World, seed: int) -> None:
    try:
        for step in range(STEPS):
            world.disturb()
            world.progress()
            checks = AT_ANY_STEP
            if step == STEPS - 1 or world.rng.random() < RESTS[seed % 2]:
                world.come_to_rest()
                checks = IN_THE_END if step == STEPS - 1 else AT_REST
            if step == STEPS - 1:
                world.mishaps.stop()
            wrong = wrong_with(world, checks)
            assert not wrong, f"seed {seed}, step {step}: " + "; ".join(wrong)
    finally:
        world.close()
