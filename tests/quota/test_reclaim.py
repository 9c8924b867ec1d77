"""Who may take from whom."""

from __future__ import annotations

import numpy as np

from koordpy.api.queue import QueueResource
from koordpy.quota.amounts import GPU
from koordpy.quota.levels import ROOT
from koordpy.quota.reclaim import Basis, Claim, Taken, is_protected
from tests.quota.building import Team, gpus, queue


def claim(team: Team, name: str, number: float, basis: Basis = Basis.QUOTA, below: str = "") -> Claim:
    limited = team.tree.rows[below] if below else ROOT
    return Claim(team.usage, team.shares(), team.tree.rows[name], gpus(number), basis=basis, below=limited)


def order(team: Team, made: Claim) -> list[str]:
    return [
        team.tree.names[row] for row in made.order([row for row in range(len(team.tree)) if team.tree.is_leaf(row)])
    ]


def victim(team: Team, name: str, number: float, since: Basis | None = None) -> Taken:
    return Taken(team.tree.rows[name], gpus(number), since)


def test_a_queue_within_its_quota_may_take_from_queues_above_theirs():
    team = Team(queue("a", quota=4), queue("b", quota=2), queue("c", quota=2)).runs("b", 6).runs("c", 2).waits("a", 4)
    assert order(team, claim(team, "a", 4)) == ["b"]


def test_a_queue_that_would_go_over_its_quota_may_not_claim_it():
    team = Team(queue("a", quota=4), queue("b")).runs("b", 8).waits("a", 5)
    assert claim(team, "a", 5).is_empty
    assert order(team, claim(team, "a", 5)) == []


def test_a_queue_within_its_fair_share_may_take_from_queues_above_theirs():
    team = Team(queue("a"), queue("b")).runs("b", 8).waits("a", 4)
    assert claim(team, "a", 4).is_empty
    assert order(team, claim(team, "a", 4, Basis.SHARE)) == ["b"]
    assert claim(team, "a", 5, Basis.SHARE).is_empty


def test_a_queue_at_its_line_loses_nothing():
    team = Team(queue("a", quota=4), queue("b", quota=4)).runs("b", 4).waits("a", 4)
    assert order(team, claim(team, "a", 4)) == []


def test_the_queue_furthest_above_goes_first():
    team = Team(queue("a", quota=4), queue("b"), queue("c"), capacity=12).runs("b", 7).runs("c", 5).waits("a", 4)
    assert order(team, claim(team, "a", 4)) == ["b", "c"]


def test_furthest_above_is_compared_from_the_top_of_the_tree():
    made = [
        queue("a", quota=4),
        queue("d1", quota=4),
        queue("d2", quota=2),
        queue("x", "d1"),
        queue("y", "d2"),
        queue("z", "d2"),
    ]
    team = Team(*made, capacity=12).runs("x", 5).runs("y", 6).runs("z", 1).waits("a", 4)
    assert order(team, claim(team, "a", 4)) == ["y", "z", "x"]


def test_a_job_may_be_taken_only_while_its_queue_is_above_the_line_and_the_one_that_crosses_it_goes_last():
    team = Team(queue("a", quota=4), queue("b", quota=3)).runs("b", 8).waits("a", 4)
    made = claim(team, "a", 4)
    assert made.above(team.tree.rows["b"])[GPU] == 5000
    assert made.objection([victim(team, "b", 2), victim(team, "b", 2)]) == ""
    assert made.objection([victim(team, "b", 4), victim(team, "b", 4)]) == ""  # 8, 4, and the second crosses 3
    assert made.objection([victim(team, "b", 5), victim(team, "b", 1)]) == ""  # the small one first
    assert made.objection([victim(team, "b", 5), victim(team, "b", 5), victim(team, "b", 5)]) == (
        "a queue may lose only what is above its quota: b"
    )


def test_every_level_below_the_common_ancestor_has_to_be_above_its_line():
    made = [
        queue("d1", quota=4),
        queue("d2", quota=4),
        queue("x", "d1", quota=4),
        queue("y", "d2", quota=1),
        queue("z", "d2", quota=3),
    ]
    team = Team(*made).runs("y", 1).runs("z", 5).waits("x", 2)
    assert order(team, claim(team, "x", 2)) == ["z"]  # y is within its own quota
    team = Team(*made).runs("y", 3).runs("z", 1).waits("x", 2)
    assert order(team, claim(team, "x", 2)) == []  # their department is within its quota


def test_a_department_over_its_line_does_not_keep_its_teams_from_taking_from_each_other():
    made = [queue("d1", quota=2), queue("d2", quota=6), queue("x", "d1", quota=2), queue("y", "d1"), queue("z", "d2")]
    team = Team(*made).runs("y", 3).runs("z", 7).waits("x", 2)
    assert order(team, claim(team, "x", 2)) == ["y"]


def test_nothing_is_taken_from_the_queue_itself_or_from_one_that_is_not_ready():
    team = Team(queue("a", quota=4), queue("lost", "gone")).runs("a", 1).runs("lost", 7)
    assert order(team, claim(team, "a", 2)) == []


def test_nothing_is_taken_from_jobs_that_a_parent_of_the_queue_had_before():
    team = Team(queue("d", quota=2), queue("x", "d", quota=2)).runs("d", 6).waits("x", 2)
    made = claim(team, "x", 2)
    assert not made.reaches(victim(team, "d", 6))
    assert made.above(team.tree.rows["d"])[GPU] == 0


def test_a_resource_that_is_not_claimed_makes_nobody_a_victim():
    team = Team(queue("a", quota=4), queue("b", quota=8, cpu=QueueResource(quota=0))).waits("a", 1)
    team.usage.allocate(team.tree.rows["b"], np.array([4000, 0, 4000]), preemptible=True)
    assert order(team, claim(team, "a", 1)) == []


def test_a_queue_that_does_not_count_a_resource_leaves_the_line_to_its_parents():
    made = [queue("a", quota=4), queue("d", quota=2), queue("x", "d", gpu=False), queue("free", gpu=False)]
    team = Team(*made).runs("x", 4).runs("free", 4).waits("a", 2)
    assert order(team, claim(team, "a", 2)) == ["x"]


def test_below_a_limited_parent_only_siblings_can_make_room():
    made = [queue("d", limit=4), queue("x", "d", quota=2), queue("y", "d"), queue("other")]
    team = Team(*made, capacity=12).runs("y", 4).runs("other", 8).waits("x", 1)
    assert order(team, claim(team, "x", 1, below="d")) == ["y"]
    assert claim(team, "x", 1, below="x").is_empty  # its own limit: only its own jobs can make room


def test_afterwards_the_claiming_queue_is_no_better_off_than_the_one_it_took_from():
    team = Team(queue("a"), queue("b")).runs("a", 1).runs("b", 7).waits("a", 3).waits("b", 8)
    made = claim(team, "a", 3, Basis.SHARE)
    assert made.objection([victim(team, "b", 3)]) == ""
    assert made.objection([victim(team, "b", 7)]) == (
        "queue a would have 100% of its fair share afterwards, and b no more than 0%"
    )


def test_within_its_quota_the_claiming_queue_may_be_better_off():
    team = Team(queue("a", quota=4), queue("b")).runs("b", 8).waits("a", 4)
    for basis in Basis:
        assert claim(team, "a", 4, basis).objection([victim(team, "b", 8)]) == ""


def test_a_queue_that_is_due_nothing_can_lose_everything():
    team = Team(queue("a"), queue("b", weight=0)).runs("b", 8).waits("a", 4)
    assert claim(team, "a", 4, Basis.SHARE).objection([victim(team, "b", 8)]) == ""


def test_a_job_that_was_started_by_a_claim_is_taken_for_a_better_one_alone():
    team = Team(queue("a", quota=4), queue("b", quota=2)).runs("b", 8).waits("a", 4)
    assert not claim(team, "a", 1).reaches(victim(team, "b", 1, Basis.QUOTA))
    assert claim(team, "a", 1).reaches(victim(team, "b", 1, Basis.SHARE))
    assert not claim(team, "a", 1, Basis.SHARE).reaches(victim(team, "b", 1, Basis.SHARE))


def test_a_minimum_run_time_protects_a_gangs_minimum_from_its_latest_start_on_and_no_surplus():
    assert is_protected(60, latest_start=100, now=159, surplus=False)
    assert not is_protected(60, latest_start=100, now=160, surplus=False)
    assert not is_protected(60, latest_start=100, now=101, surplus=True)
