"""Planning gangs: everything that is needed is placed, or nothing is."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.api.pod import Pod
from koordpy.plan.framework.answers import Plan, Refusal
from tests.builders import pod_json, typed, with_identity
from tests.plan.constraints import affinity, pod_term, selector
from tests.plan.counts import counts_of
from tests.plan.gang_jobs import cluster_of, gang, members, planned, where


def test_a_gang_that_fits_is_placed_as_a_whole():
    cluster = cluster_of({"cpu": 2}, {"cpu": 2})
    answer = planned(cluster, gang("a", members(cluster, 4, cpu=1)))
    assert Counter(where(cluster, answer).values()) == {"n1": 2, "n2": 2}


def test_a_strict_gang_that_does_not_fit_is_refused_and_names_the_culprit():
    cluster = cluster_of({"cpu": 2}, {"cpu": 1})
    answer = planned(cluster, gang("a", members(cluster, 4, cpu=1)))
    assert isinstance(answer, Refusal)
    assert answer.message == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "gang default/a: 3 of 4 members fit, default/a-4 does not beside these 3."
    )


def test_members_beyond_the_minimum_start_along_as_far_as_they_fit():
    cluster = cluster_of({"cpu": 3})
    answer = planned(cluster, gang("a", members(cluster, 4, cpu=1), minimum=2))
    assert len(where(cluster, answer)) == 3
    assert answer.missing is None
    assert answer.left_over is not None


def test_a_member_that_cannot_run_is_no_obstacle_while_the_minimum_can_be_reached():
    cluster = cluster_of({"cpu": 4})
    pods = [*members(cluster, 1, "huge", cpu=64), *members(cluster, 3, cpu=1)]
    answer = planned(cluster, gang("a", pods, minimum=3))
    assert set(where(cluster, answer)) == {"a-1", "a-2", "a-3"}


def test_surplus_of_one_gang_never_takes_what_another_of_the_group_needs():
    cluster = cluster_of({"cpu": 4})
    a, b = members(cluster, 4, "a", cpu=1), members(cluster, 2, "b", cpu=1)
    placed = where(cluster, planned(cluster, gang("a", a, minimum=2), gang("b", b)))
    assert {"b-1", "b-2"} <= placed.keys()
    assert len(placed) == 4


def test_a_group_is_refused_when_one_of_its_gangs_does_not_fit():
    cluster = cluster_of({"cpu": 4})
    a, b = members(cluster, 2, "a", cpu=1), members(cluster, 2, "b", cpu=2)
    answer = planned(cluster, gang("a", a), gang("b", b))
    assert isinstance(answer, Refusal)
    assert "gang default/b: 1 of 2 members fit" in answer.message


def test_small_members_leave_room_for_the_large_one():
    cluster = cluster_of({"cpu": 4}, {"cpu": 4})
    pods = [*members(cluster, 4, "small", cpu=1), *members(cluster, 1, "large", cpu=4)]
    assert len(where(cluster, planned(cluster, gang("a", pods)))) == 5


def test_members_that_can_run_anywhere_leave_the_special_nodes_to_those_that_cannot():
    cluster = cluster_of({"cpu": 2, "labels": {"pool": "x"}}, {"cpu": 2})
    pods = [*members(cluster, 2, "any", cpu=1), *members(cluster, 2, "picky", cpu=1, node_selector={"pool": "x"})]
    placed = where(cluster, planned(cluster, gang("a", pods)))
    assert {placed["picky-1"], placed["picky-2"]} == {"n1"}
    assert {placed["any-1"], placed["any-2"]} == {"n2"}


def test_they_do_so_also_if_both_have_as_many_slots_to_spare():
    cluster = cluster_of({"cpu": 1, "labels": {"pool": "x"}}, {"cpu": 1, "labels": {"pool": "x"}}, {"cpu": 1})
    pods = [*members(cluster, 2, "any", cpu=1), *members(cluster, 1, "picky", cpu=1, node_selector={"pool": "x"})]
    assert len(where(cluster, planned(cluster, gang("a", pods)))) == 3


def test_a_job_of_several_sizes_that_fits_only_when_packed_is_packed():
    cluster = cluster_of({"cpu": 6}, {"cpu": 6})
    pods = [*members(cluster, 3, "two", cpu=2), *members(cluster, 2, "three", cpu=3)]
    assert len(where(cluster, planned(cluster, gang("a", pods)))) == 5


def test_small_members_do_when_the_large_one_would_leave_no_room_for_the_minimum():
    cluster = cluster_of({"cpu": 2}, {"cpu": 1})
    pods = [*members(cluster, 1, "large", cpu=2), *members(cluster, 3, "small", cpu=1)]
    assert set(where(cluster, planned(cluster, gang("a", pods, minimum=3)))) == {"small-1", "small-2", "small-3"}


def test_a_nonstrict_gang_gets_what_there_is_and_is_told_what_is_missing():
    cluster = cluster_of({"cpu": 3})
    answer = planned(cluster, gang("a", members(cluster, 4, cpu=1), mode="NonStrict"))
    assert len(where(cluster, answer)) == 3
    assert answer.missing is not None
    assert "3 of 4 members fit" in answer.missing.message


def test_a_strict_gang_in_a_group_is_refused_also_if_the_others_are_not_strict():
    cluster = cluster_of({"cpu": 2})
    a, b = members(cluster, 1, "a", cpu=1), members(cluster, 2, "b", cpu=1)
    assert isinstance(planned(cluster, gang("a", a, mode="NonStrict"), gang("b", b)), Refusal)


def test_members_that_are_there_already_count():
    cluster = cluster_of({"cpu": 1})
    answer = planned(cluster, gang("a", members(cluster, 1, cpu=1), minimum=4, counted=3))
    assert len(where(cluster, answer)) == 1


def test_members_see_each_other():
    cluster = cluster_of({}, {}, {})
    apart = affinity(apart=[pod_term("kubernetes.io/hostname", selector(app="a"))])
    pods = members(cluster, 3, cpu=1, labels={"app": "a"}, affinity=apart)
    assert set(where(cluster, planned(cluster, gang("a", pods))).values()) == {"n1", "n2", "n3"}


def test_an_empty_cluster_refuses_a_gang_like_a_pod():
    cluster = cluster_of()
    answer = planned(cluster, gang("a", members(cluster, 2)))
    assert isinstance(answer, Refusal)
    assert answer.message.startswith("no nodes available to schedule pods")


def test_gangs_leave_the_room_of_nominated_pods_of_the_same_priority():
    cluster = cluster_of({"cpu": 2})
    pods = members(cluster, 2, cpu=1)
    other = with_identity(pod_json("other", cpu=1))
    other["status"] = {"nominatedNodeName": "n1"}
    cluster.upsert_pod(typed(other, Pod))
    assert isinstance(planned(cluster, gang("a", pods)), Refusal)


def test_nominated_members_go_to_their_nodes_and_the_others_where_room_is_left():
    """`n1` has one slot and two nominated members; by score alone, all four would go to `n3`."""
    cluster = cluster_of({"cpu": 1}, {"cpu": 2}, {"cpu": 8})
    pods = members(cluster, 4, cpu=1)
    for number, node in ((0, "n2"), (1, "n1"), (2, "n1")):
        cluster.nominate(pods[number].uid, node)
    placed = where(cluster, planned(cluster, gang("a", pods)))
    assert placed == {"a-1": "n2", "a-2": "n1", "a-3": "n3", "a-4": "n3"}


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_a_plan_is_complete_overcommits_nothing_and_leaves_the_state_unchanged(seed: int):
    rng = Random(seed)
    cluster = cluster_of(*({"cpu": rng.choice([1, 2, 3, 5])} for _ in range(rng.randint(1, 5))))
    demands = []
    for name in "abc"[: rng.randint(1, 3)]:
        pods = [
            pod
            for size in rng.sample([1, 2, 3], rng.randint(1, 2))
            for pod in members(cluster, rng.randint(1, 4), f"{name}{size}", cpu=size)
        ]
        for pod in pods:
            if rng.random() < 0.2:
                cluster.nominate(pod.uid, rng.choice(["n1", "n2", "gone"]))
        mode = rng.choice(["Strict", "NonStrict"])
        demands.append(gang(name, pods, minimum=rng.randint(0, len(pods)), mode=mode))
    before = counts_of(cluster)
    answer = planned(cluster, *demands)
    assert counts_of(cluster) == before
    if isinstance(answer, Refusal):
        return
    placed = {placement.uid: placement.node for placement in answer.placements}
    assert len(placed) == len(answer.placements)
    used: Counter[str] = Counter()
    for uid, where_ in placed.items():
        used[where_] += dict(cluster.pods[uid].shape.traits.needed)["cpu"]
    for name, cpu in used.items():
        assert cpu <= cluster.nodes.allocatable[0, cluster.nodes.row_of(name)]
    for demand in demands:
        got = sum(pod.uid in placed for pod in demand.members)
        assert got >= demand.needed or (answer.missing is not None)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_whatever_number_of_equal_members_fits_is_found(size: int):
    cluster = cluster_of({"cpu": 5}, {"cpu": 7})
    fits = 5 // size + 7 // size
    assert isinstance(planned(cluster, gang("a", members(cluster, fits, cpu=size))), Plan)
    more = members(cluster, fits + 1, "b", cpu=size)
    assert isinstance(planned(cluster, gang("b", more)), Refusal)
