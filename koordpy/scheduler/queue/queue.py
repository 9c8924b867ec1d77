"""Which job is tried next, and which wait for what.

A job is *active* (to be tried now), *backing off* (after an error; tried again when its time comes), or *parked*:
refused, and asleep until something happens that its refusal named as a cure. Nothing is polled. Plain synchronous code
with injected clocks; the scheduler's loop does the waiting.

Parked jobs that are equivalence (one shape, one profile; or gangs with the same demands) get the same answer, and one
**scout** is woken for all of them: if it is placed, the next one is woken; if it is refused, all others would be too,
and they sleep on. So 10,000 pods waiting for a slot cost one attempt per freed slot and not 10,000.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from koordpy.scheduler.queue.ticket import Entry, Equivalence, State, Ticket, Wants
from koordpy.state.events import ON_ONE_NODE, EventKind

# A gang that is not complete is told why, but not upon each of its thousand members that arrive one after another.
_SAY_WHY_AFTER_S = 0.5


@dataclass(slots=True)
class _Sleepers:
    """Parked jobs that are equivalence, best first, and what would cure them: the newest refusal knows best."""

    wake_on: EventKind = EventKind.NONE
    heap: list[Entry] = field(default_factory=list)
    number: int = 0  # of those that are really there; the heap also has entries that are void


class JobQueue:
    """Priority first, then age, then name."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        first_backoff_s: float = 1.0,
        most_backoff_s: float = 10.0,
    ) -> None:
        self._clock, self._wall = clock, wall
        self._first_backoff_s, self._most_backoff_s = first_backoff_s, most_backoff_s
        self._tickets: dict[str, Ticket] = {}
        self._active: list[Entry] = []
        self._backoff: list[Entry] = []
        self._unschedulable: dict[Equivalence, _Sleepers] = {}
        self._numbers = itertools.count(1)
        self.on_ready: Callable[[], None] = lambda: None  # called when there may be something to pop
        self.entered: Counter[tuple[State, str]] = Counter()  # how often jobs entered a state, and why

    def counts(self) -> dict[State, int]:
        """How many pods are in each state."""
        counts = dict.fromkeys(State, 0)
        for ticket in self._tickets.values():
            counts[ticket.state] += ticket.pods
        return counts

    def unschedulable_by_plugin(self) -> Counter[str]:
        """How many pods sleep because of each filter."""
        counts: Counter[str] = Counter()
        for ticket in self._tickets.values():
            if ticket.state is State.UNSCHEDULABLE:
                counts.update(dict.fromkeys(ticket.refused_by, ticket.pods))
        return counts

    # --- arrivals and departures ---

    def add(self, key: str, equivalence: Equivalence, *, name: str, priority: int, created: float) -> None:
        """A pod to be scheduled. For one already here, only a change of what is asked for makes it active again."""
        known = self._tickets.get(key)
        if known is not None and known.equivalence == equivalence and known.priority == priority:
            return
        if known is not None:
            self.remove(key)
        first_seen = known.first_seen if known is not None else self._clock()
        ticket = self._tickets[key] = Ticket(key, name, priority, equivalence, since=created, first_seen=first_seen)
        self._activate(ticket, "PodUpdate" if known is not None else "PodAdd")

    def update(self, key: str, *, priority: int, created: float, pods: int, ready: bool) -> None:
        """Gangs that appeared or changed: to be tried now if they are ready, else soon, so that they are told why."""
        ticket = self._tickets.get(key)
        if ticket is None:
            nobody = Equivalence((), "", key)  # what it is like is known when it was tried
            ticket = Ticket(key, key, priority, nobody, since=created, first_seen=self._clock(), state=State.GONE)
            self._tickets[key] = ticket
        self._unpark(ticket)
        ticket.priority, ticket.pods = priority, pods
        if not ticket.failures:
            ticket.since = created
        if ready:
            self._activate(ticket, "GangChange")
        elif ticket.state not in (State.ACTIVE, State.BACKOFF):
            self._back_off(ticket, "GangChange", until=max(ticket.ready_at, self._clock() + _SAY_WHY_AFTER_S))

    def back_off(self, key: str) -> None:
        """Not now, whatever made it active."""
        ticket = self._tickets.get(key)
        if ticket is not None:
            self.retry(ticket)

    def activate(self, key: str) -> None:
        """Wake one job, whatever it sleeps for."""
        ticket = self._tickets.get(key)
        if ticket is not None and ticket.state is State.UNSCHEDULABLE:
            self._unpark(ticket)
            self._activate(ticket, "ClusterChange")

    def activate_now(self, key: str) -> None:
        """What it waited for has event: it is not kept waiting by a back-off for what was in vain before."""
        ticket = self._tickets.get(key)
        if ticket is not None and ticket.state in (State.UNSCHEDULABLE, State.BACKOFF):
            self._unpark(ticket)
            self._activate(ticket, "ClusterChange")

    def move_to_front(self, key: str) -> None:
        """Try this one before everything else, once."""
        ticket = self._tickets.get(key)
        if ticket is not None and ticket.state is State.ACTIVE:
            ticket.urgent = True
            self._push(self._active, ticket, ticket.rank)

    def remove(self, key: str) -> None:
        """The job is gone, placed by somebody else, or not to be scheduled any more."""
        ticket = self._tickets.pop(key, None)
        if ticket is None:
            return
        self._unpark(ticket)
        was_active, ticket.state = ticket.state is State.ACTIVE, State.GONE
        if was_active:
            self._wake_scout(ticket.equivalence)  # it may have been the scout for room that is still free

    # --- attempts ---

    def pop(self) -> Ticket | None:
        """The job to try now. Answer with exactly one of `done`, `park` or `retry`."""
        self._promote_due()
        ticket = _pop(self._active, State.ACTIVE)
        if ticket is not None:
            ticket.state = State.IN_FLIGHT
        return ticket

    def pop_equivalent(self, ticket: Ticket, most: int) -> list[Ticket]:
        """Those right behind a ticket that was popped, as long as they are like it; each is to be answered, too."""
        found: list[Ticket] = []
        while self._active and len(found) < most:
            entry = self._active[0]
            if _valid(entry, State.ACTIVE):
                behind = entry[-1]
                if behind.equivalence != ticket.equivalence or behind.rank != ticket.rank:
                    break
                behind.state = State.IN_FLIGHT
                found.append(behind)
            heapq.heappop(self._active)
        return found

    def is_overtaken(self, ticket: Ticket) -> bool:
        """Somebody who is active by now comes before a ticket that was popped."""
        while self._active and not _valid(self._active[0], State.ACTIVE):
            heapq.heappop(self._active)
        return bool(self._active) and self._active[0][:3] < (ticket.rank, ticket.since, ticket.name)

    def put_back(self, ticket: Ticket) -> None:
        """It was popped, and not tried after all: it has its place again."""
        ticket.state = State.ACTIVE
        self._push(self._active, ticket, ticket.rank)

    def done(self, ticket: Ticket) -> None:
        """It was placed. Another one like it may fit as well."""
        if self._tickets.get(ticket.key) is ticket:
            del self._tickets[ticket.key]
        ticket.state = State.GONE
        self._wake_scout(ticket.equivalence)

    def add_unschedulable(
        self,
        ticket: Ticket,
        wake_on: EventKind,
        refused_by: frozenset[str] = frozenset(),
        *,
        equivalence: Equivalence | None = None,
        attempted: bool = True,
    ) -> None:
        """It was refused: sleep until one of the wake_on happens; `equivalence` is what the job turned out to be.

        One that was not even attempted, such as a gang without all of its members, keeps its place.
        """
        if self._failed(ticket) if attempted else self._tickets.get(ticket.key) is ticket:
            ticket.equivalence = equivalence or ticket.equivalence
            ticket.refused_by = refused_by
            ticket.state, ticket.unschedulable_since, ticket.flushed = State.UNSCHEDULABLE, self._clock(), False
            ticket.urgent = False
            sleepers = self._unschedulable.setdefault(ticket.equivalence, _Sleepers())
            sleepers.wake_on = wake_on
            sleepers.number += 1
            self._push(sleepers.heap, ticket, ticket.rank)
            self.entered[State.UNSCHEDULABLE, "ScheduleAttemptFailure"] += 1

    def retry(self, ticket: Ticket, equivalence: Equivalence | None = None) -> None:
        """Something went wrong that time may heal, such as a bind that failed; `equivalence` is what the job is by now.

        It may sleep by now: binds of one gang can fail at different times, and the first brings all of it back.
        """
        self._unpark(ticket)
        if self._tickets.setdefault(ticket.key, ticket) is ticket and equivalence is not None:
            ticket.equivalence = equivalence
        if self._failed(ticket):
            self._back_off(ticket, "ScheduleAttemptFailure")

    def yield_to(self, ticket: Ticket, other: str) -> bool:
        """Another job is to go first, once; this one follows it. False if there is no such job any more."""
        first = self._tickets.get(other)
        if first is None:
            return False
        self._unpark(first)
        self._activate(first, "LetPass")
        ticket.yielded = True
        ticket.since = self._wall()
        self._activate(ticket, "LetPass")
        return True

    # --- wake-ups ---

    @property
    def anybody_sleeps(self) -> bool:
        """Whether there is somebody to wake at all."""
        return bool(self._unschedulable)

    def wake(self, change: EventKind, has_room: Callable[[Wants, int], bool]) -> None:
        """Something event: wake a scout of the jobs that it could cure.

        What happened on one node can cure only there, so it is news only if that node has room for some of the job.
        """
        for equivalence, sleepers in list(self._unschedulable.items()):
            cure = sleepers.wake_on & change
            if not equivalence.wants or not cure:
                continue
            if (
                cure & ~ON_ONE_NODE
                or equivalence.anywhere
                or has_room(equivalence.wants, sleepers.heap[0][-1].priority)
            ):
                self._wake_scout(equivalence, is_news=True)
            else:
                # What was wrong with the node is cured, and now it lacks room: from here on, room is a cure too.
                sleepers.wake_on |= EventKind.NODE_GREW | EventKind.ROOM_FREED

    def wake_all(self) -> None:
        """Everything is worth a try again, as when leadership begins."""
        for ticket in list(self._tickets.values()):
            if ticket.state in (State.UNSCHEDULABLE, State.BACKOFF):
                self._unpark(ticket)
                self._activate(ticket, "LeadershipBegan")

    def flush(self, older_than_s: float) -> None:
        """Wake a scout of those that have slept for very long. Progress must not depend on it; see `flushed`."""
        now = self._clock()
        for equivalence, sleepers in list(self._unschedulable.items()):
            while sleepers.heap and not _valid(sleepers.heap[0], State.UNSCHEDULABLE):
                heapq.heappop(sleepers.heap)
            if sleepers.heap and now - sleepers.heap[0][-1].unschedulable_since > older_than_s:
                sleepers.heap[0][-1].flushed = True
                self._wake_scout(equivalence)

    def seconds_to_next(self) -> float | None:
        """Until the next back-off ends; None when nothing is backing off."""
        while self._backoff and not _valid(self._backoff[0], State.BACKOFF):
            heapq.heappop(self._backoff)
        return max(0.0, self._backoff[0][0] - self._clock()) if self._backoff else None

    # --- bookkeeping ---

    def _wake_scout(self, equivalence: Equivalence, *, is_news: bool = False) -> None:
        """Wake the first of those that may be woken now; those before it are tried when their back-off ends.

        News cuts a back-off short at once the first time, and after that no sooner than the shortest back-off after the
        last refusal: news can be a false hope, and hopes can come by the hundred. A wake-up because another one like it
        was just placed is free: it ends with the first refusal.
        """
        sleepers = self._unschedulable.get(equivalence)
        while sleepers is not None and (ticket := _pop(sleepers.heap, State.UNSCHEDULABLE)) is not None:
            self._unpark(ticket)
            now = self._clock()
            if now >= ticket.ready_at or not ticket.early_wake_used:
                ticket.early_wake_used |= is_news and now < ticket.ready_at
                self._activate(ticket, "ClusterChange")
                return
            self._back_off(
                ticket, "ClusterChange", until=min(ticket.ready_at, ticket.unschedulable_since + self._first_backoff_s)
            )

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
        ticket.since = self._wall()
        ticket.urgent = ticket.yielded = False
        return True

    def _activate(self, ticket: Ticket, why: str) -> None:
        ticket.state = State.ACTIVE
        self.entered[State.ACTIVE, why] += 1
        self._push(self._active, ticket, ticket.rank)
        self.on_ready()

    def _back_off(self, ticket: Ticket, why: str, until: float | None = None) -> None:
        ticket.state = State.BACKOFF
        self.entered[State.BACKOFF, why] += 1
        self._push(self._backoff, ticket, ticket.ready_at if until is None else until)
        self.on_ready()

    def _push(self, heap: list[Entry], ticket: Ticket, first: float) -> None:
        if len(heap) > 2 * len(self._tickets) + 64:  # a standby pushes and never pops: most of it is void
            heap[:] = [e for e in heap if e[-1].number == e[-2] and e[-1].state is not State.GONE]
            heapq.heapify(heap)
        heapq.heappush(heap, ticket.entry(first, next(self._numbers)))

    def _unpark(self, ticket: Ticket) -> None:
        """It sleeps no more, if it did; where nobody sleeps, nothing is kept."""
        sleepers = self._unschedulable.get(ticket.equivalence)
        if ticket.state is State.UNSCHEDULABLE and sleepers is not None:
            ticket.state = State.GONE
            sleepers.number -= 1
            if not sleepers.number:
                del self._unschedulable[ticket.equivalence]

    def _promote_due(self) -> None:
        now = self._clock()
        while self._backoff and self._backoff[0][0] <= now:
            entry = heapq.heappop(self._backoff)
            if _valid(entry, State.BACKOFF):
                self._activate(entry[-1], "BackoffComplete")


def _valid(entry: Entry, state: State) -> bool:
    return entry[-1].number == entry[-2] and entry[-1].state is state


def _pop(heap: list[Entry], state: State) -> Ticket | None:
    """The first ticket of a heap that is still where the heap thinks it is."""
    while heap:
        entry = heapq.heappop(heap)
        if _valid(entry, state):
            return entry[-1]
    return None
