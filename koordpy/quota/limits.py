"""What keeps a job out of its queue: a limit of the queue or of one of its parents, or a quota.

Work that is not preemptible never goes over quota, at any level: nobody could take it back. Against the quota counts
what is not preemptible alone, because everything else of the queue can be taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from koordpy.quota.amounts import RESOURCES, UNLIMITED, quantity
from koordpy.quota.usage import Usage
from koordpy.state.arrays import Ints

LIMIT, QUOTA = "limit", "quota"


class Obstacle(NamedTuple):
    """A queue without room for a request, in one resource; amounts are in the units of `koordpy.quota.amounts`."""

    queue: str
    resource: int
    bound: str  # LIMIT or QUOTA
    amount: int  # of the limit or quota
    allocated: int  # to what counts against it: of a quota, work that is not preemptible
    asked: int

    @property
    def never(self) -> bool:
        """Whether the job asks for more than the queue may have if it were empty."""
        return self.asked > self.amount

    @property
    def message(self) -> str:
        """For people: which queue, which resource, limit or quota, allocated, asked for."""
        has = "non-preemptible work has" if self.bound == QUOTA else "allocated"
        return (
            f"queue {self.queue} has no room below its {self.bound} of {RESOURCES[self.resource]}: "
            f"{self.bound} {self._shown(self.amount)}, {has} {self._shown(self.allocated)}, "
            f"asked for {self._shown(self.asked)}"
        )

    def _shown(self, amount: int) -> str:
        return quantity(self.resource, amount)


def would_exceed(usage: Usage, row: int, request: Ints, *, preemptible: bool) -> Obstacle | None:
    """The first obstacle on the way from a queue to the root: limits before quotas, then in the order of resources.

    A resource that is not asked for is no obstacle: a queue may be above a limit that was lowered since.
    """
    tree, path = usage.tree, usage.tree.paths[row]
    asks = request > 0
    over = _first(asks & (usage.allocated[path] + request > tree.limit[path]))
    if over is not None:
        return _obstacle(usage, int(path[over[0]]), over[1], LIMIT, request)
    if preemptible:
        return None
    over = _first(asks & (usage.fixed[path] + request > tree.quota[path]))
    return None if over is None else _obstacle(usage, int(path[over[0]]), over[1], QUOTA, request)


def headroom(usage: Usage, row: int, *, preemptible: bool) -> Ints:
    """How much more of each resource `would_exceed` lets a queue have, `[K]`; UNLIMITED or nearly so: any amount."""
    tree, path = usage.tree, usage.tree.paths[row]
    room = (tree.limit[path] - usage.allocated[path]).min(axis=0)
    if not preemptible:
        room = np.minimum(room, (tree.quota[path] - usage.fixed[path]).min(axis=0))
    found: Ints = np.clip(room, 0, UNLIMITED)
    return found


def _first(over: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> tuple[int, int] | None:
    if not over.any():
        return None
    at = int(over.argmax())
    return at // over.shape[1], at % over.shape[1]


def _obstacle(usage: Usage, row: int, resource: int, bound: str, request: Ints) -> Obstacle:
    tree = usage.tree
    amounts, held = (tree.limit, usage.allocated) if bound == LIMIT else (tree.quota, usage.fixed)
    return Obstacle(
        tree.names[row], resource, bound, int(amounts[row, resource]), int(held[row, resource]), int(request[resource])
    )
