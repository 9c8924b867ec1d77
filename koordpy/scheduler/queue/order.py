"""Whose turn it is: the level above the order inside a Queue.

Inside a Queue the order is fixed: priority, then age, then name. Which Queue is next may change with every pod that is
assumed, as fair shares do; so the order is asked at each pop, and says how long its answer holds. Where there are no
Queues, every job is in the one that has no name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from koordpy.scheduler.queue.ticket import Ticket


class Order(Protocol):
    """Decides among Queues."""

    def next_queue(self, heads: Mapping[str, Ticket]) -> str:
        """The Queue whose first ticket is tried next; `heads` has the first of every Queue with active tickets."""

    def turn_length(self, queue: str) -> int:
        """How many equivalent tickets of a Queue may be planned together before the order has to be asked again."""


class OneLine:
    """All jobs in one line, whatever their Queue: priority, then age, then name."""

    def next_queue(self, heads: Mapping[str, Ticket]) -> str:
        return min(heads, key=lambda queue: heads[queue].place)

    def turn_length(self, queue: str) -> int:  # noqa: ARG002
        return 1 << 30
