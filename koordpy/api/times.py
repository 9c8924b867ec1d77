"""Durations in Go's syntax and instants of RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from koordpy.api.errors import MalformedValue

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_LONGEST_INSTANT = 64  # what is kept of text that users write is bounded
_PART = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>ns|us|µs|μs|ms|s|m|h)")


def seconds_of_duration(text: str) -> float:
    """Seconds of a Go duration: `1h2m3.5s` is 3723.5; `0` needs no unit."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    nanos, position = 0, 0
    for part in _PART.finditer(rest):
        whole, fraction = part["whole"], part["fraction"] or ""
        if part.start() != position or not (whole or fraction):
            break
        nanos += int(whole + fraction) * _UNITS[part["unit"]] // 10 ** len(fraction)
        position = part.end()
    if not rest or position != len(rest):
        raise MalformedValue("duration", text, "is not a Go duration such as 30s, 1m30s or 1.5h")
    return sign * nanos / 10**9


def seconds_of_instant(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time."""
    if len(text) > _LONGEST_INSTANT:
        raise _no_instant(text)
    return _seconds_of_instant(text)


@lru_cache(1024)  # the pods of a job were made, and bound, in the same few seconds
def _seconds_of_instant(text: str) -> float:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None or "T" not in text.upper():
        raise _no_instant(text)
    return instant.timestamp()


def _no_instant(text: str) -> MalformedValue:
    return MalformedValue("time", text, "is not an RFC 3339 time such as 2026-01-31T12:00:00Z")


def instant_of_seconds(seconds: float) -> str:
    """An RFC 3339 time to the second, as `metav1.Time` is written."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_instant_of_seconds(seconds: float) -> str:
    """An RFC 3339 time to the microsecond, as leases and events carry it (`metav1.MicroTime`)."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
