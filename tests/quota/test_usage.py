"""What queues have and want: exact, in a queue and all its parents."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from koordpy.quota.amounts import GPU, K
from koordpy.quota.shares import divide
from koordpy.quota.tree import tree_of
from koordpy.quota.usage import Usage
from tests.quota.building import gpus, queue
from tests.quota.random_trees import random_amounts, random_tree


def test_a_job_counts_in_its_queue_and_in_all_parents():
    tree = tree_of([queue("top"), queue("mid", "top"), queue("leaf", "mid"), queue("other", "top")])
    usage = Usage(tree)
    usage.request(tree.rows["leaf"], gpus(3))
    usage.allocate(tree.rows["leaf"], gpus(2), preemptible=False)
    held = {name: usage.allocated[row, GPU] for name, row in tree.rows.items()}
    assert held == {"top": 2000, "mid": 2000, "leaf": 2000, "other": 0}
    assert usage.fixed[tree.rows["top"], GPU] == 2000
    assert usage.requested[tree.rows["mid"], GPU] == 3000
    assert usage.own[tree.rows["mid"], GPU] == 0


def test_preemptible_work_is_not_counted_as_fixed():
    usage = Usage(tree_of([queue("q")]))
    usage.allocate(0, gpus(2), preemptible=True)
    assert not usage.fixed.any()


def test_a_queue_whose_parent_is_missing_counts_for_itself():
    tree = tree_of([queue("lost", "gone"), queue("below", "lost")])
    usage = Usage(tree)
    usage.allocate(tree.rows["below"], gpus(1), preemptible=True)
    assert usage.allocated[:, GPU].tolist() == [1000, 1000]


def test_another_tree_has_what_queues_of_the_same_name_had():
    usage = Usage(tree_of([queue("a"), queue("b"), queue("gone")]))
    for name in ("a", "b", "gone"):
        usage.request(usage.tree.rows[name], gpus(2))
        usage.allocate(usage.tree.rows[name], gpus(1), preemptible=False)
    moved = usage.moved_to(tree_of([queue("top"), queue("a", "top"), queue("b", "a")]))
    held = {name: (moved.requested[row, GPU], moved.fixed[row, GPU]) for name, row in moved.tree.rows.items()}
    assert held == {"top": (4000, 2000), "a": (4000, 2000), "b": (2000, 1000)}


@pytest.mark.random
@pytest.mark.parametrize("seed", range(20))
def test_after_any_number_of_changes_the_counters_are_those_of_a_count_from_scratch(seed: int):
    dice = Random(seed)
    tree = random_tree(dice)
    usage = Usage(tree)
    jobs: list[tuple[int, np.ndarray, bool]] = []
    for _ in range(2000):
        if jobs and dice.random() < 0.5:
            row, amounts, preemptible = jobs.pop(dice.randrange(len(jobs)))
            usage.release(row, amounts, preemptible=preemptible)
            usage.withdraw(row, amounts)
        else:
            row, amounts, preemptible = dice.randrange(len(tree)), np.array(random_amounts(dice)), dice.random() < 0.5
            jobs.append((row, amounts, preemptible))
            usage.request(row, amounts)
            usage.allocate(row, amounts, preemptible=preemptible)
    allocated, fixed = np.zeros((len(tree), K), np.int64), np.zeros((len(tree), K), np.int64)
    for row, amounts, preemptible in jobs:
        for each in tree.paths[row]:
            allocated[each] += amounts
            fixed[each] += 0 if preemptible else amounts
    assert (usage.allocated == allocated).all()
    assert (usage.requested == allocated).all()
    assert (usage.fixed == fixed).all()
    same = usage.moved_to(tree)
    assert (same.allocated == allocated).all()
    assert (same.fixed == fixed).all()
    assert (same.requested == allocated).all()


def shares_with(usage: Usage) -> dict[str, float]:
    shares = divide(gpus(24), usage.tree, usage.asked())
    return {name: shares[row, GPU] / 1000 for name, row in usage.tree.rows.items()}


def two_departments() -> Usage:
    usage = Usage(tree_of([queue("dep"), queue("team", "dep"), queue("z")]))
    usage.request(usage.tree.rows["team"], gpus(8))
    usage.request(usage.tree.rows["z"], gpus(24))
    return usage


def test_what_waits_in_a_queue_that_takes_no_jobs_takes_nothing_from_those_below_it():
    usage = two_departments()
    before = shares_with(usage)
    usage.request(usage.tree.rows["dep"], gpus(24))
    assert shares_with(usage) == before == {"dep": 8, "team": 8, "z": 16}
    assert usage.requested[usage.tree.rows["dep"], GPU] == 32_000


def test_what_runs_in_a_queue_that_got_others_below_it_still_counts():
    usage = two_departments()
    usage.request(usage.tree.rows["dep"], gpus(6))
    version = usage.asked_version
    usage.allocate(usage.tree.rows["dep"], gpus(4), preemptible=True)
    assert usage.asked()[usage.tree.rows["dep"], GPU] == 4000
    assert usage.asked_version > version
