"""The condition Scheduled of a PodGroup: whether the gang has started, and else why not, in the members' own words.

The scheduler tells each member why it waits. The condition repeats what the oldest of them was told: events expire
after an hour, and whoever looks at the PodGroup of a job that has waited all night still finds the reason. It is a pure
function of the members, so it is true after a restart of either process.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from koordpy.api.meta import StatusCondition
from koordpy.api.podgroup.coscheduling import PodGroupStatus
from koordpy.controllers.podgroup.members import Member

SCHEDULED = "Scheduled"
NO_PODS, TERMINATING = "NoPods", "Terminating"  # reasons while nobody is there who could be scheduled
_HAVE_NODES = ("Scheduled", "Running", "Finished", "Failed")  # phases
_LONGEST_MESSAGE = 32768  # the API conventions allow no more


def with_condition(
    status: PodGroupStatus,
    members: Sequence[Member],
    minimum: int,
    now: str,
    *,
    leaving: int = 0,
    slips: Collection[str] = (),
    named_by: str,
) -> tuple[StatusCondition, ...]:
    """The conditions that a status should have; those of other controllers stay, in their order.

    `members` are those that count, beside `leaving` ones that terminate and those with `slips` in their schedulerName;
    pods name their gang in `named_by`. `now` becomes the transition time only if the condition's status changes.
    There is no observedGeneration: without a status subresource our own write raises the generation.
    """
    before = next((each for each in status.conditions if each.type == SCHEDULED), None)
    is_true, reason, message = _verdict(status.phase, members, minimum, _nobody(leaving, slips, named_by))
    value = "True" if is_true else "False"
    condition = StatusCondition(
        type=SCHEDULED,
        status=value,
        reason=reason,
        message=message[:_LONGEST_MESSAGE],
        last_transition_time=before.last_transition_time if before is not None and before.status == value else now,
    )
    if before is None:
        return (*status.conditions, condition)
    return tuple(condition if each.type == SCHEDULED else each for each in status.conditions)


def nobody_was_seen(status: PodGroupStatus) -> bool:
    """Whether no controller, this one or another, has counted a member so far."""
    return all(each.reason == NO_PODS for each in status.conditions if each.type == SCHEDULED) and (
        status.phase in ("", "Pending")
    )


def _verdict(
    phase: str, members: Sequence[Member], minimum: int, nobody: tuple[bool, str, str]
) -> tuple[bool, str, str]:
    """`nobody` is what is said where there are no members."""
    waiting = sorted((each for each in members if each.bound_at is None), key=lambda each: (each.created, each.name))
    reason, message = next((each.refusal for each in waiting if each.refusal[1]), ("", ""))
    # A gang that has failed stays so until there are enough new members: those that are there wait meanwhile.
    if phase in _HAVE_NODES and not (phase == "Failed" and message):
        return True, "Scheduled", "as many members as it needs have a node"
    if not members:
        return nobody
    if any(each.timed_out for each in waiting):
        return False, "TimedOut", message
    if phase == "Scheduling":
        have = sum(each.bound_at is not None and each.phase != "Failed" for each in members)
        return False, "BelowMinimum", f"{have} of {minimum} members have a node" + (f"; {message}" if message else "")
    if phase == "Pending":
        gated = sum(each.gated for each in members)
        there = f"{len(members) - gated} of {minimum} members" + (f" ({gated} gated)" if gated else "")
        return False, "SchedulingGated" if gated else "Incomplete", message or there
    return False, reason or "Waiting", message


def _nobody(leaving: int, slips: Collection[str], named_by: str) -> tuple[bool, str, str]:
    if leaving:
        pods = "1 pod is" if leaving == 1 else f"{leaving} pods are"
        return False, TERMINATING, f"its {pods} terminating; those that are made again start together"
    if slips:
        pods = "1 pod asks" if len(slips) == 1 else f"{len(slips)} pods ask"
        names = ", ".join(sorted(set(slips)))
        return False, NO_PODS, f"{pods} for the scheduler {names}, which is none of koordpy's; is the name misspelt?"
    return False, NO_PODS, f"no pod has its name in {named_by} and a schedulerName of koordpy"
