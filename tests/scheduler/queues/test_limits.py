"""Limits of queues and of their parents, and quotas of work that is not preemptible."""

from __future__ import annotations

from tests.scheduler.frontends.rig import of_kai
from tests.scheduler.queues.rig import QueueRig


def rig_with(cpu: int) -> QueueRig:
    rig = QueueRig()
    rig.node("n", cpu=cpu)
    return rig


def test_a_queue_never_has_more_than_its_limit():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, 2))
    rig.jobs_of("a", 4)
    rig.settle()
    assert len(rig.in_queue("a")) == 2
    assert "queue a has no room below its limit of cpu: limit 2, allocated 2, asked for 1" in rig.message("a-3")


def test_the_limit_of_a_parent_holds_for_all_its_children():
    rig = rig_with(cpu=8)
    rig.has_queue("top", cpu=(0, 3))
    rig.has_queue("a", parent="top")
    rig.has_queue("b", parent="top")
    rig.jobs_of("a", 4)
    rig.jobs_of("b", 4)
    rig.settle()
    assert len(rig.in_queue("a")) + len(rig.in_queue("b")) == 3


def test_a_gang_starts_within_the_limit_or_not_at_all():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, 2))
    rig.kai("g", minMember=3, queue="a")
    for number in range(3):
        rig.member(f"g-{number}", says=of_kai("g"))
    rig.settle()
    assert rig.placed() == []
    assert "limit 2, allocated 0, asked for 3; it asks for more than that at once" in rig.message("g-0")


def test_a_gang_whose_object_was_there_first_is_in_the_queue_that_its_members_name():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, 2))
    rig.kai("g", minMember=3)
    for number in range(3):
        rig.job(f"g-{number}", "a", says=of_kai("g"))
    rig.settle()
    assert {pod.queue for pod in rig.cluster.pods.values()} == {"a"}
    assert rig.placed() == []


def test_room_below_a_limit_wakes_those_that_wait_for_it():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, 1))
    rig.jobs_of("a", 2)
    rig.settle()
    rig.gone("a-0")
    rig.settle()
    assert rig.in_queue("a") == ["a-1"]


def test_a_limit_that_is_raised_wakes_those_that_wait_for_it():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, 1))
    rig.jobs_of("a", 2)
    rig.settle()
    rig.has_queue("a", cpu=(0, 2))
    rig.settle()
    assert len(rig.in_queue("a")) == 2


def test_terminating_pods_count_until_they_are_gone():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, 1))
    rig.job("old", "a", on="n", terminating=True)
    rig.job("new", "a")
    rig.settle()
    assert not rig.is_placed("new")
    rig.gone("old")
    rig.settle()
    assert rig.is_placed("new")


def test_work_that_is_not_preemptible_never_goes_over_quota():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(1, -1))
    rig.job("one", "a", priority=100)
    rig.job("two", "a", priority=100)
    rig.job("three", "a", priority=99)
    rig.settle()
    assert rig.in_queue("a") == ["one", "three"]
    assert "quota 1, non-preemptible work has 1, asked for 1" in rig.message("two")


def test_a_pod_group_says_whether_it_is_preemptible():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, -1))
    rig.kai("g", minMember=1, queue="a", preemptibility="preemptible")
    rig.member("g-1", says=of_kai("g"), priority=500)
    rig.kai("h", minMember=1, queue="a", preemptibility="non-preemptible")
    rig.member("h-1", says=of_kai("h"))
    rig.settle()
    assert rig.in_queue("a") == ["g-1"]


def test_a_limit_is_cured_by_evicting_less_important_work_of_the_queue():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, 1))
    rig.job("low", "a", on="n", priority=1)
    rig.job("high", "a", priority=5)
    rig.settle()
    assert rig.evicted() == ["low"]
    rig.carry_out()
    assert rig.in_queue("a") == ["high"]


def test_a_job_at_a_limit_whose_nodes_are_full_evicts_for_both():
    rig = rig_with(cpu=2)
    rig.has_queue("a", cpu=(2, 2))
    rig.has_queue("b", cpu=(0, -1))
    rig.job("low", "a", on="n", priority=1)
    rig.job("other", "b", on="n", priority=1)
    rig.job("high", "a", priority=5, cpu=2)
    rig.settle()
    assert sorted(rig.evicted()) == ["low", "other"]
    rig.carry_out()
    assert (rig.in_queue("a"), rig.in_queue("b")) == (["high"], [])


def test_a_limit_of_a_parent_is_cured_by_reclaim_among_its_children():
    rig = rig_with(cpu=8)
    rig.has_queue("top", cpu=(2, 2))
    rig.has_queue("a", parent="top", cpu=(1, -1))
    rig.has_queue("b", parent="top", cpu=(1, -1))
    rig.job("a-0", "a", on="n")
    rig.job("a-1", "a", on="n")
    rig.job("b-0", "b")
    rig.settle()
    assert len(rig.evicted()) == 1
    rig.carry_out()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (1, 1)


def test_the_class_of_a_pod_group_that_comes_later_makes_its_pods_not_preemptible():
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, -1))
    rig.kai("g", minMember=1, queue="a", priorityClassName="build")
    rig.member("g-1", says=of_kai("g"), gated=True)
    rig.priority_class("build", 100)
    rig.member("g-1", says=of_kai("g"))
    rig.settle()
    assert rig.placed() == []
    assert "quota 0" in rig.message("g-1")


def test_a_gang_that_goes_for_a_limit_goes_with_its_surplus():
    """Three of the four would free enough, and the one that stays would hold its node for nothing."""
    rig = rig_with(cpu=8)
    rig.has_queue("a", cpu=(0, 6))
    rig.kai("g", minMember=3, queue="a")
    for number in range(4):
        rig.member(f"g-{number}", on="n", says=of_kai("g"), priority=1)
    rig.job("high", "a", priority=5, cpu=5)
    rig.settle()
    assert rig.evicted() == ["g-0", "g-1", "g-2", "g-3"]
