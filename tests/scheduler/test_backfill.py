"""Reservations and backfill: whoever is first gets a start, and others start before it only if they end in time."""

from __future__ import annotations

from typing import Any

import pytest

from koordpy.api.pod import Pod
from koordpy.api.times import instant_of_seconds
from tests.builders import typed
from tests.scheduler.frontends.rig import of_kai
from tests.scheduler.gangs.rig import member_json
from tests.scheduler.queues.rig import QueueRig
from tests.scheduler.wakeups.rig import uid

RUN_TIME = "koordpy.io/run-time"


class TimedRig(QueueRig):
    """Nodes of one CPU each; pods of one CPU, with a declared run time in seconds."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        for number in range(nodes):
            self.node(f"n{number}", cpu=1)

    def runs(self, name: str, on: str, seconds: int | None, **given: Any) -> None:
        """A pod that its node began with just now."""
        obj = member_json(name, on=on, says={RUN_TIME: f"{seconds}s"} if seconds else {}, **given)
        obj["status"] = {"phase": "Running", "startTime": instant_of_seconds(self.hand_clock.now)}
        self.pods.upsert(typed(obj, Pod))

    def finishes(self, name: str, on: str) -> None:
        """A pod that ran has succeeded just now."""
        record, now = self.cluster.pods[uid(name)], instant_of_seconds(self.hand_clock.now)
        obj = member_json(name, on=on)
        ended = {"terminated": {"finishedAt": now, "exitCode": 0}}
        obj["status"] = {"phase": "Succeeded", "startTime": instant_of_seconds(record.started)}
        obj["status"]["containerStatuses"] = [{"name": "main", "state": ended}]
        self.pods.upsert(typed(obj, Pod))

    def pending(self, name: str, seconds: int | None = None, **given: Any) -> None:
        self.member(name, says=({RUN_TIME: f"{seconds}s"} if seconds else {}) | given.pop("says", {}), **given)

    def gang_of(self, name: str, size: int, seconds: int = 100, **given: Any) -> None:
        self.kai(name, minMember=size, says={RUN_TIME: f"{seconds}s"})
        for number in range(size):
            self.member(f"{name}-{number}", says=of_kai(name), **given)

    def later(self, seconds: float) -> None:
        self.hand_clock.now += seconds
        self.scheduler.time_out()
        self.settle()

    @property
    def reserved_in(self) -> float | None:
        reservation = self.built.parts.backfill.reservation
        return round(reservation.start.at - self.hand_clock.now) if reservation is not None else None


@pytest.fixture
def rig() -> TimedRig:
    """The gang `big` needs four nodes; two are free, and two are busy for ten seconds."""
    rig = TimedRig(nodes=4)
    rig.runs("busy-0", "n0", 10)
    rig.runs("busy-1", "n1", 10)
    rig.gang_of("big", 4)
    rig.settle()
    return rig


def test_the_first_job_that_waits_is_reserved_the_earliest_start(rig: TimedRig):
    assert rig.reserved_in == 10
    assert "reserved to start at 1970-01-01T00:16:50Z" in rig.message("big-0")


def test_a_job_that_ends_in_time_is_backfilled(rig: TimedRig):
    rig.pending("small", 8)
    rig.settle()
    assert rig.is_placed("small")


def test_a_job_that_ends_too_late_waits_and_says_for_whom(rig: TimedRig):
    rig.pending("long", 12)
    rig.settle()
    assert not rig.is_placed("long")
    assert rig.message("long") == (
        "nodes are reserved for default/big from 1970-01-01T00:16:50Z on, and it would not end before."
    )


def test_a_job_without_a_run_time_may_only_take_what_is_not_needed(rig: TimedRig):
    rig.pending("unknown")
    rig.settle()
    assert not rig.is_placed("unknown")
    rig.node("spare", cpu=1)
    rig.settle()
    assert rig.is_placed("unknown")


def test_pods_that_request_nothing_are_always_backfilled(rig: TimedRig):
    rig.pending("tiny", cpu=None)
    rig.settle()
    assert rig.is_placed("tiny")


def test_the_gang_starts_when_the_time_has_come(rig: TimedRig):
    rig.pending("long", 12)
    rig.gone("busy-0")
    rig.gone("busy-1")
    rig.settle()
    assert {f"big-{n}" for n in range(4)} == set(rig.placed())
    assert rig.reserved_in == 100  # by now it is the next one's: the gang declares a hundred seconds


def test_an_early_end_moves_the_start_forward(rig: TimedRig):
    rig.runs("busy-1", "n1", 4)
    rig.node("other", cpu=0)
    rig.built.queue.activate("default/big@kai")
    rig.settle()
    assert rig.reserved_in == 10
    rig.runs("busy-0", "n0", 6)
    rig.built.queue.activate("default/big@kai")
    rig.settle()
    assert rig.reserved_in == 6


def test_a_backfilled_pod_that_outlives_its_declaration_is_evicted_when_the_time_has_come(rig: TimedRig):
    rig.pending("small", 8)
    rig.settle()
    node = rig.cluster.pods[uid("small")].node
    rig.pending("small", 8, on=node)
    rig.later(10)
    assert rig.evicted() == []  # the busy ones are still there: it would be in vain
    rig.gone("busy-0")
    rig.gone("busy-1")
    rig.settle()
    assert rig.evicted() == ["small"]


def test_nobody_else_is_evicted_for_a_reservation(rig: TimedRig):
    rig.later(20)
    assert rig.evicted() == []


def test_a_job_of_higher_priority_goes_before_and_gets_its_own(rig: TimedRig):
    rig.pending("vip", 100, priority=5)
    rig.settle()
    assert rig.is_placed("vip")


def test_without_a_declared_end_there_is_no_reservation_and_the_message_says_whose():
    rig = TimedRig(nodes=2)
    rig.runs("forever", "n0", None)
    rig.gang_of("big", 2)
    rig.settle()
    assert rig.reserved_in is None
    assert "No start can be reserved: the end of default/forever is not declared." in rig.message("big-0")


def test_without_any_declaration_everything_is_as_before():
    rig = TimedRig(nodes=2)
    rig.runs("busy", "n0", None)
    rig.kai("big", minMember=2)
    rig.member("big-0", says=of_kai("big"))
    rig.member("big-1", says=of_kai("big"))
    rig.settle()
    rig.pending("small")
    rig.settle()
    assert rig.is_placed("small")


def test_the_deadline_of_a_pod_is_a_declaration():
    rig = TimedRig(nodes=1)
    obj = member_json("busy", on="n0")
    obj["spec"]["activeDeadlineSeconds"] = 30
    obj["status"] = {"phase": "Running", "startTime": instant_of_seconds(rig.hand_clock.now)}
    rig.pods.upsert(typed(obj, Pod))
    rig.pending("next", 5)
    rig.settle()
    assert rig.reserved_in == 30


def test_a_protected_pod_is_not_backfilled_past_a_reservation(rig: TimedRig):
    rig.pending("safe", 5, labels={"scheduling.koordinator.sh/disable-preemptible": "true"})
    rig.settle()
    assert not rig.is_placed("safe")


def test_a_job_that_is_gone_releases_its_reservation(rig: TimedRig):
    rig.pending("long", 12)
    rig.settle()
    for number in range(4):
        rig.gone(f"big-{number}")
    rig.settle()
    assert rig.reserved_in is None
    assert rig.is_placed("long")


def test_backfill_can_be_switched_off(monkeypatch: pytest.MonkeyPatch):
    rig = TimedRig(nodes=2)
    monkeypatch.setattr(rig.built.parts.backfill, "_enabled", False)
    rig.runs("busy", "n0", 10)
    rig.gang_of("big", 2)
    rig.settle()
    rig.pending("long", 100)
    rig.settle()
    assert rig.is_placed("long")


def test_the_next_job_is_reserved_a_start_as_soon_as_the_first_has_started(rig: TimedRig):
    rig.gang_of("next", 3, seconds=5000)
    rig.settle()
    rig.gone("busy-0")
    rig.gone("busy-1")
    rig.settle()
    assert {f"big-{n}" for n in range(4)} == set(rig.placed())
    assert rig.reserved_in == 100
    assert "reserved to start at" in rig.message("next-0")


def test_a_job_that_ends_in_time_is_not_judged_by_one_of_its_shape_that_does_not():
    rig = TimedRig(nodes=3)
    rig.runs("busy", "n0", 1000)
    rig.runs("fill-0", "n1", 900)
    rig.runs("fill-1", "n2", 900)
    rig.gang_of("big", 3)
    rig.settle()
    rig.later(2)
    rig.pending("a-long", 2000)
    rig.pending("b-short", 20)
    rig.settle()
    rig.gone("fill-0")
    rig.settle()
    assert rig.is_placed("b-short")
    assert not rig.is_placed("a-long")


def test_an_older_job_of_the_same_priority_does_not_take_what_is_promised():
    rig = TimedRig(nodes=2)
    rig.runs("busy", "n0", 10)
    rig.member("a-old", node_selector={"disk": "ssd"})
    rig.settle()
    rig.gang_of("big", 2)
    rig.settle()
    rig.node("n1", cpu=1, labels={"disk": "ssd"})
    rig.settle()
    assert rig.reserved_in == 10
    assert "nodes are reserved for default/big" in rig.message("a-old")


def test_a_lost_node_moves_the_reservation_at_once(rig: TimedRig):
    rig.no_node("n3")
    rig.settle()
    assert rig.reserved_in is None


def test_a_backfilled_pod_that_stays_too_long_does_not_move_the_reservation(rig: TimedRig):
    rig.pending("small", 2)
    rig.settle()
    rig.pending("small", 2, on=rig.cluster.pods[uid("small")].node)
    before = rig.hand_clock.now + (rig.reserved_in or 0)
    rig.hand_clock.now += 5
    rig.built.queue.activate("default/big@kai")
    rig.settle()
    assert rig.hand_clock.now + (rig.reserved_in or 0) == pytest.approx(before, abs=1)


def test_a_more_important_job_that_starts_moves_the_reservation_at_once(rig: TimedRig):
    rig.pending("vip", 100, priority=5)
    rig.settle()
    assert rig.reserved_in == 100


LATE = "and default/busy-0, default/busy-1 should have ended by now"


def test_pods_that_end_a_moment_too_late_do_not_cost_the_reserved_job_its_nodes(rig: TimedRig):
    rig.later(11)
    rig.pending("long", 500)
    rig.settle()
    assert not rig.is_placed("long")
    assert f"reserved to start at 1970-01-01T00:16:50Z, {LATE}" in rig.message("big-0")
    rig.gone("busy-0")
    rig.gone("busy-1")
    rig.settle()
    assert {f"big-{n}" for n in range(4)} == set(rig.placed())


def test_pods_that_stay_a_minute_too_long_end_the_reservation(rig: TimedRig):
    rig.later(11)
    rig.pending("long", 500)
    rig.settle()
    rig.later(60)
    assert "No start can be reserved: default/busy-0, default/busy-1 should have ended by now" in rig.message("big-0")
    assert rig.is_placed("long")


def test_an_early_end_on_another_node_moves_the_start_forward_within_ten_seconds():
    rig = TimedRig(nodes=3)
    for number, seconds in enumerate((15, 20, 30)):
        rig.runs(f"busy-{number}", f"n{number}", seconds)
    rig.gang_of("big", 2)
    rig.settle()
    assert rig.reserved_in == 20
    rig.gone("busy-2")
    rig.settle()
    rig.later(10)
    assert rig.reserved_in == 5


def test_when_a_reservation_is_released_those_that_it_held_up_are_tried_in_order_of_submission():
    rig = TimedRig(nodes=2)
    rig.runs("busy", "n0", 10)
    rig.gang_of("big", 2)
    rig.settle()
    rig.pending("younger", 100, created="2026-01-01T00:00:02Z")
    rig.pending("older", 200, created="2026-01-01T00:00:01Z")
    rig.settle()
    rig.later(2)
    rig.built.queue.activate(uid("older"))
    rig.settle()
    rig.gone("big-0")
    rig.gone("big-1")
    rig.settle()
    assert rig.is_placed("older")
    assert not rig.is_placed("younger")


def test_a_surplus_member_that_a_reservation_keeps_waiting_is_told_so():
    rig = TimedRig(nodes=3)
    rig.runs("busy", "n0", 10)
    rig.kai("g", minMember=1)
    rig.member("g-0", on="n1", says=of_kai("g"))
    rig.gang_of("big", 2)
    rig.settle()
    rig.member("g-1", says=of_kai("g"))
    rig.settle()
    assert not rig.is_placed("g-1")
    assert rig.message("g-1").startswith("nodes are reserved for default/big from")
