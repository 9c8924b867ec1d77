"""Answers take what an idle scheduler gives, and in the long run a twentieth of the time of a busy one."""

from __future__ import annotations

import pytest

from koordpy.scheduler.answers.pace import Allowance


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def flood(seconds: float, *, busy: bool) -> float:
    """The share of the time that answers take which come one right after the other."""
    clock = Clock()
    allowance = Allowance(lambda: busy, clock)
    used = 0.0
    while clock.now < seconds:
        clock.now += 0.005
        used += 0.005
        clock.now += allowance.take(0.005)
    return used / clock.now


def test_a_flood_takes_a_twentieth_of_a_busy_schedulers_time():
    assert flood(1000.0, busy=True) == pytest.approx(0.05, abs=0.005)


def test_an_idle_scheduler_gives_everything():
    assert flood(100.0, busy=False) == pytest.approx(1.0)


def test_one_question_is_not_slowed_down():
    allowance = Allowance(lambda: True, Clock())
    assert [allowance.take(0.005) for _ in range(40)] == [0.0] * 40
