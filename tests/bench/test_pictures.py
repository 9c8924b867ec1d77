"""What the pictures of the guides show: bars that do not hide each other, and no pod that was not seen on a node."""

import pytest

from bench.pictures.gantt import Bar, lanes


def bar(name: str, gpus: int, from_s: float, to_s: float) -> Bar:
    return Bar(name, "", "node-1", gpus, from_s, from_s, to_s)


def placed(*bars: Bar) -> dict[str, int]:
    return {each.name: low for low, each in lanes(list(bars))}


def test_a_bar_is_as_low_as_it_can_be():
    assert placed(bar("a", 2, 0, 5), bar("b", 2, 6, 9)) == {"a": 0, "b": 0}


def test_bars_of_the_same_time_are_above_each_other():
    assert placed(bar("a", 2, 0, 5), bar("b", 1, 1, 9), bar("c", 1, 2, 3)) == {"a": 0, "b": 2, "c": 3}


def test_a_bar_fills_a_gap_only_if_it_is_wide_enough():
    running = (bar("a", 1, 0, 5), bar("b", 1, 0, 9))
    assert placed(*running, bar("narrow", 1, 6, 8))["narrow"] == 0
    assert placed(*running, bar("wide", 2, 6, 8))["wide"] == 2


@pytest.mark.parametrize("late_s", [0.0, 0.04])
def test_an_end_that_is_seen_a_moment_late_moves_nobody(late_s):
    assert placed(bar("a", 4, 0, 5 + late_s), bar("b", 4, 5, 9)) == {"a": 0, "b": 0}
