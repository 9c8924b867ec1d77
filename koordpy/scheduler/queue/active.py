"""The active queue: jobs to be tried now, a heap for each Queue, and the order that decides among them."""

from __future__ import annotations

from koordpy.scheduler.queue.heap import TicketHeap
from koordpy.scheduler.queue.order import Order
from koordpy.scheduler.queue.ticket import State, Ticket


class ActiveQueue:
    """Tickets in the order in which they are tried."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._heaps: dict[str, TicketHeap] = {}

    def __len__(self) -> int:
        """Entries, void ones among them."""
        return sum(len(heap) for heap in self._heaps.values())

    def clear(self) -> None:
        self._heaps.clear()

    def push(self, ticket: Ticket, number: int, *, tickets: int) -> None:
        heap = self._heaps.get(ticket.queue)
        if heap is None:
            heap = self._heaps[ticket.queue] = TicketHeap(State.ACTIVE)
        heap.push(ticket, ticket.rank, number, tickets=tickets)

    def first(self) -> Ticket | None:
        """The ticket to be tried next."""
        queue = self._next_queue()
        return self._heaps[queue].first() if queue is not None else None

    def pop(self) -> Ticket | None:
        queue = self._next_queue()
        return self._heaps[queue].pop() if queue is not None else None

    def pop_equivalent(self, ticket: Ticket, most: int) -> list[Ticket]:
        """Those right behind a ticket that was popped, as long as they are equivalent and it is their turn."""
        heap = self._heaps.get(ticket.queue)
        found: list[Ticket] = []
        most = min(most, self._order.turn_length(ticket.queue) - 1)
        while heap is not None and len(found) < most:
            behind = heap.first()
            if behind is None or behind.equivalence != ticket.equivalence or behind.rank != ticket.rank:
                break
            if len(self._heaps) > 1 and self._next_queue() != ticket.queue:
                break
            heap.pop()
            found.append(behind)
        return found

    def overtakes(self, ticket: Ticket) -> bool:
        """Whether an active job comes before a ticket that was popped."""
        first = self.first()
        return first is not None and self.is_before(first, ticket)

    def is_before(self, one: Ticket, other: Ticket) -> bool:
        """Whether the turn of one comes before that of the other."""
        if one.queue == other.queue:
            return one.place < other.place
        return self._order.next_queue({one.queue: one, other.queue: other}) == one.queue

    def _next_queue(self) -> str | None:
        """Whose turn it is; None when nothing is active. One Queue, or none, needs no decision."""
        heads = {queue: first for queue, heap in self._heaps.items() if (first := heap.first()) is not None}
        if len(heads) != len(self._heaps):
            self._heaps = {queue: self._heaps[queue] for queue in heads}
        if len(heads) <= 1:
            return next(iter(heads), None)
        return self._order.next_queue(heads)
