"""A reservation: the nodes of a time to come, kept for one job. And the order in which jobs get one."""

from __future__ import annotations

from dataclasses import dataclass

from koordpy.plan.framework.job import Job
from koordpy.plan.reservations.earliest import Start
from koordpy.scheduler.queue.ticket import Ticket

_UNTOLD_S = 1.0  # that a reservation may still go to an older job: they are tried one after the other


@dataclass(frozen=True, slots=True)
class Reservation:
    """The nodes of a time to come, kept for one job."""

    key: str
    job: Job
    order: tuple[int, float, str]
    start: Start
    made: float  # by the wall clock; 0: an earlier leader promised it

    @property
    def priority(self) -> int:
        return -self.order[0]

    def yields_to(self, ticket: Ticket, now: float) -> bool:
        """Whether another job of the same queue gets the reservation that this one has."""
        if ticket.priority != self.priority:
            return ticket.priority > self.priority
        return order_of(ticket) < self.order and self.is_untold(now)

    def is_untold(self, now: float) -> bool:
        """Whether it is so new that nobody counts on it yet."""
        return now < self.made + _UNTOLD_S


def order_of(ticket: Ticket) -> tuple[int, float, str]:
    """By priority, then submission."""
    return -ticket.priority, ticket.created, ticket.name
