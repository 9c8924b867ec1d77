"""Which of two versions of an object is newer.

Answers to our own writes overtake the watch, so the watch may show a version after we know a later one. An index asks
here before it replaces an object, and never goes back in time.
"""

from __future__ import annotations

from koordpy.api.meta import ObjectMeta


def is_newer(seen: ObjectMeta, known: ObjectMeta | None) -> bool:
    """Whether `seen` is another object than `known` or a later version of it."""
    if known is None or known.uid != seen.uid:
        return True
    now, before = seen.resource_version, known.resource_version
    if now.isdecimal() and before.isdecimal():  # kube-apiserver's are numbers that grow; others' may be any text
        return int(now) > int(before)
    return now != before
