"""How much an object remembers: the entries of every container that can be reached from it.

It looks at attributes and asks nobody, so that a container that is new tomorrow is counted too.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import msgspec

_CONTAINERS = (dict, set, frozenset, list, tuple, deque)
_OURS, _NOT = ("koordpy.", "asyncio.queues"), ("koordpy.sim.",)


def sizes(root: Any) -> Counter[str]:
    """Entries by path: `QueueJobController._index.pods._gone._uids`."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    left = deque([(type(root).__name__, root)])  # breadth first: the shortest path is told
    while left:
        path, value = left.popleft()
        owner = getattr(value, "__self__", None)  # of a bound method, such as a callback
        value = value if owner is None else owner
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, _CONTAINERS):
            if not (isinstance(value, tuple) and path.endswith("[]")):  # such an entry counts as one
                found[path] += len(value)
            members = [*value, *value.values()] if isinstance(value, dict) else value
            left += [(f"{path}[]", each) for each in members]
        elif _is_ours(value):
            left += [(f"{path}.{name}", each) for name, each in _attributes(value)]
    return found


def growth(before: Counter[str], after: Counter[str], most: int) -> dict[str, int]:
    """Where more than `most` entries are left."""
    return {path: after[path] - before[path] for path in after if after[path] - before[path] > most}


def _is_ours(value: Any) -> bool:
    module = type(value).__module__
    return module.startswith(_OURS) and not module.startswith(_NOT) and not isinstance(value, msgspec.Struct)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    yield from vars(value).items() if hasattr(value, "__dict__") else ()
    for kind in type(value).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(value, name):
                yield name, getattr(value, name)
