"""Whose turn it is."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from koordpy.api.queue import QueueResource
from koordpy.quota.levels import ROOT
from koordpy.quota.shares import divide
from koordpy.quota.tree import QueueTree
from koordpy.quota.turns import Turns, dominant_share
from koordpy.quota.usage import Usage
from tests.quota.building import Team, gpus, queue
from tests.quota.random_trees import random_amounts, random_tree


def first(team: Team, **jobs: float) -> str | None:
    """The queue whose job of so many GPUs is next; the jobs wait."""
    for name, number in jobs.items():
        team.waits(name, number)
    turns = Turns(team.usage, team.shares())
    for name, number in jobs.items():
        turns.offer(team.tree.rows[name], gpus(number))
    row = turns.first()
    return None if row is None else team.tree.names[row]


def test_a_queue_that_stays_within_its_quota_goes_first():
    team = Team(queue("over", priority=200), queue("within", quota=2))
    assert first(team, over=1, within=2) == "within"


def test_the_next_job_counts_as_if_it_had_started():
    team = Team(queue("big", quota=2, age=1), queue("small", quota=2))
    assert first(team, big=3, small=2) == "small"


def test_of_queues_over_quota_the_higher_priority_goes_first():
    team = Team(queue("a"), queue("b", priority=200)).runs("b", 3)
    assert first(team, a=1, b=1) == "b"


def test_then_the_lowest_part_of_its_fair_share():
    team = Team(queue("a", age=1), queue("b")).runs("a", 2).runs("b", 1)
    assert first(team, a=4, b=4) == "b"


def test_the_part_is_that_of_the_share_and_not_the_amount():
    team = Team(queue("light", age=1), queue("heavy", weight=7)).runs("heavy", 3).waits("heavy", 7)
    assert first(team, light=1, heavy=1) == "heavy"


def test_a_fair_share_of_zero_comes_last():
    team = Team(queue("none", weight=0, age=1), queue("some")).runs("some", 7)
    assert first(team, none=1, some=1) == "some"


def test_a_resource_that_a_queue_has_nothing_of_does_not_count():
    cpu = QueueResource(quota=0)
    team = Team(queue("q", quota=4, cpu=cpu), queue("r"))
    assert first(team, q=1, r=1) == "q"


def test_equal_queues_take_turns_by_age_then_by_name():
    team = Team(queue("b"), queue("a"), queue("older", age=1))
    assert first(team, a=1, b=1) == "a"
    assert first(team, older=1) == "older"
    team = Team(queue("b"), queue("a"), queue("older", age=1))
    assert first(team, a=1, b=1, older=1) == "older"


def test_departments_are_compared_before_their_teams():
    team = Team(queue("d1", quota=2), queue("d2", quota=6), queue("x", "d1", quota=6), queue("y", "d2"))
    team.runs("x", 2)
    assert first(team, x=1, y=1) == "y"  # x is within its own quota, and its department is not


def test_a_department_stands_for_its_best_child():
    team = Team(
        queue("d1", quota=4), queue("d2", quota=4), queue("x", "d1"), queue("x2", "d1", quota=2), queue("y", "d2")
    )
    assert first(team, x=8, x2=1, y=8) == "x2"


def test_a_queue_without_a_job_does_not_hold_up_the_others():
    team = Team(queue("a", quota=8), queue("b")).waits("a", 1).waits("b", 1)
    turns = Turns(team.usage, team.shares())
    turns.offer(team.tree.rows["a"], gpus(1))
    turns.offer(team.tree.rows["b"], gpus(1))
    assert turns.first() == team.tree.rows["a"]
    turns.offer(team.tree.rows["a"], None)
    assert turns.first() == team.tree.rows["b"]
    turns.offer(team.tree.rows["b"], None)
    assert turns.first() is None


def test_two_equal_queues_that_want_everything_end_within_one_job_of_each_other():
    team = Team(queue("a"), queue("b"), capacity=9).waits("a", 100).waits("b", 100)
    turns = Turns(team.usage, team.shares())
    for row in range(2):
        turns.offer(row, gpus(1))
    for _ in range(9):
        row = turns.first()
        assert row is not None
        team.usage.allocate(row, gpus(1), preemptible=True)
        turns.touch(row)
    assert sorted(team.usage.allocated[:, 2].tolist()) == [4000, 5000]


@pytest.mark.random
@pytest.mark.parametrize("seed", range(40))
def test_after_any_changes_the_next_queue_is_that_of_a_comparison_from_scratch(seed: int):
    dice = Random(seed)
    tree = random_tree(dice, most=40)
    leaves = [row for row in range(len(tree)) if tree.is_leaf(row) and tree.is_ready(row)]
    if not leaves:
        return
    usage = Usage(tree)
    capacity = np.array([50_000, 10**13, 30_000])
    shares = divide(capacity, tree, usage.asked())
    turns = Turns(usage, shares)
    offers: dict[int, list[int]] = {}
    for _ in range(150):
        row, amounts = dice.choice(leaves), np.array(random_amounts(dice))
        match dice.randrange(4):
            case 0:
                offers[row] = amounts.tolist()
                turns.offer(row, amounts)
            case 1:
                offers.pop(row, None)
                turns.offer(row, None)
            case 2:
                usage.allocate(row, amounts, preemptible=True)
                turns.touch(row)
            case _:
                usage.request(row, amounts)
                shares = divide(capacity, tree, usage.asked())
                turns.share(shares)
        assert turns.first() == _from_scratch(tree, usage, shares, offers, ROOT), seed


def _from_scratch(
    tree: QueueTree, usage: Usage, shares: np.ndarray, offers: dict[int, list[int]], parent: int
) -> int | None:
    best = None
    for row in tree.children.get(parent, ()):
        leaf = row if tree.is_leaf(row) else _from_scratch(tree, usage, shares, offers, row)
        if leaf is None or leaf not in offers:
            continue
        request = offers[leaf]
        held = [a + b for a, b in zip(usage.allocated[row].tolist(), request, strict=True)]
        over = any(asks and has > may for asks, has, may in zip(request, held, tree.quota[row].tolist(), strict=True))
        share = dominant_share(held, shares[row].tolist(), tree.counted[row].tolist())
        turn = (over, -tree.priority[row], share, row)
        if best is None or turn < best[0]:
            best = turn, leaf
    return None if best is None else best[1]
