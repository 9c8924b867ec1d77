"""What is known about the room of each node for a request, brought up to date only where nodes have changed.

Between two plans a handful of nodes change out of thousands. Filters and scores that look at nothing but a request and
one node at a time give their computation for a set of rows; it runs for all of them once, and then for those that
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy.typing as npt

from koordpy.state.arrays import Rows
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.shapes import Request

T = TypeVar("T", bound=npt.NDArray[Any])


_ALL = slice(None)


def cached_rows(request: Request, who: object, nodes: NodeColumns, compute: Callable[[Rows], T]) -> T:
    """`[N]`: what `compute(rows)` says for every row, remembered for request and asker. Not to be written to."""
    now = nodes.usage_log.position
    known = request.memo.get(who)
    changed = nodes.usage_log.since(known[0]) if known is not None else None
    if known is None or changed is None or len(known[1]) != nodes.capacity:
        values = compute(_ALL)
    else:
        values = known[1]
        if len(changed):
            values[changed] = compute(changed)
    request.memo[who] = (now, values)
    return values
