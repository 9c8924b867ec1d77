"""Whatever faults the candidates and their transports have, no two of them are certain at once."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import looptime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kube.candidates import TIMING, Candidate, Fault, running_candidates
from tests.kube.world import World, now, until

pytestmark = pytest.mark.random

_FAULT = st.builds(
    Fault,
    st.sampled_from(["down", "late", "slow", "lost"]),
    start=st.integers(0, 200).map(lambda tenths: tenths / 10),
    length=st.integers(1, 60).map(lambda tenths: tenths / 10),
)
_LIFETIME = st.tuples(
    st.lists(_FAULT, max_size=5),
    st.sampled_from(["stays", "stops", "crashes"]),
    st.integers(0, 200).map(lambda tenths: tenths / 10),
)


@given(lifetimes=st.lists(_LIFETIME, min_size=2, max_size=3), seed=st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_at_most_one_candidate_is_certain_and_without_faults_one_leads(lifetimes, seed) -> None:
    random.seed(seed)
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(start=0)) as runner:
        runner.run(_run(lifetimes))


async def _run(lifetimes) -> None:
    async with World() as world:
        candidates = [Candidate(world, f"c{n}", faults=list(faults)) for n, (faults, _, _) in enumerate(lifetimes)]
        async with running_candidates(*candidates):
            ends = [
                asyncio.create_task(_end(c, end, at)) for c, (_, end, at) in zip(candidates, lifetimes, strict=True)
            ]
            while now() < 25:
                assert sum(c.lease.holds() for c in candidates) <= 1, f"two leaders at {now():.2f}"
                await asyncio.sleep(0.05)
            await asyncio.gather(*ends)
            _terms_do_not_overlap(candidates)
            await until(lambda: sum(c.lease.holds() for c in candidates) == 1, seconds=30)


async def _end(candidate: Candidate, end: str, at: float) -> None:
    await asyncio.sleep(at)
    if end == "stops":
        await candidate.stop()
    elif end == "crashes":
        await candidate.crash()
    if end in ("stops", "crashes"):
        await asyncio.sleep(1)
        candidate.transport.faults = [fault for fault in candidate.transport.faults if fault.length < 100]
        candidate.start()


def _terms_do_not_overlap(candidates: list[Candidate]) -> None:
    """A term ends before the next one begins, but for the moment that stopping takes."""
    terms = []
    for candidate in candidates:
        ends = candidate.stopped + [now()] * (len(candidate.led) - len(candidate.stopped))
        terms += zip(candidate.led, ends, strict=True)
    for (_, end), (begin, _) in pairwise(sorted(terms)):
        assert end <= begin + 0.01, f"a term ended at {end:.2f}, the next one began at {begin:.2f}"


def test_the_renew_deadline_is_shorter_than_the_lease_duration() -> None:
    assert TIMING.renew_deadline_s < TIMING.lease_duration_s
