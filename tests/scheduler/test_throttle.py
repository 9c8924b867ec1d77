"""A reason is told at once, and new figures in it only now and then; but in the end they are told."""

from __future__ import annotations

from koordpy.plan.framework.answers import Refusal
from koordpy.scheduler.report.throttle import Throttle
from koordpy.state.events import EventKind


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def said(text: str) -> Refusal:
    return Refusal(text, EventKind.NONE, "uid")


def test_a_reason_of_another_kind_is_told_at_once():
    restraint = Throttle(Clock())
    assert not restraint.hold_back("a", said("0/5 nodes are available: 5 Insufficient cpu."))
    assert not restraint.hold_back("a", said("0/5 nodes are available: 5 Insufficient memory."))


def test_figures_alone_are_held_back_and_the_newest_are_told_when_their_time_has_come():
    clock = Clock()
    restraint = Throttle(clock)
    assert not restraint.hold_back("a", said("500 Insufficient cpu"))
    assert restraint.hold_back("a", said("499 Insufficient cpu"))
    assert restraint.hold_back("a", said("498 Insufficient cpu"))
    clock.now = 9
    assert restraint.take_due() == []
    clock.now = 10
    assert [(uid, refusal.message) for uid, refusal in restraint.take_due()] == [("a", "498 Insufficient cpu")]
    assert restraint.take_due() == []


def test_what_was_held_back_is_not_told_after_a_reason_of_another_kind_or_the_same_words_again():
    clock = Clock()
    restraint = Throttle(clock)
    for uid in ("a", "b", "c"):
        restraint.hold_back(uid, said("500 Insufficient cpu"))
        restraint.hold_back(uid, said("499 Insufficient cpu"))
    restraint.hold_back("a", said("gang default/a is incomplete"))
    restraint.is_said("b")
    restraint.forget("c")
    clock.now = 3600
    assert restraint.take_due() == []


def test_each_pod_is_told_for_itself():
    restraint = Throttle(Clock())
    restraint.hold_back("a", said("500 Insufficient cpu"))
    assert not restraint.hold_back("b", said("499 Insufficient cpu"))


def test_what_was_held_back_is_not_told_after_something_newer():
    """A gang of hundreds is told new figures now and then; that its time is up, it is told at once."""
    clock = Clock()
    restraint = Throttle(clock)
    assert not restraint.hold_back("a", said("500 Insufficient cpu"))
    assert restraint.hold_back("a", said("499 Insufficient cpu"))
    restraint.say("a", "timed out after 600s")
    clock.now = 10
    assert restraint.take_due() == []
