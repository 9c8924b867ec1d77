"""What was decided counts at once: victims on their way out, nominations, and shares that change."""

from __future__ import annotations

from tests.scheduler.frontends.rig import of_kai
from tests.scheduler.queues.rig import QueueRig


def full_of_a(size: int = 4, **b: object) -> QueueRig:
    rig = QueueRig()
    rig.node("n", cpu=size)
    rig.has_queue("a", priority=200)
    rig.has_queue("b", **b)
    for number in range(size):
        rig.job(f"a-{number}", "a", on="n")
    return rig


def test_a_queue_whose_jobs_are_leaving_already_is_not_taken_from_again():
    rig = full_of_a(cpu=(4, -1))
    rig.has_queue("a", cpu=(2, -1))
    rig.jobs_of("b", 4)
    rig.settle()
    assert len(rig.evicted()) == 2


def test_a_quota_that_is_raised_wakes_as_many_as_it_lets_in():
    rig = full_of_a()
    rig.jobs_of("b", 4)
    rig.settle()
    assert rig.evicted() == []
    rig.has_queue("b", cpu=(3, -1))
    rig.settle()
    assert len(rig.evicted()) == 3
    rig.carry_out()
    assert len(rig.in_queue("b")) == 3


def test_two_jobs_at_a_limit_do_not_count_on_the_same_victim():
    rig = QueueRig()
    rig.node("n", cpu=8)
    rig.has_queue("top", cpu=(3, 3))
    rig.has_queue("a", parent="top")
    rig.has_queue("b", parent="top", cpu=(3, -1))
    for number in range(3):
        rig.job(f"a-{number}", "a", on="n")
    rig.jobs_of("b", 2)
    rig.settle()
    assert len(rig.evicted()) == 2
    rig.carry_out()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (1, 2)


def test_nobody_leaves_for_a_limit_while_another_one_is_in_the_way():
    rig = QueueRig()
    rig.node("n", cpu=8)
    rig.has_queue("top", cpu=(0, 3))
    rig.has_queue("a", parent="top", cpu=(0, 2))
    rig.has_queue("b", parent="top", cpu=(2, -1))
    rig.job("low", "a", on="n", cpu=2, priority=1)
    rig.job("other", "b", on="n", priority=100)
    rig.job("high", "a", cpu=2, priority=5)
    rig.has_queue("top", cpu=(0, 2))
    rig.settle()
    assert rig.evicted() == []


def test_work_over_quota_that_is_not_preemptible_evicts_nobody_for_a_limit():
    rig = QueueRig()
    rig.node("n", cpu=8)
    rig.has_queue("a", cpu=(0, 1))
    rig.job("low", "a", on="n", priority=1)
    rig.job("fixed", "a", priority=100)
    rig.settle()
    assert rig.evicted() == []


def test_a_job_that_can_never_be_within_its_limit_is_not_tried_again_and_again():
    """A minimum run time that kept victims of another job back is none of its business."""
    rig = QueueRig()
    rig.node("n", cpu=2)
    rig.has_queue("a", cpu=(0, 1), reclaimMinRuntime="60s")
    reclaim = rig.built.parts.planning.reclaim
    assert reclaim is not None
    reclaim.protected_until = rig.hand_clock.now - 1
    rig.job("huge", "a", cpu=2)
    rig.settle()
    assert reclaim.protected_until is None


def test_a_nomination_that_ends_wakes_those_that_waited_for_its_place_below_a_limit():
    rig = QueueRig()
    rig.node("n", cpu=2)
    rig.has_queue("a", cpu=(2, 1))
    rig.has_queue("b")
    rig.job("b-0", "b", on="n")
    rig.job("b-1", "b", on="n")
    rig.job("first", "a")
    rig.settle()
    assert len(rig.evicted()) == 1
    rig.job("second", "a")
    rig.settle()
    assert not rig.is_placed("second")
    rig.gone("first")
    rig.settle()
    rig.carry_out()
    assert rig.in_queue("a") == ["second"]


def test_surplus_members_reclaim_in_the_name_of_their_queue():
    rig = full_of_a(cpu=(2, -1))
    rig.kai("g", minMember=1, queue="b")
    for number in range(2):
        rig.member(f"g-{number}", says=of_kai("g"))
    for _ in range(3):
        rig.settle()
        rig.carry_out()
    assert rig.in_queue("b") == ["g-0", "g-1"]
