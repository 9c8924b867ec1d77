"""Jobs that evict each other: held back until one moment, however often they ask."""

from __future__ import annotations

from koordpy.scheduler.cycles import EvictionCycles


class Time:
    def __init__(self) -> None:
        self.now = 100.0
        self.cycles = EvictionCycles(lambda: self.now, lambda: 1e9 + self.now)


def test_one_that_was_evicted_may_not_evict_back_for_a_while():
    time = Time()
    time.cycles.evicted({"a"}, {"b"})
    hold = time.cycles.hold({"b"}, {"a"})
    assert hold is not None
    assert (hold.until, hold.until_wall) == (130.0, 1e9 + 130.0)


def test_the_moment_stays_the_same_however_late_it_is_asked_for():
    """It is in the condition of each member: another one with each attempt would be another write with each attempt."""
    time = Time()
    time.cycles.evicted({"a"}, {"b"})
    first = time.cycles.hold({"b"}, {"a"})
    time.now += 7.3
    assert time.cycles.hold({"b"}, {"a"}) == first


def test_it_ends():
    time = Time()
    time.cycles.evicted({"a"}, {"b"})
    time.now += 30.0
    assert time.cycles.hold({"b"}, {"a"}) is None


def test_each_round_is_twice_as_long_up_to_a_quarter_of_an_hour():
    time, lengths = Time(), []
    for _ in range(7):
        time.cycles.evicted({"a"}, {"b"})
        hold = time.cycles.hold({"b"}, {"a"})
        assert hold is not None
        lengths.append(hold.until - time.now)
        time.now = hold.until
        time.cycles.evicted({"b"}, {"a"})
    assert lengths == [30, 60, 120, 240, 480, 900, 900]


def test_whoever_has_evicted_nobody_is_not_held_back():
    time = Time()
    time.cycles.evicted({"a"}, {"b"})
    assert time.cycles.hold({"c"}, {"a"}) is None
