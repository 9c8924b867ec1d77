import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordpy.api.errors import MalformedValue
from koordpy.api.times import (
    instant_of_seconds,
    micro_instant_of_seconds,
    seconds_of_duration,
    seconds_of_instant,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("15s", 15),
        ("1h2m3.5s", 3723.5),
        ("100ms", 0.1),
        ("-1.5h", -5400),
        ("+2m", 120),
        ("1us", 1e-6),
        (".5s", 0.5),
    ],
)
def test_go_durations(text, seconds):
    assert seconds_of_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "15", "s", "1x", "1s2", "- 1s", "1..s", "."])
def test_what_go_would_refuse_is_refused(text):
    with pytest.raises(MalformedValue, match="is not a Go duration"):
        seconds_of_duration(text)


@given(st.integers(0, 4_000_000_000))
def test_an_instant_survives_being_written_and_read(seconds):
    assert seconds_of_instant(instant_of_seconds(seconds)) == seconds


def test_micro_time_keeps_microseconds():
    assert micro_instant_of_seconds(1.25) == "1970-01-01T00:00:01.250000Z"


@pytest.mark.parametrize("text", ["yesterday", "2026-01-01", "2026-01-01T00:00:00", ""])
def test_an_instant_without_a_zone_is_refused(text):
    with pytest.raises(MalformedValue, match="RFC 3339"):
        seconds_of_instant(text)


def test_an_instant_is_refused_that_is_longer_than_any_time_is_written():
    with pytest.raises(MalformedValue):
        seconds_of_instant("2026-01-31T12:00:00." + "0" * 60 + "Z")
