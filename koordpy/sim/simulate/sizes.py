"""How large a process is, and what of it grows: everything that has a length, by the way that leads there.

It finds leaks of any structure without a list of structures. What is as large as the cluster is found too, so that
sizes mean something only beside those of another time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

LEAST_HOURS = 3  # one is the start; what comes after that is compared
_GROWN = 1.05  # the last third against the middle one
_FEW = 2000  # entries: what is smaller does not count as growing
_MOST_DEPTH = 8
# These forget their oldest entries when they are full, and are filling up until then.
_BOUNDED = ("nodes.usage_log._rows", "_events._recent", "_problems._told", "_gone._uids")
_SIZED = (dict, list, set, frozenset, deque)


class Hour(NamedTuple):
    """At the end of a simulated hour."""

    memory_mb: float
    pods: int  # that were created so far
    sizes: dict[str, int]


def is_judged(told: list[Hour]) -> bool:
    return len(told) >= LEAST_HOURS


def grown(told: list[Hour]) -> list[str]:
    """What is larger in the last third than in the middle one."""
    if not is_judged(told):
        raise ValueError(f"{len(told)} hours are too short to say what grows")
    third = len(told) // 3
    middle, last = told[-2 * third : -third], told[-third:]
    before, after = mean(each.memory_mb for each in middle), mean(each.memory_mb for each in last)
    found = [f"memory grew from {before:.0f} to {after:.0f} MB"] if after > before * _GROWN else []
    for name in (name for name in last[-1].sizes if not name.endswith(_BOUNDED)):
        had, has = mean(e.sizes.get(name, 0) for e in middle), mean(e.sizes.get(name, 0) for e in last)
        if has > max(had * _GROWN, had + _FEW):
            found.append(f"{name} grew from {had:.0f} to {has:.0f} entries")
    return found


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def sizes(root: object, name: str) -> dict[str, int]:
    """Of everything with a length that hangs on an object of koordpy's, by the shortest way; with what is inside."""
    return dict(_sizes(root, name))


def _sizes(root: object, name: str) -> Iterator[tuple[str, int]]:
    seen: set[int] = set()
    left = deque([(root, name, 0)])
    while left:
        thing, path, depth = left.popleft()
        if id(thing) in seen or depth > _MOST_DEPTH:
            continue
        seen.add(id(thing))
        if isinstance(thing, _SIZED):
            yield path, _length(thing)
            left += ((each, f"{path}[{at}]", depth + 1) for at, each in _owned(thing))
        elif isinstance(thing, tuple):
            left += ((each, f"{path}[{at}]", depth + 1) for at, each in enumerate(thing))
        elif (owner := getattr(thing, "__self__", None)) is not None and callable(thing):  # a method somebody keeps
            left.append((owner, path, depth + 1))
        elif _is_of_a_process(thing):
            left += ((value, f"{path}.{key}", depth + 1) for key, value in _parts(thing))


def _is_of_a_process(thing: object) -> bool:
    """Of koordpy, and not of the world around it."""
    module = type(thing).__module__
    return module.startswith("koordpy.") and not module.startswith("koordpy.sim.")


def _length(thing: Any) -> int:
    """With the entries of its entries: a table of sets may have ever larger sets."""
    values = thing.values() if isinstance(thing, Mapping) else thing
    return sum(1 + (len(each) if isinstance(each, _SIZED) else 0) for each in values)


_MOST_OWNED = 40  # a table of components, and not one of objects of the cluster


def _owned(thing: Any) -> Iterator[tuple[object, object]]:
    """The components in a small table or list."""
    if len(thing) > _MOST_OWNED:
        return
    pairs = thing.items() if isinstance(thing, Mapping) else enumerate(thing)
    for at, each in pairs:
        if _is_component(each):
            yield at, each


def _is_component(thing: object) -> bool:
    """Something that has a place of its own to keep things in, and is no value of the cluster."""
    is_value = type(thing).__module__.startswith("koordpy.api.")
    return _is_of_a_process(thing) and not is_value and hasattr(thing, "__dict__")


def _parts(thing: object) -> Iterator[tuple[str, object]]:
    slots = (slot for kind in type(thing).__mro__ for slot in _slots_of(kind))
    for key in sorted({*getattr(thing, "__dict__", ()), *slots}):
        yield key, getattr(thing, key, None)


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
