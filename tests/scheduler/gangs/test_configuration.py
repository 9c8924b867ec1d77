"""Whose word counts for a gang, and that it counts from the moment it is said or taken back."""

from __future__ import annotations

import itertools

import pytest

from koordpy.state.gangs.gang import Gang
from tests.scheduler.gangs.rig import GangRig, saying

NINE, TEN = "2026-01-01T09:00:00Z", "2026-01-01T10:00:00Z"


def gang_of(rig: GangRig, name: str = "a") -> Gang:
    gang = rig.cluster.gangs.get(f"default/{name}")
    assert gang is not None
    return gang


def test_the_only_member_that_says_anything_may_say_something_else():
    rig = GangRig()
    rig.member("a-1", says=saying("a", 3))
    rig.member("a-1", says=saying("a", 1))
    assert gang_of(rig).minimum == 1


def test_what_all_members_say_may_change_one_by_one():
    rig = GangRig()
    for minimum in (3, 2):
        for name in ("a-1", "a-2"):
            rig.member(name, says=saying("a", minimum))
    assert gang_of(rig).minimum == 2


@pytest.mark.parametrize("order", list(itertools.permutations([("a-1", TEN, 3), ("a-2", NINE, 2), ("a-3", TEN, 1)])))
def test_the_oldest_member_is_heard_in_whatever_order_they_arrive(order):
    rig = GangRig()
    for name, created, minimum in order:
        rig.member(name, says=saying("a", minimum), created=created)
    assert gang_of(rig).minimum == 2
    rig.gone("a-2")
    assert gang_of(rig).minimum == 3  # as old as a-3, and before it by name


def test_each_field_is_heard_from_the_oldest_member_that_says_it_legally():
    rig = GangRig()
    rig.gang("a", 4, says=saying(mode="NonStrict", policy="only-waiting"))
    rig.member("a-1", "a", says=saying(minimum="two", mode="Lax"), created=NINE)
    rig.member("a-2", "a", says=saying(minimum=3), created=TEN)
    spec = gang_of(rig).spec
    assert (spec.minimum, spec.mode, spec.match_policy) == (3, "NonStrict", "only-waiting")


def test_a_member_that_took_its_word_back_is_heard_no_more():
    rig = GangRig()
    rig.gang("a", 4)
    rig.member("a-1", "a", says=saying(minimum=2))
    rig.member("a-1", "a")
    assert gang_of(rig).minimum == 4


def test_a_pod_group_is_waited_for_only_while_some_member_names_one():
    rig = GangRig()
    rig.member("a-1", "a")
    rig.member("a-2", says=saying("a", 1))
    assert not gang_of(rig).initialised
    rig.gone("a-1")
    assert gang_of(rig).initialised


@pytest.mark.parametrize("first", ["finished", "pending"])
def test_a_gang_of_which_one_has_succeeded_has_started_in_whatever_order_its_pods_are_listed(first):
    rig = GangRig()
    rig.node("n1", cpu=1)

    def finished():
        rig.member("a-1", says=saying("a", 2), on="n1", phase="Succeeded")

    def pending():
        rig.member("a-2", says=saying("a", 2))

    for listed in (finished, pending) if first == "finished" else (pending, finished):
        listed()
    assert gang_of(rig).started
    rig.settle()
    assert rig.where("a-2") == "n1"


def test_a_finished_member_that_was_given_to_another_gang_counts_there():
    rig = GangRig()
    for gang in ("a", "b"):
        rig.member("p", says=saying(gang, 1), on="n1", phase="Succeeded")
    assert rig.cluster.gangs.get("default/a") is None
    assert gang_of(rig, "b").succeeded == {"u-p"}
    rig.gone("p")
    assert not len(rig.cluster.gangs)
