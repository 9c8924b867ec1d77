"""What a soak calls growing."""

from __future__ import annotations

from koordpy.sim.simulate.soak import Hour, grown


def hours(*given: tuple[float, int]) -> list[Hour]:
    return [Hour(memory_mb, 0, {"queue": size}) for memory_mb, size in given]


def test_what_is_as_large_in_the_last_third_as_in_the_middle_one_has_not_grown():
    assert grown(hours((50, 0), (100, 9000), (104, 9100))) == []


def test_memory_that_is_larger_by_more_than_a_twentieth_has_grown():
    assert grown(hours((50, 0), (100, 0), (106, 0))) == ["memory grew from 100 to 106 MB"]


def test_a_structure_with_ever_more_entries_has_grown():
    assert grown(hours((50, 0), (50, 9000), (50, 18000))) == ["queue grew from 9000 to 18000 entries"]
