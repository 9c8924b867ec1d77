"""A job's place in the queue: where it is, how it fared so far, and whom it is like."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from koordpy.state.shapes import Shape


class State(Enum):
    """Where a ticket is; the values are the labels of `scheduler_pending_pods`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    IN_FLIGHT = "in_flight"  # being planned
    GONE = "gone"


Wants = tuple[tuple[Shape, int], ...]  # shapes, and how many slots of each are needed at least


class Equivalence(NamedTuple):
    """What jobs agree in that get the same answer, so that one can be the scout for all of them."""

    wants: Wants  # none: nothing that happens on a node can cure it
    scheduler: str  # other profiles have other filters
    apart: Hashable = ""  # whatever else makes the answer another one, such as a node promised to the job
    anywhere: bool = False  # room on any node may be what it lacks, also where none of its pods would fit


@dataclass(slots=True, eq=False)
class Ticket:
    """A job's place in the queue."""

    key: str
    name: str  # namespace/name, the last tie-break
    priority: int
    equivalence: Equivalence
    since: float  # creation, or the last failure: one big job that never fits must not stay at the head for ever
    first_seen: float
    state: State = State.ACTIVE
    failures: int = 0
    ready_at: float = 0.0  # end of the back-off
    early_wake_used: bool = False
    number: int = 0  # of its newest heap entry; older entries are void
    unschedulable_since: float = 0.0
    refused_by: frozenset[str] = frozenset()  # names of filters
    pods: int = 1
    urgent: bool = False  # before everything else, once: it was half-started when we began
    yielded: bool = False  # it has let another job go first
    flushed: bool = False  # woken by the periodic flush and by nothing else: a wake-up was missed

    def entry(self, first: float, number: int) -> Entry:
        self.number = number
        return (first, self.since, self.name, number, self)

    @property
    def rank(self) -> float:
        """Lowest first."""
        return float("-inf") if self.urgent else -self.priority


Entry = tuple[float, float, str, int, Ticket]
