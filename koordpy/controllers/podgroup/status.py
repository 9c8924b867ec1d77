"""The status of a PodGroup as a pure function of its members and of the status before. It reads no clock.

The rules follow Koordinator's controller where that makes sense, and differ from it in these points:

- The phase is derived from the present members in one step. A status need not pass through the phases in between.
- A terminating pod counts for nothing, whatever its phase: the kubelet ends its containers, and a drained node must not
  make a gang Failed. Pods of other schedulers do not count either, nor do gated pods until their gates are removed.
- One failed pod does not make a gang Failed that has enough others, running, succeeded or (a replacement) pending.
- A gang is Finished when enough members have succeeded and none of the others still has a node. Of an elastic job with
  `minMember: 2` eight more pods may be running after the first two are done, and it is Running until they end.
- Finished and Failed stay when the pods are deleted, until enough new members are there for a gang.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.podgroup.coscheduling import PodGroupStatus
from koordpy.api.podgroup.frontends import COSCHEDULING, FRONT_END_OF_API
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.api.times import instant_of_seconds, seconds_of_instant
from koordpy.controllers.podgroup.condition import with_condition
from koordpy.controllers.podgroup.members import Member
from koordpy.state.gangs.spec import GangDefaults, resolve

_FINAL = ("Finished", "Failed")
_DEFAULTS = GangDefaults()


class _Tally(NamedTuple):
    """Members that count, by their progress."""

    known: int
    scheduled: int  # have a node, finished or not
    active: int  # have a node and have not finished
    running: int
    succeeded: int
    failed: int

    @property
    def unfinished(self) -> int:
        return self.known - self.succeeded - self.failed

    @property
    def usable(self) -> int:
        """Members that a complete gang can be made of."""
        return self.known - self.failed


def status_of(
    members: Collection[Member],
    obj: GangObject | None,
    previous: PodGroupStatus,
    now: str,
    *,
    slips: Collection[str] = (),
) -> PodGroupStatus:
    """What the status should be. `members` are all pods of the gang but those of other schedulers.

    `slips` are the schedulerNames of further pods, one each, that are nearly ours.

    `obj` is the one that configures the gang. If both API groups have a PodGroup of this name, both statuses are
    computed from the same one. `previous` is the status in the API.
    """
    made = obj.created if obj is not None else None
    counted = [member for member in members if not member.terminating and not member.belongs_to_predecessor(made)]
    minimum = _minimum([member for member in members if not member.terminating] or members, obj)
    status = _counts(counted, minimum, previous)
    leaving = sum(member.terminating for member in members)
    conditions = with_condition(status, counted, minimum, now, leaving=leaving, slips=slips, named_by=_named_by(obj))
    return msgspec.structs.replace(status, conditions=conditions)


def _named_by(obj: GangObject | None) -> str:
    return (FRONT_END_OF_API[obj.api_version] if obj is not None else COSCHEDULING).named_by


def _counts(counted: list[Member], minimum: int, previous: PodGroupStatus) -> PodGroupStatus:
    tally = _tally(counted)
    derived = PodGroupStatus(
        phase=_phase(tally, minimum),
        occupied_by=_occupied_by(counted) or previous.occupied_by,
        scheduled=tally.scheduled,
        running=tally.running,
        succeeded=tally.succeeded,
        failed=tally.failed,
        schedule_start_time=_start_time(counted, previous.schedule_start_time),
        conditions=previous.conditions,
    )
    if _stays_final(previous, derived, tally, minimum):
        return msgspec.structs.replace(previous, running=tally.running)
    return derived


def _tally(counted: list[Member]) -> _Tally:
    known = [member for member in counted if not member.gated]
    phases = [member.phase for member in known]
    bound = [member for member in known if member.bound_at is not None]
    return _Tally(
        known=len(known),
        scheduled=len(bound),
        active=sum(not member.finished for member in bound),
        running=phases.count("Running"),
        succeeded=phases.count("Succeeded"),
        failed=phases.count("Failed"),
    )


def _minimum(members: Collection[Member], obj: GangObject | None) -> int:
    """The gang's minimum, as the scheduler resolves it; 0 without any.

    Of the living members with the annotation the oldest counts; once all have finished, the minimum is what it was.
    Only that one is passed on, as a gang may have thousands.
    """
    alive = [member for member in members if not member.finished] or members
    annotated = [member for member in alive if member.declaration.minimum is not None]
    oldest = [min(annotated, key=_age).declaration] if annotated else []
    return resolve(oldest, obj, _DEFAULTS).minimum or 0


def _age(member: Member) -> tuple[str, str]:
    return member.created, member.name


def _phase(tally: _Tally, minimum: int) -> str:
    needed = max(minimum, 1)  # with a minimum of 0 one member is a gang
    if tally.succeeded >= needed and not tally.active:
        return "Finished"
    if tally.running + tally.succeeded >= needed:
        return "Running"
    if tally.failed and tally.failed + tally.running + tally.succeeded >= needed > tally.usable:
        return "Failed"
    if tally.active + tally.succeeded >= needed:
        return "Scheduled"
    if tally.scheduled:  # also with fewer members than needed, as some were deleted
        return "Scheduling"
    return "PreScheduling" if minimum and tally.known >= minimum else "Pending"


def _stays_final(previous: PodGroupStatus, derived: PodGroupStatus, tally: _Tally, minimum: int) -> bool:
    """Whether a gang that was Finished or Failed stays so.

    A surplus pod that never got a node, left over while the others are deleted, does not make a finished gang start
    again. A member on a node does, and so do enough new ones.
    """
    if previous.phase not in _FINAL:
        return False
    if derived.phase in _FINAL:
        return derived.succeeded + derived.failed < previous.succeeded + previous.failed
    needed = max(minimum, 1)
    if previous.phase == "Finished":
        return not tally.active and tally.unfinished < needed
    return tally.usable < needed


def _occupied_by(counted: list[Member]) -> str:
    owned = [member for member in counted if member.owners]
    return min(owned, key=_age).owners if owned else ""


def _start_time(counted: list[Member], previous: str | None) -> str | None:
    """When the first member got its node. Late events may move the previous time earlier, but never later."""
    times = [member.bound_at for member in counted if member.bound_at is not None]
    if not times:
        return previous
    first = min(times)
    try:
        return previous if previous and seconds_of_instant(previous) <= first else instant_of_seconds(first)
    except MalformedValue:
        return instant_of_seconds(first)
