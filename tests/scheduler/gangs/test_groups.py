"""Gangs that start together: who belongs to a group, and what one-sided lists mean."""

from __future__ import annotations

import pytest

from tests.scheduler.gangs.rig import GangRig, saying


def test_partners_of_partners_belong_to_the_group():
    rig = GangRig()
    rig.member("a-1", says=saying("a", 1, groups=["b"]))
    rig.member("b-1", says=saying("b", 1, groups=["c", "b"]))
    rig.member("c-1", says=saying("c", 1, groups=["a"]))
    group = ("default/a", "default/b", "default/c")
    assert {rig.cluster.gangs.group_of(each) for each in group} == {group}


def test_a_group_ends_with_the_list_that_made_it():
    rig = GangRig()
    rig.member("a-1", says=saying("a", 1, groups=["b"]))
    rig.member("a-1", says=saying("a", 1, groups=[]))
    rig.node("n1", cpu=1)
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]
    assert rig.queue._tickets == {}


def test_a_listed_gang_starts_without_the_one_that_lists_it():
    rig = GangRig()
    rig.node("n1", cpu=2)
    rig.member("a-1", says=saying("a", 2, groups=["b"]))
    rig.member("b-1", says=saying("b", 1))
    rig.settle()
    assert rig.nodes_of("b") == ["n1"]
    assert rig.nodes_of("a") == []


def test_a_gang_that_lists_another_follows_when_that_one_runs():
    rig = GangRig()
    rig.node("n1", cpu=1)
    rig.member("b-0", says=saying("b", 2), cpu=1)
    rig.member("b-1", says=saying("b", 2), cpu=1)
    rig.member("a-1", says=saying("a", 1, groups=["b"]))
    rig.settle()
    assert rig.message("a-1") == "gang default/b is not running yet; gang default/a waits for it"
    rig.node("n2", cpu=2)
    rig.settle()
    assert len(rig.nodes_of("b")) == 2
    assert rig.nodes_of("a") == []
    rig.member("b-0", says=saying("b", 2), on=rig.nodes_of("b")[0])
    rig.settle()
    assert len(rig.nodes_of("a")) == 1


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
def test_a_refusal_is_told_to_those_it_is_about_and_not_to_the_listed_ones(mode):
    rig = GangRig()
    rig.node("n1", cpu=1)
    rig.member("a-1", says=saying("a", 2, groups=["b"], mode=mode))
    rig.member("b-1", says=saying("b", 2, mode=mode))
    rig.settle()
    assert rig.message("a-1").startswith("gang default/a is incomplete: 1 of 2 members")
    assert rig.message("b-1").startswith("gang default/b is incomplete: 1 of 2 members")


def test_what_a_listed_gang_has_collected_is_never_started_by_the_one_that_lists_it():
    """`a` waits with three of four members. `b` has a higher priority, so `a` would let go for it, and then one of `a`
    alone would complete what `b` thinks that it needs."""
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=3)
    for number in range(4):
        rig.member(f"a-{number}", says=saying("a", 4, mode="NonStrict"))
    rig.settle()
    assert rig.nodes_of("a") == ["n1"] * 3
    rig.member("b-1", says=saying("b", 1, groups=["a"]), priority=5)
    rig.settle()
    assert rig.nodes_of("b") == []
    assert len(rig.lanes.binds) == 0


def test_a_partner_without_members_does_not_raise_the_priority_of_a_group():
    rig = GangRig()
    rig.gang("b", 0)
    rig.member("a-1", says=saying("a", 1, groups=["b"]), priority=-5)
    rig.member("first", priority=-1, created="2026-06-01T00:00:00Z")
    assert rig.attempt().name == "default/first"


def test_members_that_wait_still_count_for_the_priority_of_their_gang():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=1)
    rig.gang("a", 2, says=saying(mode="NonStrict"))
    rig.member("a-1", "a", priority=5)
    rig.member("a-2", "a", cpu=8)
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]
    assert rig.queue._tickets["default/a"].priority == 5
    rig.gang("a", 2, says=saying(mode="NonStrict", wait="1h"))
    assert rig.queue._tickets["default/a"].priority == 5


def test_min_resources_of_one_gang_count_what_others_of_its_group_hold():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=3)
    rig.gang("a", 2, says=saying(mode="NonStrict", groups=["a", "b"]))
    rig.gang("b", 2, says=saying(mode="NonStrict", groups=["a", "b"]), cpu="3")
    rig.members("a", 2)
    rig.members("b", 2)
    rig.settle()
    assert len(rig.nodes_of("a") + rig.nodes_of("b")) == 3
    rig.member("a-3", "a")  # they are tried again, and nothing has become worse
    rig.attempt()
    assert len(rig.nodes_of("a") + rig.nodes_of("b")) == 3
