"""When the time of a gang that lacks members is up: what has changed by then counts."""

from __future__ import annotations

import pytest

from koordpy.scheduler.staleness import Staleness
from tests.scheduler.gangs.rig import GangRig
from tests.scheduler.wakeups.rig import uid

GRACE = {"koordpy.io/staleness-grace-period": "20s"}


@pytest.fixture
def rig() -> GangRig:
    """Of a gang of two, one has run for longer than its time, and the other one does not fit."""
    rig = GangRig()
    rig.node("n1", cpu=1)
    rig.gang("a", 2, says=GRACE)
    rig.member("a-1", "a", on="n1")
    rig.member("a-2", "a")
    rig.settle()
    rig.hand_clock.now += 21
    return rig


def evicted(rig: GangRig) -> list[str]:
    """Whose eviction is decided when times are up."""
    found: list[str] = []
    rig.built.parts.evictor.evict_stale = lambda victims, _: found.extend(each.name for each in victims)  # type: ignore[method-assign]
    next(timer for timer in rig.built.parts.timers if isinstance(timer, Staleness)).act()
    return found


def test_what_is_left_of_it_is_evicted(rig: GangRig):
    assert evicted(rig) == ["a-1"]


def test_a_gang_that_became_complete_in_this_very_moment_stays(rig: GangRig):
    rig.node("n2", cpu=1)
    rig.attempt()
    assert rig.nodes_of("a") == ["n1", "n2"]
    assert evicted(rig) == []


def test_a_gang_whose_missing_member_fits_by_now_stays(rig: GangRig):
    rig.node("n2", cpu=1)
    assert evicted(rig) == []


def test_a_gang_of_which_a_member_was_not_made_again_goes_though_the_others_would_fit():
    rig = GangRig()
    rig.node("n1", cpu=2)
    rig.gang("a", 3, says={**GRACE, "gang.scheduling.koordinator.sh/match-policy": "only-waiting"})
    rig.member("a-1", "a", on="n1")
    rig.member("a-2", "a")
    rig.settle()
    rig.hand_clock.now += 21
    assert evicted(rig) == ["a-1"]


def test_the_time_of_a_gang_begins_when_the_bind_of_a_member_fails():
    """The last that the watch had said of it was that the other member runs."""
    rig = GangRig()
    rig.node("n1", cpu=1)
    rig.node("n2", cpu=1)
    rig.gang("a", 2, says=GRACE)
    rig.members("a", 2)
    rig.settle()
    bound, other = rig.nodes_of("a")
    rig.member("a-1", "a", on=bound)
    rig.settle()
    rig.no_node(other)
    rig.cluster.forget(uid("a-2"))
    rig.settle()
    rig.hand_clock.now += 21
    assert evicted(rig) == ["a-1"]
