"""Amounts and times, as answers have them: exact quantities, and instants of RFC 3339."""

from __future__ import annotations

from koordpy.api.times import micro_instant_of_seconds

_BINARY = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_IN_BYTES = ("memory", "ephemeral-storage")


def exact(resource: str, amount: int) -> str:
    """An amount of the node columns as a quantity that says exactly that: `1500m`, `64Gi`, `2`."""
    if resource == "cpu":
        return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
    if resource in _IN_BYTES or resource.startswith("hugepages-"):
        for suffix, size in _BINARY:
            if amount and amount % size == 0:
                return f"{amount // size}{suffix}"
    return str(amount)


def instant(seconds: float) -> str:
    """A time; fractions of a second only where there are some."""
    text = micro_instant_of_seconds(seconds)
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return f"{whole}.{fraction[:3]}Z" if fraction[:3].strip("0") else f"{whole}Z"
