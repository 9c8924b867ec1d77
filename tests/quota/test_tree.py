"""The tree of queues, and what is wrong with a queue that is not in it."""

from __future__ import annotations

import msgspec
import pytest

from koordpy.api.decode import Decoder
from koordpy.api.queue import Queue, QueueResource
from koordpy.quota.amounts import CPU, GPU, MEMORY, UNLIMITED
from koordpy.quota.tree import QueueState, QueueTree, tree_of
from tests.quota.building import queue

_SUCH_AS = " such as 30s, 1m30s or 1.5h"


def state(tree: QueueTree, name: str) -> tuple[QueueState, str]:
    verdict = tree.verdicts[tree.rows[name]]
    return verdict.state, verdict.message


def test_a_queue_without_a_parent_and_one_below_it_are_ready():
    tree = tree_of([queue("leaf", "top"), queue("top")])
    assert state(tree, "leaf")[0] is state(tree, "top")[0] is QueueState.READY


def test_a_queue_takes_jobs_unless_it_is_a_parent():
    tree = tree_of([queue("leaf", "top"), queue("top")])
    assert [name for name in tree.names if tree.is_leaf(tree.rows[name])] == ["leaf"]


def test_a_child_that_is_not_ready_is_a_child():
    tree = tree_of([queue("top"), queue("bad", "top", weight=-1)])
    assert not tree.is_leaf(tree.rows["top"])


def test_a_parent_that_does_not_exist_is_missing_for_everything_below():
    tree = tree_of([queue("a", "gone"), queue("b", "a"), queue("other")])
    assert state(tree, "a") == (QueueState.PARENT_MISSING, "parent queue gone does not exist")
    below = "a, which it is below, is not ready: parent queue gone does not exist"
    assert state(tree, "b") == (QueueState.PARENT_MISSING, below)
    assert state(tree, "other")[0] is QueueState.READY


def test_queues_that_are_each_others_ancestors_are_a_cycle_and_so_is_what_is_below_them():
    tree = tree_of([queue("a", "b"), queue("b", "c"), queue("c", "a"), queue("below", "a"), queue("other")])
    assert state(tree, "a") == (QueueState.PARENT_CYCLE, "it is its own ancestor: a below b below c below a")
    assert state(tree, "c") == (QueueState.PARENT_CYCLE, "it is its own ancestor: c below a below b below c")
    assert state(tree, "below")[0] is QueueState.PARENT_CYCLE
    assert state(tree, "other")[0] is QueueState.READY


def test_a_queue_that_is_its_own_parent_is_a_cycle():
    assert state(tree_of([queue("a", "a")]), "a")[1] == "it is its own ancestor: a below a"


@pytest.mark.timeout(10)
def test_a_cycle_of_which_a_queue_is_invalid_has_an_end():
    """Once the tree was walked upwards for ever, and the scheduler's memory grew until it was killed."""
    for tree in (
        tree_of([queue("a", "a", weight=-1)]),
        tree_of([queue("a", "b", weight=-1), queue("b", "a", weight=-1), queue("c", "a")]),
        tree_of([queue("a", "b", weight=-1), queue("b", "a"), queue("c", "b")]),
    ):
        assert state(tree, "a") == (QueueState.INVALID, "spec.resources.gpu.overQuotaWeight: -1 is negative")
        assert {state(tree, name)[0] for name in tree.names} == {QueueState.INVALID}


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (queue("q", weight=-0.5), "spec.resources.gpu.overQuotaWeight: -0.5 is negative"),
        (queue("q", limit=-2), "spec.resources.gpu.limit: -2 is neither -1 (unlimited) nor at least 0"),
        (queue("q", cpu=QueueResource(-7)), "spec.resources.cpu.quota: -7 is neither -1 (unlimited) nor at least 0"),
        (queue("q", preempt_after="soon"), "spec.preemptMinRuntime: 'soon' is not a Go duration" + _SUCH_AS),
        (queue("q", reclaim_after="-5s"), "spec.reclaimMinRuntime: '-5s' is negative"),
    ],
)  # fmt: skip
def test_a_number_that_cannot_be_is_an_error_on_the_object_and_on_nothing_else(made: Queue, message: str):
    tree = tree_of([made, queue("below", "q"), queue("other")])
    assert state(tree, "q") == (QueueState.INVALID, message)
    assert state(tree, "below") == (QueueState.INVALID, f"q, which it is below, is not ready: {message}")
    assert state(tree, "other")[0] is QueueState.READY


def test_in_a_block_that_is_there_not_set_is_no_quota_no_limit_and_a_weight_of_one():
    tree = tree_of([queue("q")])
    assert (tree.quota[0, GPU], tree.limit[0, GPU], tree.weight[0, GPU]) == (0, UNLIMITED, 1)


def test_a_block_that_is_not_there_is_not_counted():
    tree = tree_of([queue("q")])
    assert tree.counted[0].tolist() == [False, False, True]
    assert (tree.quota[0, CPU], tree.limit[0, CPU]) == (UNLIMITED, UNLIMITED)


def test_numbers_are_in_gpus_thousandths_of_a_cpu_and_millions_of_bytes():
    made = queue("q", quota=0.7, cpu=QueueResource(quota=1500), memory=QueueResource(quota=2.5))
    quota = tree_of([made]).quota[0]
    assert (quota[GPU], quota[CPU], quota[MEMORY]) == (700, 1500, 2_500_000)


def test_minus_one_is_unlimited():
    tree = tree_of([queue("q", quota=-1, limit=-1)])
    assert (tree.quota[0, GPU], tree.limit[0, GPU]) == (UNLIMITED, UNLIMITED)


def test_siblings_are_in_order_of_priority_then_age_then_name():
    made = [queue("b"), queue("a"), queue("old", age=3), queue("vip", priority=200), queue("low", priority=1, age=9)]
    assert tree_of(made).names == ("vip", "old", "a", "b", "low")


def test_a_minimum_run_time_is_the_queues_own_else_that_of_the_nearest_parent():
    tree = tree_of(
        [queue("top", preempt_after="1h", reclaim_after="2m"), queue("a", "top", preempt_after="0s"), queue("b", "a")]
    )
    assert tree.preempt_min_runtime[tree.rows["b"]] == 0
    assert tree.reclaim_min_runtime[tree.rows["b"]] == 120


def test_a_queue_made_under_kais_definition_is_read():
    raw = msgspec.json.encode(
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": "team", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {
                "displayName": "Team",
                "parentQueue": "department",
                "resources": {"gpu": {"quota": 2, "limit": -1, "overQuotaWeight": 1.5}, "cpu": {"quota": -1}},
            },
            "status": {
                "allocated": {"nvidia.com/gpu": "1", "cpu": 2},
                "childQueues": ["x"],
                "conditions": [{"type": "JobsInQueue", "status": "True", "lastProbeTime": None}],
            },
        }
    )
    read = Decoder("Queue", Queue)(raw)
    assert read.spec.resources is not None
    assert read.spec.resources.gpu == QueueResource(2, -1, 1.5)
    assert read.spec.resources.memory is None
    assert read.status.allocated == {"nvidia.com/gpu": "1", "cpu": 2}
