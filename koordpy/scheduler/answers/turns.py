"""The order of turns: every pending job, the next one first, as if each were started when its turn comes.

Active jobs come first: they are tried before anything else happens. The others follow where they would stand if they
were activated together. With queues each turn is asked of the same order that the loop asks, on copies of the book and
of the tickets, and what a job asks for is counted in its queue before the next turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from koordpy.scheduler.answers.subjects import Subject
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Equivalence, State, Ticket
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.queues.order import FairOrder, request_of
from koordpy.state.cluster import Cluster
from koordpy.state.copying import copy_of

_FIRST = (State.IN_FLIGHT, State.ACTIVE)


def in_turn(subjects: Iterable[Subject], queue: JobQueue, cluster: Cluster, book: QueueBook) -> list[Subject]:
    """All of them, the next one first."""
    by_key = {subject.key: subject for subject in subjects}
    tickets = [_ticket(subject, queue) for subject in by_key.values()]
    active = [ticket for ticket in tickets if ticket.state in _FIRST]
    others = [ticket for ticket in tickets if ticket.state not in _FIRST]
    turns = _Turns(cluster, book)
    return [by_key[ticket.key] for ticket in (*turns.of(active), *turns.of(others))]


def as_submitted(subjects: Iterable[Subject], queue: JobQueue, cluster: Cluster, book: QueueBook) -> Iterator[Subject]:
    """All of them as if they were activated together, as jobs that are submitted are; each turn costs a moment."""
    by_key = {subject.key: subject for subject in subjects}
    tickets = [_ticket(subject, queue) for subject in by_key.values()]
    for ticket in _Turns(cluster, book).of(tickets):
        yield by_key[ticket.key]


def _ticket(subject: Subject, queue: JobQueue) -> Ticket:
    """A copy of its ticket; one that is gated or timed out has none, and stands where it would."""
    known = queue.get(subject.key)
    if known is not None:
        return replace(known)
    equivalence = Equivalence((), "", queue=subject.queue or "")
    since = min((member.created for member in subject.members), default=0.0)
    name, priority = subject.name, subject.priority
    return Ticket(subject.key, name, priority, equivalence, since, since, state=State.GONE)


class _Turns:
    def __init__(self, cluster: Cluster, book: QueueBook) -> None:
        self._cluster = cluster
        self._book = copy_of(book, (QueueBook,)) if book.in_use else book
        self._order = FairOrder(self._book)
        self._order.look_at(cluster)

    def of(self, tickets: list[Ticket]) -> Iterator[Ticket]:
        if not self._book.in_use:
            yield from sorted(tickets, key=lambda ticket: ticket.place)
            return
        lines: defaultdict[str, list[Ticket]] = defaultdict(list)
        for ticket in sorted(tickets, key=lambda ticket: ticket.place, reverse=True):
            lines[ticket.queue].append(ticket)
        while lines:
            queue = self._order.next_queue({name: line[-1] for name, line in lines.items()})
            yield self._take(lines[queue].pop())
            if not lines[queue]:
                del lines[queue]

    def _take(self, ticket: Ticket) -> Ticket:
        row = self._book.tree.rows.get(ticket.queue)
        if row is not None:
            self._book.usage.allocate(row, request_of(ticket, self._book, self._cluster), preemptible=True)
            self._book.turns.touch(row)
        return ticket
