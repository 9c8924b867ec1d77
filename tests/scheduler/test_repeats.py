"""When a warning is said again."""

from __future__ import annotations

from koordpy.scheduler.report.repeats import AT_ONCE, PERIOD_S, SOONER_S, Repeats
from tests.scheduler.wakeups.rig import HandClock


def test_what_was_said_is_due_after_half_an_hour():
    clock = HandClock()
    repeats = Repeats(clock)
    repeats.said("a")
    clock.now += PERIOD_S - 1
    assert repeats.take_due() == []
    clock.now += 1
    assert repeats.take_due() == ["a"]
    assert repeats.take_due() == []


def test_what_is_said_again_meanwhile_waits_from_then_on():
    clock = HandClock()
    repeats = Repeats(clock)
    repeats.said("a")
    clock.now += PERIOD_S - 1
    repeats.said("a")
    clock.now += 1
    assert repeats.take_due() == []


def test_what_an_earlier_leader_said_is_due_sooner():
    clock = HandClock()
    repeats = Repeats(clock)
    repeats.said_before("a")
    clock.now += SOONER_S
    repeats.said_before("a")
    assert repeats.take_due() == ["a"]


def test_what_is_not_true_any_more_is_not_said_again():
    clock = HandClock()
    repeats = Repeats(clock)
    repeats.said("a")
    repeats.forget("a")
    clock.now += PERIOD_S
    assert repeats.take_due() == []


def test_thousands_that_are_due_at_once_are_said_a_few_at_a_time():
    clock = HandClock()
    repeats = Repeats(clock)
    for number in range(AT_ONCE + 1):
        repeats.said_before(str(number))
    clock.now += SOONER_S
    assert len(repeats.take_due()) == AT_ONCE
    assert repeats.take_due() == [str(AT_ONCE)]
