"""Which queue a job is in, and whose turn it is."""

from __future__ import annotations

import pytest

from tests.scheduler.frontends.rig import of_kai
from tests.scheduler.queues.rig import LABEL, QueueRig


def rig_with(cpu: int) -> QueueRig:
    rig = QueueRig()
    rig.node("n", cpu=cpu)
    return rig


def test_without_queues_the_label_means_nothing():
    rig = rig_with(cpu=4)
    rig.job("p", "nowhere")
    rig.settle()
    assert rig.is_placed("p")


def test_a_job_of_a_queue_that_does_not_exist_waits_and_says_so():
    rig = rig_with(cpu=4)
    rig.has_queue("a")
    rig.job("p", "nowhere")
    rig.settle()
    assert rig.message("p") == "queue nowhere does not exist"
    rig.has_queue("nowhere")
    rig.settle()
    assert rig.is_placed("p")


def test_only_leaves_take_jobs():
    rig = rig_with(cpu=4)
    rig.has_queue("a")
    rig.has_queue("b", parent="a")
    rig.job("p", "a")
    rig.settle()
    assert rig.message("p") == "queue a takes no jobs, because it has queues below it: b"


@pytest.mark.parametrize("circle", [("a",), ("a", "b")])
@pytest.mark.parametrize("other", ["a", "fine", ""])
def test_a_job_of_a_queue_that_is_its_own_ancestor_waits_and_stops_nobody(circle, other):
    rig = rig_with(cpu=4)
    rig.has_queue("fine")
    for number, name in enumerate(circle):
        rig.has_queue(name, parent=circle[number - 1])
    for number, name in enumerate(circle):
        rig.job(f"lost-{number}", name)
    rig.job("other", other)
    rig.settle()
    assert rig.is_placed("other") == (other != "a")
    assert "it is its own ancestor" in rig.message("lost-0")


def test_a_job_that_names_no_queue_is_in_the_default_one():
    rig = rig_with(cpu=4)
    rig.has_queue("default-queue", cpu=(1, 1))
    rig.job("p")
    rig.job("q")
    rig.settle()
    assert len(rig.in_queue("default-queue")) == 1


def test_a_job_is_outside_where_no_default_queue_exists():
    rig = rig_with(cpu=4)
    rig.has_queue("a", cpu=(0, 0))
    rig.job("p")
    rig.settle()
    assert rig.is_placed("p")


def test_the_queue_of_a_pod_group_counts_before_labels():
    rig = rig_with(cpu=4)
    rig.has_queue("a", cpu=(0, 0))
    rig.has_queue("b")
    rig.kai("g", minMember=1, queue="b")
    rig.member("p", says=of_kai("g"), labels={LABEL: "a"})
    rig.settle()
    assert rig.in_queue("b") == ["p"]


def test_gangs_of_a_group_that_name_different_queues_wait_and_say_so():
    rig = rig_with(cpu=4)
    rig.has_queue("a")
    rig.has_queue("b")
    groups = {"gang.scheduling.koordinator.sh/groups": '["default/g", "default/h"]'}
    rig.kai("g", minMember=1, queue="a", says=groups)
    rig.kai("h", minMember=1, queue="b", says=groups)
    rig.member("g-1", says=of_kai("g"))
    rig.member("h-1", says=of_kai("h"))
    rig.settle()
    assert rig.placed() == []
    assert rig.message("g-1") == (
        "gangs that start together have to be in one queue: default/g is in a, default/h is in b"
    )


def test_equal_queues_take_turns():
    rig = rig_with(cpu=4)
    rig.has_queue("a")
    rig.has_queue("b")
    rig.jobs_of("a", 8)
    rig.jobs_of("b", 8)
    rig.settle()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (2, 2)


def test_a_queue_within_its_quota_comes_first():
    rig = rig_with(cpu=4)
    rig.has_queue("a", cpu=(3, -1))
    rig.has_queue("b", priority=200)
    rig.jobs_of("b", 8)
    rig.jobs_of("a", 8)
    rig.settle()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (3, 1)


def test_what_is_left_goes_by_queue_priority():
    rig = rig_with(cpu=4)
    rig.has_queue("a")
    rig.has_queue("b", priority=200)
    rig.jobs_of("a", 8)
    rig.jobs_of("b", 8)
    rig.settle()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (0, 4)


@pytest.mark.parametrize(("weights", "expected"), [((1, 3), (1, 3)), ((3, 1), (3, 1))])
def test_queues_of_one_priority_get_by_weight(weights, expected):
    rig = rig_with(cpu=4)
    rig.has_queue("a", weight=weights[0])
    rig.has_queue("b", weight=weights[1])
    rig.jobs_of("a", 8)
    rig.jobs_of("b", 8)
    rig.settle()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == expected


def test_inside_a_queue_the_order_is_that_of_priority():
    rig = rig_with(cpu=1)
    rig.has_queue("a")
    rig.job("low", "a", priority=1)
    rig.job("high", "a", priority=5)
    rig.settle()
    assert rig.in_queue("a") == ["high"]


def test_a_job_outside_goes_before_queued_jobs_of_equal_priority():
    rig = rig_with(cpu=1)
    rig.has_queue("a")
    rig.job("queued", "a", priority=5)
    rig.job("outside", priority=5)
    rig.settle()
    assert rig.is_placed("outside")


def test_a_queued_job_of_higher_priority_goes_before_one_outside():
    rig = rig_with(cpu=1)
    rig.has_queue("a")
    rig.job("outside", priority=4)
    rig.job("queued", "a", priority=5)
    rig.settle()
    assert rig.is_placed("queued")


def test_a_queue_whose_job_does_not_fit_does_not_hold_up_others():
    rig = rig_with(cpu=2)
    rig.has_queue("a", cpu=(8, -1))
    rig.has_queue("b")
    rig.job("big", "a", cpu=8)
    rig.job("small", "b")
    rig.settle()
    assert rig.in_queue("b") == ["small"]


def test_surplus_members_of_an_elastic_gang_wait_for_their_turn():
    rig = rig_with(cpu=4)
    rig.has_queue("a")
    rig.has_queue("b")
    rig.kai("g", minMember=1, queue="a")
    for number in range(8):
        rig.member(f"g-{number}", says=of_kai("g"))
    rig.jobs_of("b", 8)
    rig.settle()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (2, 2)


def test_a_label_that_is_changed_while_a_pod_runs_counts_from_its_next_start():
    rig = rig_with(cpu=4)
    rig.has_queue("a")
    rig.has_queue("b")
    rig.job("p", "a")
    rig.settle()
    rig.job("p", "b", on="n")
    assert rig.in_queue("a") == ["p"]


def test_running_pods_of_a_queue_that_was_deleted_count_outside():
    rig = rig_with(cpu=2)
    rig.has_queue("a")
    rig.has_queue("b", cpu=(2, -1))
    rig.job("p", "a")
    rig.settle()
    rig.no_queue("a")
    rig.jobs_of("b", 2)
    rig.settle()
    assert rig.evicted() == []
