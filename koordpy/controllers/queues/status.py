"""The status of a Queue as a pure function of what its pods have, of the tree and of the status before."""

from __future__ import annotations

from koordpy.api.meta import StatusCondition
from koordpy.api.pod import Quantities
from koordpy.api.queue import QueueStatus
from koordpy.controllers.queues.counts import Amounts, Counts
from koordpy.quota.amounts import CPU, MEMORY, quantity
from koordpy.quota.tree import QueueState, Verdict

READY = "Ready"


def status_of(counts: Counts, children: tuple[str, ...], ready: StatusCondition, previous: QueueStatus) -> QueueStatus:
    """What the status should be. Conditions of other controllers stay, in their order."""
    known = tuple(ready if each.type == READY else each for each in previous.conditions)
    return QueueStatus(
        allocated=_quantities(counts.allocated, previous.allocated),
        allocated_non_preemptible=_quantities(counts.fixed, previous.allocated_non_preemptible),
        requested=_quantities(counts.requested, previous.requested),
        child_queues=children,
        conditions=known if ready_in(previous) is not None else (*known, ready),
    )


def ready_condition(verdict: Verdict, now: str, previous: QueueStatus) -> StatusCondition:
    """The condition Ready; `now` becomes its transition time only if its status changes.

    It names no generation: conditions of KAI's definition have none, and a field that the API server drops would make
    every condition look as if it had to be written again.
    """
    status = "True" if verdict.state is QueueState.READY else "False"
    before = ready_in(previous)
    return StatusCondition(
        type=READY,
        status=status,
        reason=verdict.state.value,
        message=verdict.message,
        last_transition_time=before.last_transition_time if before is not None and before.status == status else now,
    )


def ready_in(status: QueueStatus) -> StatusCondition | None:
    return next((condition for condition in status.conditions if condition.type == READY), None)


def _quantities(amounts: Amounts, previous: Quantities) -> Quantities:
    """By resource. What was there before and is used up stays, as 0: a patch that leaves it out would not change it."""
    found: Quantities = {name: _quantity(name, amounts.get(name, 0)) for name in sorted({*amounts, *previous})}
    return found


def _quantity(name: str, amount: int) -> str:
    if name == "cpu":
        return quantity(CPU, amount)
    return quantity(MEMORY, amount) if name == "memory" else str(amount)
