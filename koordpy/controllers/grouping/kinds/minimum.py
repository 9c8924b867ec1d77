"""A minimum that cannot be reached is refused, and so told to its people.

The scheduler cannot tell it from one that is reached later: it would say `3 of 9 members` for ever.
"""

from __future__ import annotations

from koordpy.api.errors import MalformedValue


def check_minimum(place: str, minimum: int, there: int, what: str = "replicas") -> None:
    """`place` is the field that asks for so many of those that will be there."""
    if minimum > there:
        raise MalformedValue(place, minimum, f"is more than the {there} {what}")
