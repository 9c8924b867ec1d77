"""A cache of results per request and node row, recomputed only for rows that have changed.

Between two plans a handful of nodes change out of thousands. A filter or score that reads nothing but a request and one
node at a time passes a function of rows: it runs once for all rows, and then for those that changed.
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


def cached_rows(request: Request, owner: object, nodes: NodeColumns, compute: Callable[[Rows], T]) -> T:
    """`[N]`: the result of `compute(rows)` for every row, cached per request and `owner`. Not to be written to."""
    now = nodes.usage_log.position
    known = request.memo.get(owner)
    changed = nodes.usage_log.since(known[0]) if known is not None else None
    if known is None or changed is None or len(known[1]) != nodes.capacity:
        values = compute(_ALL)
    else:
        values = known[1]
        if len(changed):
            values[changed] = compute(changed)
    request.memo[owner] = (now, values)
    return values
