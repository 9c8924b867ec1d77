"""Which job is tried next, and which wait for what.

A job is *active* (to be tried now), *backing off* (after an error; tried again when its time comes), or *parked*:
refused, and asleep until something happens that its refusal named as a cure. Nothing is polled. Plain synchronous code
with injected clocks; the scheduler's loop does the waiting.

Parked jobs sleep in groups that get the same answer (one shape, one profile), and one **scout** is woken per group: if
the scout is placed, the next one of its group is woken; if it is refused, all others would be too, and they sleep on.
So 10,000 pods waiting for a slot cost one attempt per freed slot and not 10,000.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from koordpy.cluster.changes import ON_ONE_NODE, Change
from koordpy.cluster.shapes import Shape


class State(Enum):
    """Where a ticket is; the values are the labels of `scheduler_pending_pods`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    PARKED = "unschedulable"
    IN_FLIGHT = "in_flight"  # being planned
    GONE = "gone"


class Group(NamedTuple):
    """Jobs that get the same answer, so that one can be the scout for all of them."""

    shape: Shape | None
    scheduler: str  # other profiles have other filters
    promised: str  # the job's own key if it was promised a node: it may go where others of its shape may not


@dataclass(slots=True, eq=False)
class Ticket:
    """A job's place in the queue."""

    key: str
    name: str  # namespace/name, the last tie-break
    priority: int
    group: Group
    since: float  # creation, or the last failure: one big job that never fits must not stay at the head for ever
    first_seen: float
    state: State = State.ACTIVE
    failures: int = 0
    ready_at: float = 0.0  # end of the back-off
    early_wake_used: bool = False
    number: int = 0  # of its newest heap entry; older entries are void
    parked_at: float = 0.0
    refused_by: frozenset[str] = frozenset()  # names of filters
    rescued: bool = False  # woken by the periodic flush and by nothing else: a wake-up was missed

    def entry(self, first: float, number: int) -> _Entry:
        self.number = number
        return (first, self.since, self.name, number, self)


_Entry = tuple[float, float, str, int, Ticket]


@dataclass(slots=True)
class _Sleepers:
    """Parked jobs of one group, best first, and what would cure them: the newest refusal knows best."""

    cures: Change = Change.NONE
    heap: list[_Entry] = field(default_factory=list)
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
        self._active: list[_Entry] = []
        self._backoff: list[_Entry] = []
        self._parked: dict[Group, _Sleepers] = {}
        self._numbers = itertools.count(1)
        self.on_ready: Callable[[], None] = lambda: None  # called when there may be something to pop
        self.entered: Counter[tuple[State, str]] = Counter()  # how often jobs entered a state, and why

    def counts(self) -> dict[State, int]:
        """How many tickets are in each state."""
        counts = dict.fromkeys(State, 0)
        for ticket in self._tickets.values():
            counts[ticket.state] += 1
        return counts

    def parked_by_plugin(self) -> Counter[str]:
        """How many jobs sleep because of each filter."""
        parked = (ticket for ticket in self._tickets.values() if ticket.state is State.PARKED)
        return Counter(plugin for ticket in parked for plugin in ticket.refused_by)

    # --- arrivals and departures ---

    def add(self, key: str, group: Group, *, name: str, priority: int, created: float) -> None:
        """A job to be scheduled. For one already here, only a change of what is asked for makes it active again."""
        known = self._tickets.get(key)
        if known is not None and known.group == group and known.priority == priority:
            return
        if known is not None:
            self.remove(key)
        first_seen = known.first_seen if known is not None else self._clock()
        ticket = self._tickets[key] = Ticket(key, name, priority, group, since=created, first_seen=first_seen)
        self._activate(ticket, "PodUpdate" if known is not None else "PodAdd")

    def remove(self, key: str) -> None:
        """The job is gone, placed by somebody else, or not to be scheduled any more."""
        ticket = self._tickets.pop(key, None)
        if ticket is None:
            return
        self._unpark(ticket)
        was_active, ticket.state = ticket.state is State.ACTIVE, State.GONE
        if was_active:
            self._wake_scout(ticket.group)  # it may have been the scout for room that is still free

    # --- attempts ---

    def pop(self) -> Ticket | None:
        """The job to try now. Answer with exactly one of `done`, `park` or `retry`."""
        self._promote_due()
        ticket = _pop(self._active, State.ACTIVE)
        if ticket is not None:
            ticket.state = State.IN_FLIGHT
        return ticket

    def done(self, ticket: Ticket) -> None:
        """It was placed. Another of its group may fit as well."""
        if self._tickets.get(ticket.key) is ticket:
            del self._tickets[ticket.key]
        ticket.state = State.GONE
        self._wake_scout(ticket.group)

    def park(self, ticket: Ticket, cures: Change, refused_by: frozenset[str] = frozenset()) -> None:
        """It was refused: sleep until one of the cures happens."""
        if self._failed(ticket):
            ticket.refused_by = refused_by
            ticket.state, ticket.parked_at, ticket.rescued = State.PARKED, self._clock(), False
            sleepers = self._parked.setdefault(ticket.group, _Sleepers())
            sleepers.cures = cures
            sleepers.number += 1
            self._push(sleepers.heap, ticket, -ticket.priority)
            self.entered[State.PARKED, "ScheduleAttemptFailure"] += 1

    def retry(self, ticket: Ticket, group: Group | None = None) -> None:
        """Something went wrong that time may heal, such as a bind that failed; `group` is what the job is by now."""
        if self._tickets.setdefault(ticket.key, ticket) is ticket and group is not None:
            ticket.group = group
        if self._failed(ticket):
            self._back_off(ticket, "ScheduleAttemptFailure")

    # --- wake-ups ---

    def wake(self, change: Change, has_room: Callable[[Shape], bool]) -> None:
        """Something happened: wake a scout of each group that it could cure.

        What happened on one node can cure only there, so it is news only if that node has room for the shape.
        """
        for group, sleepers in list(self._parked.items()):
            cure = sleepers.cures & change
            if group.shape is None or not cure:
                continue
            if cure & ~ON_ONE_NODE or has_room(group.shape):
                self._wake_scout(group, is_news=True)
            else:
                # What was wrong with the node is cured, and now it lacks room: from here on, room is a cure too.
                sleepers.cures |= Change.NODE_GREW | Change.ROOM_FREED

    def wake_all(self) -> None:
        """Everything is worth a try again, as when leadership begins."""
        for ticket in list(self._tickets.values()):
            if ticket.state in (State.PARKED, State.BACKOFF):
                self._unpark(ticket)
                self._activate(ticket, "LeadershipBegan")

    def flush(self, older_than_s: float) -> None:
        """Wake a scout of each group that has slept for very long. Progress must not depend on it; see `rescued`."""
        now = self._clock()
        for group, sleepers in list(self._parked.items()):
            while sleepers.heap and not _valid(sleepers.heap[0], State.PARKED):
                heapq.heappop(sleepers.heap)
            if sleepers.heap and now - sleepers.heap[0][-1].parked_at > older_than_s:
                sleepers.heap[0][-1].rescued = True
                self._wake_scout(group)

    def seconds_to_next(self) -> float | None:
        """Until the next back-off ends; None when nothing is backing off."""
        while self._backoff and not _valid(self._backoff[0], State.BACKOFF):
            heapq.heappop(self._backoff)
        return max(0.0, self._backoff[0][0] - self._clock()) if self._backoff else None

    # --- bookkeeping ---

    def _wake_scout(self, group: Group, *, is_news: bool = False) -> None:
        """Wake the first of a group that may be woken now; those before it are tried when their back-off ends.

        News cuts a back-off short at once the first time, and after that no sooner than the shortest back-off after the
        last refusal: news can be a false hope, and hopes can come by the hundred. A wake-up because another of the
        group was just placed is free: it ends with the first refusal.
        """
        sleepers = self._parked.get(group)
        while sleepers is not None and (ticket := _pop(sleepers.heap, State.PARKED)) is not None:
            self._unpark(ticket)
            now = self._clock()
            if now >= ticket.ready_at or not ticket.early_wake_used:
                ticket.early_wake_used |= is_news and now < ticket.ready_at
                self._activate(ticket, "ClusterChange")
                return
            self._back_off(
                ticket, "ClusterChange", until=min(ticket.ready_at, ticket.parked_at + self._first_backoff_s)
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
        return True

    def _activate(self, ticket: Ticket, why: str) -> None:
        ticket.state = State.ACTIVE
        self.entered[State.ACTIVE, why] += 1
        self._push(self._active, ticket, -ticket.priority)
        self.on_ready()

    def _back_off(self, ticket: Ticket, why: str, until: float | None = None) -> None:
        ticket.state = State.BACKOFF
        self.entered[State.BACKOFF, why] += 1
        self._push(self._backoff, ticket, ticket.ready_at if until is None else until)
        self.on_ready()

    def _push(self, heap: list[_Entry], ticket: Ticket, first: float) -> None:
        if len(heap) > 2 * len(self._tickets) + 64:  # a standby pushes and never pops: most of it is void
            heap[:] = [e for e in heap if e[-1].number == e[-2] and e[-1].state is not State.GONE]
            heapq.heapify(heap)
        heapq.heappush(heap, ticket.entry(first, next(self._numbers)))

    def _unpark(self, ticket: Ticket) -> None:
        """It leaves its group, if it sleeps in one; a group of nobody is forgotten."""
        sleepers = self._parked.get(ticket.group)
        if ticket.state is State.PARKED and sleepers is not None:
            sleepers.number -= 1
            if not sleepers.number:
                del self._parked[ticket.group]

    def _promote_due(self) -> None:
        now = self._clock()
        while self._backoff and self._backoff[0][0] <= now:
            entry = heapq.heappop(self._backoff)
            if _valid(entry, State.BACKOFF):
                self._activate(entry[-1], "BackoffComplete")


def _valid(entry: _Entry, state: State) -> bool:
    return entry[-1].number == entry[-2] and entry[-1].state is state


def _pop(heap: list[_Entry], state: State) -> Ticket | None:
    """The first ticket of a heap that is still where the heap thinks it is."""
    while heap:
        entry = heapq.heappop(heap)
        if _valid(entry, state):
            return entry[-1]
    return None
