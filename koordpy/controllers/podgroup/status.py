"""The status of a PodGroup as a function of its members: no clock, no memory but the status that stands there.

The rules follow Koordinator's controller where that makes sense, and differ from it in these points:

- Phases are derived from what is there now, in one step; a status never has to pass through those before it.
- A pod that is being deleted counts for nothing, whatever its phase: its containers end because they are told to, and
  a drained node must not make a gang Failed. Nor do pods of other schedulers, and gated ones until the gates are gone.
- One failed pod does not make a gang Failed that has enough others, running, succeeded or (a replacement) pending.
- A gang is Finished when enough members have succeeded and none of the others still has a node. Of an elastic job with
  `minMember: 2` eight more pods may be running after the first two are done, and it is Running until they end.
- Finished and Failed stay when the pods are cleaned up, until members come that make a gang again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.podgroup import PodGroup, PodGroupStatus
from koordpy.api.times import instant_of_seconds, seconds_of_instant
from koordpy.controllers.podgroup.members import Member
from koordpy.state.gangs.spec import GangDefaults, resolve

_FINAL = ("Finished", "Failed")
_DEFAULTS = GangDefaults()


class _Tally(NamedTuple):
    """Members that count, by how far they have come."""

    known: int
    scheduled: int  # have a node, ended or not
    active: int  # have a node and have not ended
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


def status_of(members: Collection[Member], pod_group: PodGroup | None, previous: PodGroupStatus) -> PodGroupStatus:
    """What the status should be. `members` are all of the gang but other schedulers', `previous` is what stands there.

    `pod_group` is the one that the scheduler listens to: should both API groups have one of the name, it is the same
    for both of them.
    """
    counted = [member for member in members if not member.leaving]
    tally, minimum = _tally(counted), _minimum(members, pod_group)
    derived = PodGroupStatus(
        phase=_phase(tally, minimum),
        occupied_by=_occupied_by(counted) or previous.occupied_by,
        scheduled=tally.scheduled,
        running=tally.running,
        succeeded=tally.succeeded,
        failed=tally.failed,
        schedule_start_time=_start_time(counted, previous.schedule_start_time),
    )
    if _is_over(previous, derived, tally, minimum):
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


def _minimum(members: Collection[Member], pod_group: PodGroup | None) -> int:
    """The gang's minimum, as the scheduler resolves it; 0 when nobody says one."""
    alive = [member for member in members if not member.finished] or members  # once all have finished, as it was before
    declaring = [member for member in alive if member.declaration.minimum is not None]
    declared = [min(declaring, key=_age).declaration] if declaring else []
    return resolve(declared, pod_group, _DEFAULTS).minimum or 0


def _age(member: Member) -> tuple[str, str]:
    return member.created, member.name


def _phase(tally: _Tally, minimum: int) -> str:
    needed = max(minimum, 1)  # with a minimum of 0 each member stands for itself
    if tally.succeeded >= needed and not tally.active:
        return "Finished"
    if tally.running + tally.succeeded >= needed:
        return "Running"
    if tally.failed and tally.failed + tally.running + tally.succeeded >= needed > tally.usable:
        return "Failed"
    if tally.active + tally.succeeded >= needed:
        return "Scheduled"
    if tally.scheduled:  # also when some have been deleted, and there are fewer members than needed
        return "Scheduling"
    return "PreScheduling" if minimum and tally.known >= minimum else "Pending"


def _is_over(previous: PodGroupStatus, derived: PodGroupStatus, tally: _Tally, minimum: int) -> bool:
    """It was Finished or Failed, and what is left of its pods does not say anything else.

    A surplus pod that never got a node, left behind while the others are cleaned up, does not make a finished gang
    start again; a member on a node does, and so do enough new ones.
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
    """When the first member got its node. What stands there may become earlier, as news arrive late, but not later."""
    times = [member.bound_at for member in counted if member.bound_at is not None]
    if not times:
        return previous
    first = min(times)
    try:
        return previous if previous and seconds_of_instant(previous) <= first else instant_of_seconds(first)
    except MalformedValue:
        return instant_of_seconds(first)
