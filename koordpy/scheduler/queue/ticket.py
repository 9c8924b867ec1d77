"""A job's place in the queue: where it is, how it fared so far, and which jobs get the same answer."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from koordpy.plan.framework.answers import Refusal
from koordpy.state.arrays import Ints
from koordpy.state.eviction import Preemptor
from koordpy.state.shapes import Shape


class State(Enum):
    """Where a ticket is; the values are the labels of `scheduler_pending_pods`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    IN_FLIGHT = "in_flight"  # being planned
    GONE = "gone"


Wants = tuple[tuple[Shape, int], ...]  # shapes, and how many slots of each are needed at least; 0: others would do


class Equivalence(NamedTuple):
    """What jobs agree in that get the same answer, so that one attempt speaks for all of them."""

    wants: Wants  # none: nothing that happens on a node can help
    scheduler: str  # other profiles have other filters
    distinct: Hashable = ""  # whatever else makes the answer another one, such as a node that the job is nominated to
    anywhere: bool = False  # room on any node may be what it lacks, also where none of its pods would fit
    queue: str = ""  # the Queue that the job is in: those of others are ordered, and refused, by other rules


@dataclass(slots=True, eq=False)
class Ticket:
    """A job's place in the queue."""

    key: str
    name: str  # namespace/name, the last tie-break
    priority: int
    equivalence: Equivalence
    since: float  # creation, or the last failure: one big job that never fits must not stay at the head for ever
    first_seen: float
    created: float = 0.0  # of the job, whatever came of its attempts
    state: State = State.ACTIVE
    failures: int = 0
    ready_at: float = 0.0  # end of the back-off
    early_wake_used: bool = False
    number: int = 0  # of its newest heap entry; older entries are void
    unschedulable_since: float = 0.0
    refusal: Refusal | None = None  # the answer to its last attempt, for whoever asks why it is pending
    pods: int = 1
    request: Ints | None = None  # what its next step asks for, as queues count it; None: to be worked out
    preempts_at: int | None = None  # the highest priority of its pods, where something else orders the job
    urgent: bool = False  # before everything else, once: it was half-started when we began
    completing: bool = False  # before others of its priority: a gang that runs lacks it, and holds nodes meanwhile
    yielded: bool = False  # it has let another job go first
    flushed: bool = False  # activated by the periodic flush and by nothing else: a wake-up was missed

    @property
    def queue(self) -> str:
        """The Queue that it is in, if any; whose turn it is among Queues is up to the order."""
        return self.equivalence.queue

    @property
    def preemptor(self) -> Preemptor:
        """Whom it may evict, at most: the search takes the lowest priority of its members, and this is the highest."""
        return Preemptor(self.priority if self.preempts_at is None else self.preempts_at, self.queue)

    @property
    def rank(self) -> float:
        """Lowest first."""
        return float("-inf") if self.urgent else -self.priority - self.completing / 2

    @property
    def place(self) -> tuple[float, float, str]:
        """Its place inside its Queue: priority, then age, then name."""
        return self.rank, self.since, self.name

    def entry(self, first: float, number: int) -> Entry:
        self.number = number
        return (first, self.since, self.name, number, self)


Entry = tuple[float, float, str, int, Ticket]
