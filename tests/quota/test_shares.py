"""Fair shares: quota first, then what is left by priority and weight, within what is asked for and the limits."""

from __future__ import annotations

import numpy as np
import pytest

from koordpy.api.queue import QueueResource
from koordpy.quota.shares import divide
from koordpy.quota.tree import tree_of
from tests.quota.building import queue, shares_of


def test_a_queue_gets_its_quota_first():
    tree = tree_of([queue("a", quota=6), queue("b", quota=2)])
    assert shares_of(8, tree, {"a": 100, "b": 100}) == {"a": 6, "b": 2}


def test_a_quota_that_is_not_asked_for_is_left_to_the_others():
    tree = tree_of([queue("a", quota=6), queue("b", quota=2)])
    assert shares_of(8, tree, {"a": 1, "b": 100}) == {"a": 1, "b": 7}


def test_what_is_left_goes_in_proportion_to_the_weights():
    tree = tree_of([queue("a", quota=2, weight=1), queue("b", quota=2, weight=3)])
    assert shares_of(8, tree, {"a": 100, "b": 100}) == {"a": 3, "b": 5}


def test_what_is_left_goes_to_the_higher_priority_until_it_wants_no_more():
    tree = tree_of([queue("a", priority=200), queue("b", weight=9), queue("c")])
    assert shares_of(20, tree, {"a": 10, "b": 100, "c": 100}) == {"a": 10, "b": 9, "c": 1}


def test_priority_does_not_touch_quotas():
    tree = tree_of([queue("a", priority=200), queue("b", quota=8)])
    assert shares_of(8, tree, {"a": 100, "b": 8}) == {"a": 0, "b": 8}


def test_a_weight_of_zero_gets_nothing_over_quota():
    tree = tree_of([queue("a", quota=2, weight=0), queue("b", quota=2)])
    assert shares_of(8, tree, {"a": 100, "b": 3}) == {"a": 2, "b": 3}


def test_nobody_gets_more_than_it_asks_for_or_its_limit():
    tree = tree_of([queue("a", limit=3), queue("b"), queue("c")])
    assert shares_of(12, tree, {"a": 100, "b": 2, "c": 100}) == {"a": 3, "b": 2, "c": 7}


def test_a_limit_below_the_quota_holds():
    assert shares_of(8, tree_of([queue("a", quota=6, limit=4)]), {"a": 100}) == {"a": 4}


def test_a_quota_of_minus_one_gets_all_that_is_asked_for():
    tree = tree_of([queue("a", quota=-1), queue("b", quota=2)])
    assert shares_of(8, tree, {"a": 7, "b": 2}) == {"a": 7, "b": 2}


def test_shares_are_real_numbers():
    tree = tree_of([queue("a"), queue("b"), queue("c")])
    assert shares_of(8, tree, {"a": 8, "b": 8, "c": 8})["a"] == pytest.approx(8 / 3)


def test_a_share_that_is_a_whole_number_is_exactly_that_whatever_the_weights():
    tree = tree_of([queue("a", weight=0.1), queue("b", weight=0.2)])
    assert shares_of(9, tree, {"a": 9, "b": 9}) == {"a": 3, "b": 6}


def test_children_divide_what_their_parent_got():
    tree = tree_of([queue("d1", quota=6), queue("d2", quota=2), queue("x", "d1"), queue("y", "d1"), queue("z", "d2")])
    assert shares_of(8, tree, {"x": 8, "y": 8, "z": 8}) == {"d1": 6, "d2": 2, "x": 3, "y": 3, "z": 2}


def test_what_a_childs_limit_denies_it_is_not_kept_from_its_parents_siblings():
    tree = tree_of([queue("d1"), queue("x", "d1", limit=1), queue("d2"), queue("z", "d2")])
    assert shares_of(8, tree, {"x": 8, "z": 8}) == {"d1": 1, "x": 1, "d2": 7, "z": 7}


def test_jobs_that_a_parent_had_before_it_got_children_come_off_what_the_children_divide():
    tree = tree_of([queue("d"), queue("x", "d")])
    assert shares_of(8, tree, {"d": 3, "x": 8}) == {"d": 8, "x": 5}


def test_a_resource_that_a_queue_does_not_count_is_divided_among_the_others():
    tree = tree_of([queue("a", gpu=False), queue("b")])
    assert shares_of(8, tree, {"a": 8, "b": 8}) == {"a": 0, "b": 8}


def test_children_of_a_queue_that_does_not_count_a_resource_divide_what_it_was_dividing():
    tree = tree_of([queue("d", gpu=False), queue("x", "d"), queue("y", "d")])
    assert shares_of(8, tree, {"x": 8, "y": 8}) == {"d": 0, "x": 4, "y": 4}


def test_resources_are_divided_independently_of_each_other():
    tree = tree_of([queue("a", quota=8, cpu=QueueResource()), queue("b", cpu=QueueResource())])
    asked = np.array([[4000, 0, 8000], [4000, 0, 8000]])
    assert divide(np.array([4000, 0, 8000]), tree, asked).tolist() == [[2000, 0, 8000], [2000, 0, 0]]


def test_a_queue_that_is_not_ready_gets_nothing():
    tree = tree_of([queue("a"), queue("b", "gone", quota=4)])
    assert shares_of(8, tree, {"a": 8, "b": 8}) == {"a": 8, "b": 0}


def test_quotas_are_given_even_if_they_are_more_than_there_is():
    tree = tree_of([queue("a", quota=6), queue("b", quota=6)])
    assert shares_of(8, tree, {"a": 8, "b": 8}) == {"a": 6, "b": 6}


def test_less_than_no_capacity_is_none():
    assert shares_of(-3, tree_of([queue("a")]), {"a": 8}) == {"a": 0}


def test_without_queues_there_are_no_shares():
    assert shares_of(8, tree_of([]), {}) == {}
