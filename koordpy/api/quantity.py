"""Kubernetes quantities as exact integers.

Kubernetes rounds away from zero to nano-units and caps at 2^63-1, so every quantity is an exact integer of nano-units,
and Python's integers never overflow. `"0.1"` is exactly a tenth, `"1e-3"` exactly a thousandth.
"""

from __future__ import annotations

import re
from functools import lru_cache

from koordpy.api.errors import MalformedValue

NANO = 10**9
_LARGEST = (2**63 - 1) * NANO
_LONGEST = 1000  # characters; more digits than that are an attack on the parser and not a quantity

_PATTERN = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


@lru_cache(maxsize=8192)
def nano_units(text: str | int) -> int:
    """The quantity in nano-units: `nano_units("100m") == 100_000_000`."""
    match = _PATTERN.fullmatch(str(text)) if len(str(text)) <= _LONGEST else None
    if match is None or not (match["whole"] or match["fraction"]):
        raise MalformedValue("quantity", text, "is not a Kubernetes quantity such as 500m, 2 or 16Gi")
    whole, fraction = match["whole"], match["fraction"] or ""
    digits = int(whole + fraction)
    nanos = _scale(digits, match["suffix"] or "", int(match["exponent"] or 0), len(fraction))
    nanos = min(nanos, _LARGEST)
    return -nanos if match["sign"] == "-" else nanos


def milli_units(text: str | int) -> int:
    """Thousandths, rounded away from zero, as Kubernetes counts CPU."""
    return _divide(nano_units(text), NANO // 1000)


def units(text: str | int) -> int:
    """Whole units, rounded away from zero, as Kubernetes counts bytes and devices."""
    return _divide(nano_units(text), NANO)


def _scale(digits: int, suffix: str, exponent: int, fraction_digits: int) -> int:
    if digits == 0:
        return 0
    if suffix in _BINARY:
        return _divide(digits * 1024 ** _BINARY[suffix] * NANO, 10**fraction_digits)
    power = _DECIMAL[suffix] + exponent + 9 - fraction_digits
    # 1e999999999 must not be computed before it is capped, nor its inverse.
    if power > 40:
        return _LARGEST
    if power < 0:
        return _divide(digits, int(10 ** min(-power, 2 * _LONGEST)))
    return digits * int(10**power)


def _divide(value: int, by: int) -> int:
    """Division rounded away from zero."""
    return -(-value // by) if value >= 0 else value // by
