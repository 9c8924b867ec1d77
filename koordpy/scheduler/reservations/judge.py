"""Whether a job may start although nodes are reserved for another one. It decides, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from koordpy.api.times import instant_of_seconds
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.reservations.earliest import fits_beside
from koordpy.plan.reservations.ends import run_time, run_time_of
from koordpy.plan.reservations.kept import is_kept
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.reservations.backfilled import Backfilled
from koordpy.scheduler.reservations.reservation import Reservation
from koordpy.state.events import EventKind
from koordpy.state.pods import PodRecord

_PLUGINS = frozenset(("Backfill",))


class Judge:
    """Asks a reservation about a job that would start."""

    def __init__(self, planning: Planning, backfilled: Backfilled, wall: Callable[[], float]) -> None:
        self._planning, self._backfilled, self._wall = planning, backfilled, wall

    def judge(self, job: Job, plan: Plan, reserved: Reservation) -> Plan | Refusal:
        """The plan, another one that leaves the reserved job its start, or a refusal."""
        if not any(_requests(job.by_uid[each.uid]) for each in plan.placements):
            return plan
        if self._leaves_start(job, plan, reserved):
            return plan
        elsewhere = self._planning.plan_outside(job, {each.node for each in reserved.start.placements})
        # A gang that has started needs nobody: a plan that places nobody would be whole, and tried without end.
        if is_whole(elsewhere) and elsewhere.placements and self._leaves_start(job, elsewhere, reserved):
            return elsewhere
        return self._refusal(job, reserved)

    def _leaves_start(self, job: Job, plan: Plan, reserved: Reservation) -> bool:
        if self.ends_in_time(job, plan, reserved):
            return True
        placed = [(job.by_uid[each.uid], each.node) for each in plan.placements]
        at, cluster, now = reserved.start.at, self._planning.cluster, self._wall()
        profiles, own = self._planning.profiles, reserved.job.gangs

        def is_gone(pod: PodRecord) -> bool:
            return pod.gang not in own and self._backfilled.end_of(pod, now, at, reserved.made) <= at

        if is_kept(reserved.job, reserved.start, placed, is_gone, cluster=cluster, profiles=profiles):
            return True
        ends, _ = self._backfilled.ends(reserved.job, now, at, reserved.made)
        return fits_beside(reserved.job, at, placed, ends, plan=self._planning.plan, cluster=cluster)

    def ends_in_time(self, job: Job, plan: Plan, reserved: Reservation) -> bool:
        """All that is placed ends before the reserved start, as declared."""
        now = self._wall()
        return all(self._ends_by(job.by_uid[each.uid], reserved.start.at, now) for each in plan.placements)

    def _ends_by(self, pod: PodRecord, at: float, now: float) -> bool:
        """By its declaration; a pod that could not be evicted, should it stay longer, does not count as ending."""
        seconds = run_time(pod, self._planning.cluster)
        return seconds is not None and now + seconds <= at and not pod.is_protected

    def _refusal(self, job: Job, reserved: Reservation) -> Refusal:
        at = instant_of_seconds(reserved.start.at)
        own = run_time_of(job.members, self._planning.cluster)
        why = "it declares no run time" if own is None else "it would not end before"
        text = f"nodes are reserved for {reserved.job.name} from {at} on, and {why}"
        wakes = EventKind.NODE_ADDED | EventKind.ROOM_FREED
        return Refusal(f"{text}.", wakes, job.members[0].uid, plugins=_PLUGINS, kind="Reservation")


def _requests(pod: PodRecord) -> bool:
    """Whether it asks for anything but its place among the pods of a node."""
    return pod.shape is not None and any(amount > 0 for name, amount in pod.shape.traits.needed if name != "pods")
