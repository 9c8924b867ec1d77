"""The condition Scheduled of a PodGroup: whether the gang has started, and else why not, in the members' own words.

The scheduler tells each member why it waits. The condition repeats what the oldest of them was told: events expire
after an hour, and whoever looks at the PodGroup of a job that has waited all night still finds the reason. It is a pure
function of the members, so it is true after a restart of either process.
"""

from __future__ import annotations

from collections.abc import Sequence

from koordpy.api.keys import POD_GROUP
from koordpy.api.meta import StatusCondition
from koordpy.api.podgroup import PodGroupStatus
from koordpy.controllers.podgroup.members import Member

SCHEDULED = "Scheduled"
_HAVE_NODES = ("Scheduled", "Running", "Finished", "Failed")  # phases
_LONGEST_MESSAGE = 32768  # the API conventions allow no more


def with_condition(
    status: PodGroupStatus, members: Sequence[Member], minimum: int, now: str, *, leaving: int = 0
) -> tuple[StatusCondition, ...]:
    """The conditions that a status should have; those of other controllers stay, in their order.

    `members` are those that count, beside `leaving` ones that terminate. `now` becomes the transition time only if the
    condition's status changes. There is no observedGeneration: without a status subresource our own write raises the
    generation, and would have to follow.
    """
    before = next((each for each in status.conditions if each.type == SCHEDULED), None)
    is_true, reason, message = _verdict(status.phase, members, minimum, leaving)
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


def _verdict(phase: str, members: Sequence[Member], minimum: int, leaving: int) -> tuple[bool, str, str]:
    if phase in _HAVE_NODES:
        return True, "Scheduled", "as many members as it needs have a node"
    if not members:
        return _nobody(leaving)
    waiting = sorted((each for each in members if each.bound_at is None), key=lambda each: (each.created, each.name))
    reason, message = next((each.refusal for each in waiting if each.refusal[1]), ("", ""))
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


def _nobody(leaving: int) -> tuple[bool, str, str]:
    if leaving:
        pods = "1 pod is" if leaving == 1 else f"{leaving} pods are"
        return False, "Terminating", f"its {pods} terminating; those that are made again start together"
    return False, "NoPods", f"no pod has its name in the label {POD_GROUP} and a schedulerName of koordpy"
