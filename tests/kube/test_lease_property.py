"""Whatever happens to the candidates and their connections, no two of them are ever certain at once."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import looptime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kube.candidates import TIMING, Candidate, Weather, standing
from tests.kube.world import World, now, until

pytestmark = pytest.mark.random

_WEATHER = st.builds(
    Weather,
    st.sampled_from(["down", "late", "slow", "lost"]),
    start=st.integers(0, 200).map(lambda tenths: tenths / 10),
    length=st.integers(1, 60).map(lambda tenths: tenths / 10),
)
_LIFE = st.tuples(
    st.lists(_WEATHER, max_size=5),
    st.sampled_from(["stays", "stops", "crashes"]),
    st.integers(0, 200).map(lambda tenths: tenths / 10),
)


@given(lives=st.lists(_LIFE, min_size=2, max_size=3), seed=st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_no_two_are_certain_at_once_and_in_good_weather_one_leads(lives, seed) -> None:
    random.seed(seed)
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(start=0)) as runner:
        runner.run(_live(lives))


async def _live(lives) -> None:
    async with World() as world:
        candidates = [Candidate(world, f"c{n}", weather=list(weather)) for n, (weather, _, _) in enumerate(lives)]
        async with standing(*candidates):
            fates = [
                asyncio.create_task(_meet(c, fate, at)) for c, (_, fate, at) in zip(candidates, lives, strict=True)
            ]
            while now() < 25:
                assert sum(c.lease.holds() for c in candidates) <= 1, f"two leaders at {now():.2f}"
                await asyncio.sleep(0.05)
            await asyncio.gather(*fates)
            _terms_do_not_overlap(candidates)
            await until(lambda: sum(c.lease.holds() for c in candidates) == 1, seconds=30)


async def _meet(candidate: Candidate, fate: str, at: float) -> None:
    await asyncio.sleep(at)
    if fate == "stops":
        await candidate.stop()
    elif fate == "crashes":
        await candidate.crash()
    if fate in ("stops", "crashes"):
        await asyncio.sleep(1)
        candidate.line.weather = [w for w in candidate.line.weather if w.length < 100]
        candidate.start()


def _terms_do_not_overlap(candidates: list[Candidate]) -> None:
    """What leaders do ends before the next one begins, apart from the moment that stopping takes."""
    terms = []
    for candidate in candidates:
        ends = candidate.stopped + [now()] * (len(candidate.led) - len(candidate.stopped))
        terms += zip(candidate.led, ends, strict=True)
    for (_, end), (begin, _) in pairwise(sorted(terms)):
        assert end <= begin + 0.01, f"a term ended at {end:.2f}, the next one began at {begin:.2f}"


def test_the_gap_between_deadline_and_duration_is_what_the_proof_rests_on() -> None:
    assert TIMING.renew_deadline_s < TIMING.lease_duration_s
