"""The scheduling queue: which job is tried next, and which wait for what.

A job is *active* (to be tried now), *backing off* (tried again when its time comes) or *unschedulable*: refused, until
a cluster event happens that its refusal names. Nothing is polled. Plain synchronous code with injected clocks; the
scheduler's loop does the waiting.

Unschedulable jobs that are equivalent (one shape, one profile; or gangs with the same demands) get the same answer. One
of them is activated for all: if it is placed, the next one is activated; if it is refused, the others would be too. So
10,000 pods that wait for a slot cost one attempt per freed slot and not 10,000.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from koordpy import metrics
from koordpy.api.podgroup.frontends import names_of
from koordpy.plan.framework.answers import Refusal
from koordpy.scheduler.queue.active import ActiveQueue
from koordpy.scheduler.queue.heap import TicketHeap
from koordpy.scheduler.queue.order import OneLine, Order
from koordpy.scheduler.queue.ticket import Equivalence, State, Ticket, Wants
from koordpy.state.events import ON_ONE_NODE, EventKind
from koordpy.state.eviction import Preemptor

# A gang that is not complete is told why, but not upon each of its thousand members that arrive one after another.
_SAY_WHY_AFTER_S = 0.5

HasRoom = Callable[[Wants, Preemptor], bool]


@dataclass(slots=True)
class _Class:
    """Unschedulable jobs that are equivalent, best first, and what they wait for: the newest refusal knows best."""

    wake_on: EventKind = EventKind.NONE
    heap: TicketHeap = field(default_factory=lambda: TicketHeap(State.UNSCHEDULABLE))
    tickets: int = 0


def _nobody() -> None:
    pass


class JobQueue:
    """Priority first, then age, then name; above that, whatever the order says about Queues."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        *,
        first_backoff_s: float = 1.0,
        most_backoff_s: float = 10.0,
        order: Order | None = None,
        on_ready: Callable[[], None] = _nobody,
    ) -> None:
        self._clock, self._wall = clock, wall
        self._first_backoff_s, self._most_backoff_s = first_backoff_s, most_backoff_s
        self._on_ready = on_ready  # called when there may be something to pop
        self._tickets: dict[str, Ticket] = {}
        self._active = ActiveQueue(order or OneLine())
        self._backoff = TicketHeap(State.BACKOFF)
        self._unschedulable: dict[Equivalence, _Class] = {}
        self._awaited = EventKind.NONE  # by any class since there was none: most events are awaited by nobody
        self._numbers = itertools.count(1)

    def __iter__(self) -> Iterator[Ticket]:
        return iter(list(self._tickets.values()))

    def get(self, key: str) -> Ticket | None:
        return self._tickets.get(key)

    @property
    def any_active(self) -> bool:
        """Whether there is a job to be tried now."""
        return self._active.first() is not None

    def counts(self) -> dict[State, int]:
        """How many pods are in each state."""
        counts = dict.fromkeys(State, 0)
        for ticket in self._tickets.values():
            counts[ticket.state] += ticket.pods
        return counts

    def unschedulable_by_plugin(self) -> Counter[str]:
        """How many pods are unschedulable because of each filter."""
        counts: Counter[str] = Counter()
        for ticket in self._tickets.values():
            if ticket.state is State.UNSCHEDULABLE and ticket.refusal is not None:
                counts.update(dict.fromkeys(ticket.refusal.plugins, ticket.pods))
        return counts

    # --- arrivals and departures ---

    def add(
        self,
        key: str,
        equivalence: Equivalence,
        *,
        name: str,
        priority: int,
        created: float,
        completing: bool = False,
    ) -> None:
        """A pod to be scheduled. For one already here, only a change of what it requests makes it active again."""
        known = self._tickets.get(key)
        if known is not None and known.equivalence == equivalence and known.priority == priority:
            if known.completing != completing:  # another place in line, and no reason to be tried
                known.completing = completing
                self._push_active(known) if known.state is State.ACTIVE else None
            return
        if known is not None:
            self.remove(key)
        first_seen = known.first_seen if known is not None else self._clock()
        ticket = self._tickets[key] = Ticket(key, name, priority, equivalence, since=created, first_seen=first_seen)
        ticket.completing, ticket.created = completing, created
        self._activate(ticket, "PodUpdate" if known is not None else "PodAdd")

    def update(
        self,
        key: str,
        *,
        priority: int,
        created: float,
        pods: int,
        ready: bool,
        completing: bool = False,
        preempts_at: int | None = None,
        queue: str = "",
    ) -> None:
        """Gangs appeared or changed: to be tried now if they are ready, else soon, so that they are told why."""
        ticket = self._tickets.get(key)
        if ticket is None:
            unknown = Equivalence((), "", key, queue=queue)  # what it is equivalent to is known after the first attempt
            name, now = names_of(key), self._clock()
            ticket = Ticket(key, name, priority, unknown, since=created, first_seen=now, state=State.GONE)
            self._tickets[key] = ticket
        self._leave_class(ticket)
        ticket.priority, ticket.pods, ticket.completing = priority, pods, completing
        ticket.preempts_at, ticket.request, ticket.created = preempts_at, None, created
        if ticket.queue != queue:
            ticket.equivalence = ticket.equivalence._replace(queue=queue)
            self._push_active(ticket) if ticket.state is State.ACTIVE else None
        if not ticket.failures:
            ticket.since = created
        if ready:
            self._activate(ticket, "GangChange")
        elif ticket.state not in (State.ACTIVE, State.BACKOFF):
            self._back_off(ticket, "GangChange", until=max(ticket.ready_at, self._clock() + _SAY_WHY_AFTER_S))

    def reclassify(self, key: str, equivalence: Equivalence) -> None:
        """A job's pods have other shapes, and ask for the same: it goes on waiting, in another class."""
        ticket = self._tickets.get(key)
        if ticket is None or ticket.equivalence == equivalence:
            return
        if ticket.state is not State.UNSCHEDULABLE:
            ticket.equivalence = equivalence
            if ticket.state is State.ACTIVE:
                self._push_active(ticket)
            return
        wake_on = self._unschedulable[ticket.equivalence].wake_on
        self._leave_class(ticket)
        ticket.equivalence = equivalence
        self._enter_class(ticket, wake_on | self._waits_for(equivalence))

    def remove(self, key: str) -> None:
        """The job is gone, placed by another scheduler, or not to be scheduled any more."""
        ticket = self._tickets.pop(key, None)
        if ticket is None:
            return
        self._leave_class(ticket)
        was_active, ticket.state = ticket.state is State.ACTIVE, State.GONE
        if was_active:
            self._activate_equivalent(ticket.equivalence)  # it may have been activated for room that is still free

    # --- attempts ---

    def pop(self) -> Ticket | None:
        """The job to try now. Answer with exactly one of `done`, `add_unschedulable`, `retry` or `put_back`."""
        self._promote_due()
        ticket = self._active.pop()
        if ticket is not None:
            ticket.state = State.IN_FLIGHT
        return ticket

    def pop_equivalent(self, ticket: Ticket, most: int) -> list[Ticket]:
        """Those right behind a ticket that was popped, as long as they are equivalent; each is to be answered, too."""
        found = self._active.pop_equivalent(ticket, most)
        for each in found:
            each.state = State.IN_FLIGHT
        return found

    def is_overtaken(self, ticket: Ticket) -> bool:
        """A job that is active by now comes before a ticket that was popped."""
        return self._active.overtakes(ticket)

    def is_before(self, one: Ticket, other: Ticket) -> bool:
        """Whether the turn of one comes before that of the other."""
        return self._active.is_before(one, other)

    def put_back(self, ticket: Ticket) -> None:
        """It was popped, and not tried after all: it has its place again."""
        if self._tickets.get(ticket.key) is ticket:
            ticket.state = State.ACTIVE
            self._push_active(ticket)

    def done(self, ticket: Ticket) -> None:
        """It was placed. An equivalent one may fit as well."""
        if self._tickets.get(ticket.key) is ticket:
            del self._tickets[ticket.key]
        ticket.state = State.GONE
        self._activate_equivalent(ticket.equivalence)

    def add_unschedulable(
        self, ticket: Ticket, refusal: Refusal, *, equivalence: Equivalence | None = None, attempted: bool = True
    ) -> None:
        """It was refused; `equivalence` is what the job turned out to be.

        One that was not even attempted, such as a gang without all of its members, keeps its place.
        """
        if not (self._failed(ticket) if attempted else self._tickets.get(ticket.key) is ticket):
            return
        ticket.equivalence = equivalence or ticket.equivalence
        ticket.refusal = refusal
        ticket.unschedulable_since, ticket.flushed, ticket.urgent = self._clock(), False, False
        self._enter_class(ticket, refusal.wake_on)
        metrics.incoming_pods(State.UNSCHEDULABLE.value, "ScheduleAttemptFailure").inc(ticket.pods)

    def retry(self, ticket: Ticket, equivalence: Equivalence | None = None) -> None:
        """Something went wrong that time may heal, such as a bind that failed; `equivalence` is what the job is by now.

        It may be unschedulable by now: binds of one gang can fail at different times, and the first brings all of it
        back.
        """
        self._leave_class(ticket)
        if self._tickets.setdefault(ticket.key, ticket) is ticket and equivalence is not None:
            ticket.equivalence = equivalence
        if self._failed(ticket):
            self._back_off(ticket, "ScheduleAttemptFailure")

    def back_off(self, key: str) -> None:
        """Not now, whatever made it active."""
        ticket = self._tickets.get(key)
        if ticket is not None:
            self.retry(ticket)

    def yield_to(self, ticket: Ticket, other: str) -> bool:
        """Another job goes first, once; this one follows it. False if there is no such job any more."""
        first = self._tickets.get(other)
        if first is None:
            return False
        self._leave_class(first)
        self._activate(first, "Yield")
        ticket.yielded = True
        ticket.since = self._wall()
        self._activate(ticket, "Yield")
        return True

    # --- wake-ups ---

    @property
    def any_unschedulable(self) -> bool:
        """Whether there is a job to activate at all."""
        return bool(self._unschedulable)

    def wake(self, kind: EventKind, has_room: HasRoom) -> None:
        """A cluster event: activate one job of each class that waits for it.

        What happened on one node can help only there, so it counts only if that node has room for some of the job.
        """
        if not self._awaited & kind:
            return
        for equivalence, waiting in list(self._unschedulable.items()):
            awaited = waiting.wake_on & kind
            first = waiting.heap.first() if awaited and equivalence.wants else None
            if first is None:
                continue
            asked_about = ON_ONE_NODE | EventKind.SHARES
            if awaited & ~asked_about or equivalence.anywhere or has_room(equivalence.wants, first.preemptor):
                self._activate_equivalent(equivalence, is_event=True)
            elif awaited & ON_ONE_NODE:
                # What was wrong with the node is mended, and now it lacks room: from here on, room helps too.
                waiting.wake_on |= EventKind.NODE_GREW | EventKind.ROOM_FREED
                self._awaited |= waiting.wake_on

    def activate_like(self, equivalence: Equivalence) -> None:
        """A job that was one of these evicts others: the next of them may do so, too."""
        self._activate_equivalent(equivalence)

    def also_wake_on(self, key: str, kind: EventKind) -> None:
        """An unschedulable job lacks more than its refusal says: it has lost what it held."""
        ticket = self._tickets.get(key)
        if ticket is not None and ticket.state is State.UNSCHEDULABLE:
            self._unschedulable[ticket.equivalence].wake_on |= kind
            self._awaited |= kind

    def activate(self, key: str) -> None:
        """Try an unschedulable job again, whatever it waits for; one that backs off goes on doing so."""
        ticket = self._tickets.get(key)
        if ticket is not None and ticket.state is State.UNSCHEDULABLE:
            self._leave_class(ticket)
            self._activate(ticket, "ClusterChange")

    def activate_now(self, key: str) -> None:
        """What it waited for has happened: also a back-off for what was in vain before ends."""
        ticket = self._tickets.get(key)
        if ticket is not None and ticket.state in (State.UNSCHEDULABLE, State.BACKOFF):
            self._leave_class(ticket)
            self._activate(ticket, "ClusterChange")

    def start_over(self, key: str) -> None:
        """Try it as when it was submitted: behind those that came before it, in front of all that came later."""
        ticket = self._tickets.get(key)
        if ticket is None or ticket.state in (State.IN_FLIGHT, State.GONE):
            return
        self._leave_class(ticket)
        ticket.since = ticket.created
        self._activate(ticket, "ClusterChange")

    def move_to_front(self, key: str) -> None:
        """Try this one before everything else, once."""
        ticket = self._tickets.get(key)
        if ticket is not None and ticket.state is State.ACTIVE:
            ticket.urgent = True
            self._push_active(ticket)

    def activate_all(self) -> None:
        """Everything is worth another attempt: leadership begins, or an error of ours has left heaps in doubt."""
        self._active.clear()
        self._backoff.clear()
        self._unschedulable.clear()
        for ticket in self._tickets.values():
            if ticket.state is not State.IN_FLIGHT:
                self._activate(ticket, "LeadershipBegan")

    def flush(self, older_than_s: float) -> None:
        """Activate one job of each class that has waited for very long. Progress must not depend on it: `flushed`."""
        now = self._clock()
        for equivalence, waiting in list(self._unschedulable.items()):
            first = waiting.heap.first()
            if first is not None and now - first.unschedulable_since > older_than_s:
                first.flushed = True
                self._activate_equivalent(equivalence)

    def renew(self, key: str, older_than_s: float) -> bool:
        """Try a job again because its refusal is old, and what it says may be untrue by now; it keeps its place.

        Others may have taken the room that it counts. Nothing that could help has happened since, so the job is not
        expected to start: where it does, a wake-up was missed, and it counts as `flushed`.
        """
        ticket = self._tickets.get(key)
        if ticket is None or ticket.state is not State.UNSCHEDULABLE:
            return False
        if self._clock() - ticket.unschedulable_since <= older_than_s:
            return False
        ticket.flushed = True
        self._leave_class(ticket)
        self._activate(ticket, "UnschedulableTimeout")
        return True

    def seconds_to_next(self) -> float | None:
        """Until the next back-off ends; None when nothing is backing off."""
        first = self._backoff.first()
        return max(0.0, self._backoff.first_key() - self._clock()) if first is not None else None

    # --- bookkeeping ---

    def _activate_equivalent(self, equivalence: Equivalence, *, is_event: bool = False) -> None:
        """Activate the first of a class that may be now; those before it are tried when their back-off ends.

        An event cuts a back-off short at once the first time, and after that no sooner than the shortest back-off after
        the last refusal: an event can be a false hope, and hopes can come by the hundred. An activation because an
        equivalent job was just placed is free: it ends with the first refusal.
        """
        waiting = self._unschedulable.get(equivalence)
        while waiting is not None and (ticket := waiting.heap.pop()) is not None:
            self._leave_class(ticket)
            now = self._clock()
            if now >= ticket.ready_at or not ticket.early_wake_used:
                ticket.early_wake_used |= is_event and now < ticket.ready_at
                self._activate(ticket, "ClusterChange")
                return
            earliest = ticket.unschedulable_since + self._first_backoff_s
            self._back_off(ticket, "ClusterChange", until=min(ticket.ready_at, earliest))

    def _failed(self, ticket: Ticket) -> bool:
        """Count the failure; False when the ticket is no longer wanted."""
        if self._tickets.get(ticket.key) is not ticket:
            return False
        now = self._clock()
        if now >= ticket.ready_at:
            delay = min(self._first_backoff_s * 2.0 ** min(ticket.failures, 32), self._most_backoff_s)
            ticket.failures += 1
            ticket.ready_at = now + delay
            ticket.early_wake_used = False
        if not ticket.flushed:  # else nothing gave it a chance, and others of its age would be put before it for that
            ticket.since = self._wall()
        ticket.urgent = ticket.yielded = False
        return True

    def _activate(self, ticket: Ticket, why: str) -> None:
        ticket.state = State.ACTIVE
        metrics.incoming_pods(State.ACTIVE.value, why).inc(ticket.pods)
        self._push_active(ticket)
        self._on_ready()

    def _back_off(self, ticket: Ticket, why: str, until: float | None = None) -> None:
        ticket.state = State.BACKOFF
        metrics.incoming_pods(State.BACKOFF.value, why).inc(ticket.pods)
        first = ticket.ready_at if until is None else until
        self._backoff.push(ticket, first, next(self._numbers), tickets=len(self._tickets))
        self._on_ready()

    def _push_active(self, ticket: Ticket) -> None:
        self._active.push(ticket, next(self._numbers), tickets=len(self._tickets))

    def _enter_class(self, ticket: Ticket, wake_on: EventKind) -> None:
        ticket.state = State.UNSCHEDULABLE
        self._awaited = self._awaited | wake_on if self._unschedulable else wake_on
        waiting = self._unschedulable.setdefault(ticket.equivalence, _Class())
        waiting.wake_on = wake_on
        waiting.tickets += 1
        waiting.heap.push(ticket, ticket.rank, next(self._numbers), tickets=len(self._tickets))

    def _leave_class(self, ticket: Ticket) -> None:
        """It is unschedulable no more, if it was; a class without jobs is dropped."""
        waiting = self._unschedulable.get(ticket.equivalence)
        if ticket.state is State.UNSCHEDULABLE and waiting is not None:
            ticket.state = State.GONE
            waiting.tickets -= 1
            if not waiting.tickets:
                del self._unschedulable[ticket.equivalence]

    def _waits_for(self, equivalence: Equivalence) -> EventKind:
        waiting = self._unschedulable.get(equivalence)
        return waiting.wake_on if waiting is not None else EventKind.NONE

    def _promote_due(self) -> None:
        now = self._clock()
        while self._backoff.first() is not None and self._backoff.first_key() <= now:
            ticket = self._backoff.pop()
            assert ticket is not None
            self._activate(ticket, "BackoffComplete")
