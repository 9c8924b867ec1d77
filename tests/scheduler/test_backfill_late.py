"""Reserved starts and pods that do not end when they should: those that are late, and those that terminate."""

from __future__ import annotations

from koordpy.api.pod import Pod
from koordpy.api.times import instant_of_seconds
from tests.builders import typed
from tests.scheduler.gangs.rig import member_json
from tests.scheduler.test_backfill import RUN_TIME, TimedRig
from tests.scheduler.wakeups.rig import uid


def terminates(rig: TimedRig, name: str, on: str, grace_s: int) -> None:
    """Somebody deletes a pod that declares 600 seconds."""
    obj = member_json(name, on=on, says={RUN_TIME: "600s"})
    obj["metadata"]["deletionTimestamp"] = instant_of_seconds(rig.hand_clock.now + grace_s)
    obj["status"] = {"phase": "Running", "startTime": instant_of_seconds(rig.hand_clock.now)}
    rig.pods.upsert(typed(obj, Pod))


def starts_within(rig: TimedRig, seconds: float) -> set[float]:
    """The reserved starts that there are meanwhile."""
    found = set()
    for _ in range(20):
        rig.later(seconds / 20)
        reservation = rig.built.parts.backfill.reservation
        assert reservation is not None
        found.add(reservation.start.at)
    return found


def test_a_pod_that_terminates_ends_with_its_grace_period():
    rig = TimedRig(nodes=1)
    terminates(rig, "old", "n0", grace_s=30)
    rig.pending("new", 60)
    rig.settle()
    assert rig.reserved_in == 30


def test_a_pod_that_terminates_for_longer_than_its_grace_period_does_not_move_the_start():
    rig = TimedRig(nodes=1)
    rig.runs("old", "n0", 600)
    rig.pending("new", 60)
    rig.settle()
    terminates(rig, "old", "n0", grace_s=5)
    rig.built.queue.activate(uid("new"))
    rig.settle()
    promised = rig.hand_clock.now + 5
    assert rig.reserved_in == 5
    assert starts_within(rig, 90) == {promised}
    rig.gone("old")
    rig.settle()
    assert rig.is_placed("new")


def two_ends() -> TimedRig:
    """The gang `big` needs all of two nodes, which are free after 10 and after 100 seconds."""
    rig = TimedRig(nodes=2)
    rig.runs("first", "n0", 10)
    rig.runs("second", "n1", 100)
    rig.gang_of("big", 2)
    rig.settle()
    return rig


def attempt_again(rig: TimedRig, after_s: float) -> None:
    rig.later(after_s)
    rig.built.queue.activate("default/big@kai")
    rig.settle()


def test_a_pod_that_is_late_before_the_reserved_time_does_not_cost_the_job_its_nodes():
    rig = two_ends()
    attempt_again(rig, after_s=11)
    assert rig.reserved_in == 89
    assert "and default/first should have ended by now" in rig.message("big-0")
    rig.gone("first")
    rig.pending("behind", 500)
    rig.settle()
    assert not rig.is_placed("behind")
    rig.later(89)
    rig.gone("second")
    rig.settle()
    assert {"big-0", "big-1"} <= set(rig.placed())


def test_the_start_is_worked_out_anew_when_a_pod_is_a_minute_late():
    rig = two_ends()
    attempt_again(rig, after_s=11)
    rig.later(59)
    assert rig.reserved_in is None
    assert "default/first should have ended by now" in rig.message("big-0")


def overdue_without_reservation() -> TimedRig:
    """`short` was backfilled before `big`, which is gone; it declared 5 seconds, and still runs."""
    rig = TimedRig(nodes=2)
    rig.runs("first", "n0", 20)
    rig.gang_of("big", 2)
    rig.settle()
    rig.pending("short", 5)
    rig.settle()
    rig.runs("short", rig.cluster.pods[uid("short")].node, 5)
    for number in range(2):
        rig.gone(f"big-{number}")
    rig.settle()
    rig.later(6)
    return rig


def test_nobody_is_evicted_for_a_job_that_came_after_its_end():
    rig = overdue_without_reservation()
    rig.pending("later", 50)
    rig.settle()
    rig.later(60)
    assert not rig.evicted()


def test_whoever_was_promised_a_start_by_an_earlier_leader_counts_on_those_that_were_backfilled():
    rig = overdue_without_reservation()
    told = {"koordpy.io/reserved-start": instant_of_seconds(rig.hand_clock.now - 1)}
    rig.pending("promised", 50, says=told)
    rig.settle()
    rig.later(1)
    assert rig.evicted() == ["short"]
