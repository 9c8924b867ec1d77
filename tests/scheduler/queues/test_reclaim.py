"""Reclaim between queues, and preemption by priority inside one."""

from __future__ import annotations

from koordpy.api.times import instant_of_seconds
from tests.scheduler.frontends.rig import of_kai
from tests.scheduler.queues.rig import QueueRig


def two_queues(cpu: int = 4, a: tuple[int, int] = (2, -1), b: tuple[int, int] = (2, -1)) -> QueueRig:
    rig = QueueRig()
    rig.node("n", cpu=cpu)
    rig.has_queue("a", cpu=a)
    rig.has_queue("b", cpu=b)
    return rig


def test_a_queue_below_its_quota_takes_from_one_above_its_own():
    rig = two_queues()
    for number in range(4):
        rig.job(f"a-{number}", "a", on="n")
    rig.jobs_of("b", 1)
    rig.settle()
    assert len(rig.evicted()) == 1
    rig.carry_out()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (3, 1)


def test_a_quota_is_reached_and_not_exceeded_by_reclaim():
    rig = two_queues()
    for number in range(4):
        rig.job(f"a-{number}", "a", on="n")
    rig.jobs_of("b", 4)
    for _ in range(6):
        rig.settle()
        rig.carry_out()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (2, 2)


def test_a_queue_within_its_quota_loses_nobody():
    rig = two_queues(a=(4, -1), b=(0, -1))
    for number in range(4):
        rig.job(f"a-{number}", "a", on="n")
    rig.job("b-0", "b", priority=50)
    rig.settle()
    assert rig.evicted() == []


def test_priority_does_not_cross_queues():
    rig = two_queues(a=(4, -1), b=(4, -1))
    for number in range(4):
        rig.job(f"a-{number}", "a", on="n", priority=0)
    rig.has_queue("b", cpu=(0, -1))
    rig.job("b-0", "b", priority=90)
    rig.settle()
    assert rig.evicted() == []


def test_a_queue_below_its_fair_share_takes_from_one_above_its_own():
    rig = two_queues(a=(0, -1), b=(0, -1))
    for number in range(4):
        rig.job(f"a-{number}", "a", on="n")
    rig.jobs_of("b", 4)
    for _ in range(6):
        rig.settle()
        rig.carry_out()
    assert (len(rig.in_queue("a")), len(rig.in_queue("b"))) == (2, 2)


def test_evictions_stop():
    rig = two_queues(cpu=3, a=(0, -1), b=(0, -1))
    for number in range(3):
        rig.job(f"a-{number}", "a", on="n")
    rig.jobs_of("b", 3)
    for round_ in range(6):
        rig.settle()
        gone = rig.evicted()
        rig.carry_out()
        for name in gone:  # its controller makes it again
            rig.job(f"{name}-{round_}", name[0])
    rig.settle()
    assert rig.evicted() == []


def test_a_gang_goes_as_a_whole():
    rig = two_queues()
    rig.kai("g", minMember=4, queue="a")
    for number in range(4):
        rig.member(f"g-{number}", on="n", says=of_kai("g"))
    rig.jobs_of("b", 1)
    rig.settle()
    assert rig.evicted() == ["g-0", "g-1", "g-2", "g-3"]


def test_surplus_members_go_first():
    rig = two_queues()
    rig.kai("g", minMember=1, queue="a")
    for number in range(4):
        rig.member(f"g-{number}", on="n", says=of_kai("g"))
    rig.jobs_of("b", 1)
    rig.settle()
    assert len(rig.evicted()) == 1


def test_work_that_is_not_preemptible_is_not_taken():
    rig = two_queues(a=(2, -1), b=(4, -1))
    for number in range(4):
        rig.job(f"a-{number}", "a", on="n", priority=100)
    rig.jobs_of("b", 1)
    rig.settle()
    assert rig.evicted() == []


def test_preemption_by_priority_happens_inside_one_queue():
    rig = two_queues(a=(4, -1))
    for number in range(4):
        rig.job(f"a-{number}", "a", on="n", priority=number)
    rig.job("high", "a", priority=50)
    rig.settle()
    assert rig.evicted() == ["a-0"]


def test_a_queued_job_takes_from_a_less_important_pod_outside():
    rig = two_queues(a=(4, -1))
    rig.job("outside", on="n", cpu=4, priority=1)
    rig.job("high", "a", priority=5)
    rig.settle()
    assert rig.evicted() == ["outside"]


def test_a_pod_outside_takes_from_queues_only_if_it_is_as_important_as_the_system():
    rig = two_queues()
    rig.job("a-0", "a", on="n", cpu=4)
    rig.job("high", priority=1_000_000)
    rig.settle()
    assert rig.evicted() == []
    rig.job("critical", priority=2_000_000_000)
    rig.settle()
    assert rig.evicted() == ["a-0"]


async def test_a_minimum_run_time_protects_from_reclaim_until_it_is_over():
    rig = two_queues()
    rig.has_queue("a", cpu=(2, -1), reclaimMinRuntime="60s")
    for number in range(4):
        obj_started = instant_of_seconds(rig.hand_clock.now)
        rig.started(f"a-{number}", "a", obj_started)
    rig.jobs_of("b", 1)
    rig.settle()
    assert rig.evicted() == []
    rig.hand_clock.now += 61
    rig.queue_activate("b-0")
    rig.settle()
    assert len(rig.evicted()) == 1
