"""Random stories: whatever happens, no gang starts in part, and in the end everybody runs."""

from __future__ import annotations

import pytest

from koordpy import metrics
from tests.scenarios.dice import seeded
from tests.scenarios.teller import Teller
from tests.scenarios.world import World, embedded_world

pytestmark = pytest.mark.random


@pytest.mark.parametrize("seed", range(25))
async def test_in_virtual_time_everybody_runs_in_the_end(seed: int) -> None:
    with seeded(seed):
        async with embedded_world() as world:
            await tell(world, seed, chapters=60, pause_s=0.5)


@pytest.mark.parametrize("seed", range(3))
async def test_everybody_runs_in_the_end(world: World, seed: int) -> None:
    await tell(world, 1000 + seed, chapters=30, pause_s=0.1)


async def tell(world: World, seed: int, chapters: int, pause_s: float) -> None:
    teller = Teller(world, seed, pause_s)
    flushed = metrics.FLUSHED._value.get()
    try:
        await teller.tell(chapters)
        assert metrics.FLUSHED._value.get() == flushed, "somebody ran because of the periodic flush alone"
    except BaseException:
        print(seed, teller.told)
        raise
