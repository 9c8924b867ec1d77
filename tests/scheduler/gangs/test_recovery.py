"""A new leader finds gangs half-bound: what they lack goes before everything else."""

from __future__ import annotations

import pytest

from tests.scheduler.gangs.rig import GangRig, saying

POLICIES = ("once-satisfied", "waiting-and-running", "only-waiting")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
def test_a_half_bound_gang_is_completed_before_older_jobs_of_higher_priority(policy, mode):
    rig = GangRig()
    rig.node("n1", cpu=3)
    rig.gang("a", 3, says=saying(policy=policy, mode=mode))
    rig.member("a-1", "a", on="n1")
    rig.member("a-2", "a", on="n1")
    rig.member("a-3", "a")
    rig.member("greedy", cpu=1, priority=9, created="2020-01-01T00:00:00Z")
    rig.hand_over()
    rig.attempt()
    assert rig.where("a-3") == "n1"


@pytest.mark.parametrize("policy", POLICIES)
def test_so_is_one_whose_binds_were_under_way_when_leadership_was_lost_for_a_moment(policy):
    rig = GangRig()
    rig.node("n1", cpu=3)
    rig.gang("a", 3, says=saying(policy=policy))
    rig.members("a", 3)
    rig.settle()
    rig.member("greedy", cpu=1, priority=9)
    rig.settle()
    rig.member("a-1", "a", on="n1")
    rig.member("a-2", "a", on="n1")
    rig.hand_over()
    rig.attempt()
    assert rig.where("a-3") == "n1"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_gang_that_is_complete_is_in_no_hurry(policy):
    rig = GangRig()
    rig.node("n1", cpu=3)
    rig.gang("a", 2, says=saying(policy=policy))
    rig.member("a-1", "a", on="n1")
    rig.member("a-2", "a", on="n1")
    rig.member("a-3", "a")
    rig.member("greedy", cpu=1, priority=9)
    rig.hand_over()
    rig.attempt()
    assert rig.where("greedy") == "n1"
