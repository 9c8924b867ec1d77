"""Limits and quotas that keep a job out, and what the user is told."""

from __future__ import annotations

import numpy as np

from koordpy.api.queue import QueueResource
from koordpy.quota.amounts import GPU, UNLIMITED
from koordpy.quota.limits import LIMIT, QUOTA, headroom, would_exceed
from koordpy.quota.tree import tree_of
from koordpy.quota.usage import Usage
from tests.quota.building import Team, gpus, queue


def obstacle(team: Team, name: str, number: float, *, preemptible: bool = True):
    return would_exceed(team.usage, team.tree.rows[name], gpus(number), preemptible=preemptible)


def test_a_job_that_fills_the_limit_is_let_in_and_one_more_is_not():
    team = Team(queue("q", limit=8)).runs("q", 6)
    assert obstacle(team, "q", 2) is None
    assert obstacle(team, "q", 3) == ("q", GPU, LIMIT, 8000, 6000, 3000)


def test_the_limit_of_a_parent_holds_for_all_below_it():
    team = Team(queue("top", limit=8), queue("a", "top"), queue("b", "top")).runs("a", 6)
    found = obstacle(team, "b", 3)
    assert found is not None
    assert found.queue == "top"


def test_the_queue_itself_is_named_before_its_parents():
    team = Team(queue("top", limit=8), queue("a", "top", limit=2))
    found = obstacle(team, "a", 9)
    assert found is not None
    assert found.queue == "a"


def test_preemptible_work_may_go_over_quota_and_other_work_may_not():
    team = Team(queue("q", quota=4)).runs("q", 3, preemptible=False)
    assert obstacle(team, "q", 2) is None
    assert obstacle(team, "q", 2, preemptible=False) == ("q", GPU, QUOTA, 4000, 3000, 2000)
    assert obstacle(team, "q", 1, preemptible=False) is None


def test_preemptible_work_over_quota_does_not_keep_out_work_that_is_not_preemptible():
    team = Team(queue("q", quota=4)).runs("q", 8)
    assert obstacle(team, "q", 4, preemptible=False) is None


def test_the_quota_of_a_parent_holds_for_work_that_is_not_preemptible():
    team = Team(queue("top", quota=2), queue("q", "top", quota=4))
    found = obstacle(team, "q", 3, preemptible=False)
    assert found is not None
    assert (found.queue, found.bound) == ("top", QUOTA)


def test_a_resource_that_is_not_asked_for_or_not_counted_keeps_nobody_out():
    team = Team(queue("q", limit=2)).runs("q", 4)  # the limit was lowered since
    cpu = np.array([1000, 0, 0])
    assert would_exceed(team.usage, 0, cpu, preemptible=False) is None


def test_a_refusal_says_which_queue_which_resource_limit_or_quota_allocated_and_asked_for():
    team = Team(queue("team-a", quota=4, limit=8)).runs("team-a", 3, preemptible=False).runs("team-a", 3)
    limited, over = obstacle(team, "team-a", 3), obstacle(team, "team-a", 2, preemptible=False)
    assert limited is not None
    assert limited.message == "queue team-a has no room below its limit of gpu: limit 8, allocated 6, asked for 3"
    assert over is not None
    assert over.message == (
        "queue team-a has no room below its quota of gpu: quota 4, non-preemptible work has 3, asked for 2"
    )


def test_amounts_in_refusals_are_kubernetes_quantities():
    tree = tree_of([queue("q", cpu=QueueResource(limit=1500), memory=QueueResource(limit=1500))])
    cpu = would_exceed(Usage(tree), 0, np.array([2000, 0, 0]), preemptible=True)
    memory = would_exceed(Usage(tree), 0, np.array([0, 2**34, 0]), preemptible=True)
    assert cpu is not None
    assert "limit 1500m, allocated 0, asked for 2" in cpu.message
    assert memory is not None
    assert "limit 1500M, allocated 0, asked for 16Gi" in memory.message


def test_a_job_that_asks_for_more_than_an_empty_queue_may_have_is_never_let_in():
    team = Team(queue("q", limit=8)).runs("q", 8)
    never, now = obstacle(team, "q", 9), obstacle(team, "q", 8)
    assert never is not None
    assert never.never
    assert now is not None
    assert not now.never


def test_the_headroom_is_the_least_that_the_queue_and_its_parents_leave():
    team = Team(queue("top", limit=8), queue("a", "top", limit=6, quota=3), queue("b", "top")).runs("b", 4)
    row = team.tree.rows["a"]
    assert headroom(team.usage, row, preemptible=True)[GPU] == 4000
    assert headroom(team.usage, team.tree.rows["b"], preemptible=False)[GPU] == 0
    assert headroom(Usage(tree_of([queue("q")])), 0, preemptible=True)[GPU] == UNLIMITED
