"""Permit: gangs that accumulate hold what they have got so far, and must stand in nobody's way, nor in their own.

Who may take room, who has to let go and whose time is up is decided here, by the rules in `plan/placement/waiting.py`;
nobody who waits is ever bound from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import structlog

from koordpy import metrics
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.waiting import Waiter, could_complete, first_in_line, stands_in_its_own_way, still_fits
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.ingest.intake import wake
from koordpy.scheduler.jobs import Jobs, key_of
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.scheduler.report.reporter import Reporter
from koordpy.scheduler.settings import GangSettings
from koordpy.scheduler.waitingroom import Stay, WaitingRoom
from koordpy.state.events import EventKind
from koordpy.state.gangs.gang import Gang

log = structlog.get_logger()


class Permit:
    """The waiting room and its rules."""

    def __init__(
        self,
        planning: Planning,
        queue: JobQueue,
        jobs: Jobs,
        *,
        reporter: Reporter,
        settings: GangSettings,
        clock: Callable[[], float],
    ) -> None:
        self._planning, self._queue, self._jobs = planning, queue, jobs
        self._cluster, self._profiles = planning.cluster, planning.profiles
        self._reporter, self._settings = reporter, settings
        self.room = WaitingRoom(planning.cluster, clock)

    # --- before an attempt ---

    def release_stale(self, ticket: Ticket) -> None:
        """Whatever has changed since they began to wait, nobody waits in vain."""
        self._recheck(ticket.key)
        self._tidy_room()
        self._rearrange(ticket)

    def _recheck(self, key: str) -> None:
        """Nodes go, shrink and get tainted while members wait for the rest: those who fit no more lose their place."""
        for pod in self.room.members(key):
            if not still_fits(pod, self._cluster, self._profiles[pod.scheduler]):
                wake(self._cluster, self._queue, self._cluster.forget(pod.uid))

    def _rearrange(self, ticket: Ticket) -> None:
        """A gang that waits can stand in its own way by what it holds: then all of it is placed anew."""
        if self.room.get(ticket.key) is None:
            return
        own = next((waiter for waiter in self.waiters("") if waiter.key == ticket.key), None)
        job = self._jobs.job_of(ticket) if own is not None else None
        if own is None or job is None or is_whole(self._planning.plan(job)):
            return
        if stands_in_its_own_way(own, self._cluster, self._planning.plan):
            self.unreserve(ticket.key)

    def _tidy_room(self) -> None:
        """Groups change while members wait: one that there is no more holds nothing, and nobody waits who is free."""
        gangs = self._cluster.gangs
        for stay in self.room:
            members = self.room.members(stay.key)
            belong = all(pod.gang in stay.group and not gangs.is_free(pod) for pod in members)
            if not belong or not gangs.own(stay.group):
                self.unreserve(stay.key)
                self._jobs.refresh(stay.group)

    # --- after it ---

    def may_take(self, job: Job, answer: Plan) -> bool:
        """Not if the most complete of those that wait could not be completed any more."""
        first = first_in_line(self.waiters(job.key), self.priority(job))
        return first is None or could_complete(first, self._cluster, self._profiles, beside=answer.placements)

    def spoils_another(self, job: Job, ticket: Ticket, answer: Plan) -> bool:
        """A gang that waits, and could be completed at this very moment, goes before one that would prevent it."""
        if not job.demands or not len(self.room) or ticket.yielded:
            return False
        first = first_in_line(self.waiters(job.key), self.priority(job))
        if first is None or not could_complete(first, self._cluster, self._profiles):
            return False
        if could_complete(first, self._cluster, self._profiles, beside=answer.placements):
            return False
        return self._queue.yield_to(ticket, first.key)

    def gap_is_too_wide(self, job: Job, answer: Plan) -> bool:
        """A NonStrict gang misses more of its minimum than the configuration allows."""
        placed = {placement.uid for placement in answer.placements}
        for demand in job.demands:
            missing = demand.needed - sum(member.uid in placed for member in demand.members)
            if missing * 100 > self._settings.max_gap_percent * demand.minimum:
                return True
        return False

    # --- who waits ---

    def priority(self, job: Job) -> int:
        """Of a job: also those of its members count that wait here already, as they do in the queue."""
        return max((member.priority for member in (*job.members, *self.room.members(job.key))), default=0)

    def waiters(self, but_not: str) -> Iterator[Waiter]:
        """Every group in the room but one."""
        for stay in self.room:
            members = self.room.members(stay.key)
            if stay.key == but_not or not members:
                continue
            gangs = [gang for each in stay.group if (gang := self._cluster.gangs.get(each)) is not None]
            minimum = sum(gang.minimum for gang in gangs)
            have = sum(min(gang.counted, gang.minimum) for gang in gangs)
            priority = max(*(member.priority for member in members), *(gang.priority for gang in gangs))
            yield Waiter(stay.key, stay.group, priority, have / max(minimum, 1), tuple(members))

    def rivals(self, job: Job) -> list[Waiter]:
        """Those of its own priority that wait as well, and let go if it is complete then.

        They do so for the first in line; and for the others while the first could not be completed whoever let go.
        """
        everybody = list(self.waiters(""))
        own = next((waiter for waiter in everybody if waiter.key == job.key), None)
        first = first_in_line(everybody, own.priority) if own is not None else None
        if own is None or first is None:
            return []
        if first is not own:
            others = [waiter for waiter in everybody if waiter is not first and waiter.priority <= first.priority]
            if could_complete(first, self._cluster, self._profiles, without=others):
                return []
        return [waiter for waiter in everybody if waiter is not own and waiter.priority == own.priority]

    def unreserve(self, key: str) -> None:
        """Unreserve: nothing of a job that waited stays assumed."""
        for pod in self.room.leave(key):
            wake(self._cluster, self._queue, self._cluster.forget(pod.uid))
            self._jobs.pod_changed(pod)  # it may have left its gang
            group = self._cluster.gangs.group_of(pod.gang) if pod.gang else ()
            if group and key_of(group) != key:
                self._jobs.refresh(group)

    def time_out(self, stay: Stay) -> None:
        """The time of a group is up: what it held is free, and it is left alone, or tried again after a back-off."""
        metrics.GANG_TIMEOUTS.inc()
        gangs = [gang for each in stay.group if (gang := self._cluster.gangs.get(each)) is not None]
        have = ", ".join(f"gang {gang.id}: {gang.counted} of {gang.minimum} members" for gang in gangs)
        self.unreserve(stay.key)
        text = f"timed out after {min((gang.spec.wait_s for gang in gangs), default=0):g}s; {have} fit"
        for gang in gangs:
            ending = "" if self._settings.on_timeout == "Retry" else "; not scheduled again until recreated"
            self._reporter.gang_event(gang, "Warning", "GangTimedOut", text + ending)
            if self._settings.on_timeout == "Abandon":
                self._abandon(gang, text)
        log.info("gang_timed_out", gang=stay.key, on_timeout=self._settings.on_timeout)
        self._jobs.sync()
        self._jobs.refresh(stay.group)
        self._queue.back_off(stay.key)

    def _abandon(self, gang: Gang, text: str) -> None:
        advice = "remove the annotation gang.scheduling.koordinator.sh/timeout or recreate the pods to try again"
        for pod in list(gang.pending.values()):
            self._cluster.gangs.abandon(pod)
            self._reporter.abandon(pod)
            self._reporter.refused(pod, Refusal(f"{text}; {advice}", EventKind.NONE, pod.uid))
