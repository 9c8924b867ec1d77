"""Random small clusters: nobody is evicted in vain, nobody who may not be, and hardly ever more than it takes.

To look at a failure: `stage_of(SEED)` is the same stage again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from koordpy.plan.preemption.eligibility import Preemption
from tests.plan.preemption.naive import Price, all_may_go, cheapest, closed, price, reprieves
from tests.plan.preemption.random_stages import stage_of
from tests.plan.preemption.stage import Stage

pytestmark = pytest.mark.random

SEEDS = 400
_BLOCK = 50
_MOST_WORSE = 0.03  # of the preemptions found, where the greedy search may pay more than need be


def victims_of(found: Preemption) -> frozenset[str]:
    return frozenset(victim.name for victim in found.victims)


@pytest.mark.parametrize("first", range(0, SEEDS, _BLOCK))
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "constrained"])
def test_nobody_is_evicted_in_vain_or_against_the_rules(first: int, plain: bool) -> None:
    for seed in range(first, first + _BLOCK):
        stage = stage_of(seed, plain=plain)
        found = stage.asked()
        if isinstance(found, Preemption) and not stage.fits_without(()):
            wrong = list(mistakes(stage, found))
            assert not wrong, f"seed {seed}: {'; '.join(wrong)}"


def mistakes(stage: Stage, found: Preemption) -> Iterator[str]:
    names, limit = victims_of(found), stage.priority
    if not stage.fits_without(names, {each.uid: each.node for each in found.nominations}):
        yield f"the job does not fit without {sorted(names)}"
    if not enough_of_each_gang(stage, found):
        yield "too few members were promised a node"
    if not all_may_go(stage, names, limit):
        yield f"some of {sorted(names)} may not be evicted"
    if closed(stage, names) != names:
        yield f"{sorted(closed(stage, names))} go together or not at all"
    for fewer in reprieves(stage, names):
        if stage.fits_without(fewer):
            yield f"{sorted(names - fewer)} could have been spared"
    if tuple(found.cost) != tuple(price(stage, names)):
        yield f"costs {price(stage, names)}, and not {found.cost}"


def enough_of_each_gang(stage: Stage, found: Preemption) -> bool:
    promised = {each.uid for each in found.nominations}
    demands = stage.demands or [("", len(stage.wanted), stage.wanted)]
    return all(len(promised & set(members)) >= minimum for _, minimum, members in demands)


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "constrained"])
def test_a_job_that_fits_makes_nobody_leave(plain: bool) -> None:
    """It is not asked about then; but if it were, nobody would be named."""
    for seed in range(SEEDS):
        stage = stage_of(seed, plain=plain)
        if stage.fits_without(()):
            found = stage.asked()
            assert isinstance(found, str) or not found.victims, f"seed {seed}"


def test_where_only_room_matters_the_victims_are_next_to_always_the_cheapest() -> None:
    """Violations and the highest priority always are; the rest is greedy, and the gap is printed."""
    gaps = gaps_of(range(SEEDS), plain=True)
    print(f"of {gaps.total()} preemptions, worse than the best possible: {dict(gaps)}")
    worse = gaps.total() - gaps["optimal"]
    assert not gaps["missed"]
    assert not gaps["violations"]
    assert not gaps["highest"]
    assert worse <= _MOST_WORSE * gaps.total()


def test_with_constraints_the_victims_are_mostly_the_cheapest() -> None:
    gaps = gaps_of(range(SEEDS), plain=False)
    print(f"of {gaps.total()} preemptions, worse than the best possible: {dict(gaps)}")
    assert gaps.total() - gaps["optimal"] <= _MOST_WORSE * gaps.total()


def gaps_of(seeds: range, *, plain: bool) -> Counter[str]:
    """How many preemptions are as cheap as any, and in which field the others are not."""
    found: Counter[str] = Counter()
    for seed in seeds:
        stage = stage_of(seed, plain=plain)
        if stage.fits_without(()):
            continue
        answer, best = stage.asked(), cheapest(stage, stage.priority)
        if isinstance(answer, Preemption):
            ours = price(stage, victims_of(answer))
            found["optimal" if best is None or ours <= best[1] else first_worse(ours, best[1])] += 1
        elif best is not None:
            found["missed"] += 1
    return found


def first_worse(ours: Price, best: Price) -> str:
    return next(field for field in Price._fields if getattr(ours, field) != getattr(best, field))
