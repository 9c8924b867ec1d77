"""Heaps of tickets. An entry that is void, because its ticket has moved since, falls out when it comes to the top."""

from __future__ import annotations

import heapq

from koordpy.scheduler.queue.ticket import Entry, State, Ticket


class TicketHeap:
    """Tickets of one state, best first."""

    __slots__ = ("_entries", "_state")

    def __init__(self, state: State) -> None:
        self._state = state
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        """Entries, void ones among them."""
        return len(self._entries)

    def clear(self) -> None:
        self._entries.clear()

    def push(self, ticket: Ticket, first: float, number: int, *, tickets: int) -> None:
        """`tickets` is how many there are in all: a standby pushes and never pops, and most of its heap is void."""
        if len(self._entries) > 2 * tickets + 64:
            self._entries = [entry for entry in self._entries if self._holds(entry)]
            heapq.heapify(self._entries)
        heapq.heappush(self._entries, ticket.entry(first, number))

    def first(self) -> Ticket | None:
        """The best ticket that is still where the heap thinks it is."""
        while self._entries and not self._holds(self._entries[0]):
            heapq.heappop(self._entries)
        return self._entries[0][-1] if self._entries else None

    def first_key(self) -> float:
        """What the best ticket was pushed with; ask only if there is one."""
        return self._entries[0][0]

    def pop(self) -> Ticket | None:
        ticket = self.first()
        if ticket is not None:
            heapq.heappop(self._entries)
        return ticket

    def _holds(self, entry: Entry) -> bool:
        return entry[-1].number == entry[-2] and entry[-1].state is self._state
