"""Permit: gangs that accumulate hold what they have got so far, and must block nobody, nor themselves.

Who may take room, who has to yield and whose time is up is decided here, by the rules in `plan/placement/waiting.py`.
Nothing is ever bound from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import structlog

from koordpy import metrics
from koordpy.api.podgroup.frontends import names_of
from koordpy.api.times import instant_of_seconds
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gang_rules import amount_of
from koordpy.plan.placement.waiting import Waiter, blocks_itself, could_complete, first_in_line, still_fits
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.jobs import Jobs, key_of
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.scheduler.report.reporter import Reporter
from koordpy.scheduler.settings import GangSettings
from koordpy.scheduler.waitingroom import Stay, WaitingRoom
from koordpy.state.events import EventKind
from koordpy.state.eviction import Preemptor
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.nodes.resources import shown
from koordpy.state.pods import PodRecord

# What can make room for a group that waits, on whatever node.
_ROOM = (
    EventKind.NODE_ADDED
    | EventKind.NODE_GREW
    | EventKind.NODE_RELABELLED
    | EventKind.NODE_TAINTS
    | EventKind.ROOM_FREED
)

log = structlog.get_logger()


class Permit:
    """The waiting room and its rules."""

    def __init__(
        self,
        planning: Planning,
        queue: JobQueue,
        jobs: Jobs,
        room: WaitingRoom,
        *,
        reporter: Reporter,
        settings: GangSettings,
    ) -> None:
        self._planning, self._queue, self._jobs, self.room = planning, queue, jobs, room
        self._cluster, self._profiles = planning.cluster, planning.profiles
        self._reporter, self._settings = reporter, settings
        self._denied: set[str] = set()  # keys of jobs that keep nothing for the sake of a waiting group

    # --- before an attempt ---

    def release_stale(self, ticket: Ticket) -> None:
        """Whatever has changed since members began to wait, none waits in vain."""
        over = self.room.prune()  # also where nobody waits: a stay that is over must not be taken up again
        if len(self.room):
            self._release_unfit(ticket.key)
            self._release_strangers()
            self._release_blocked(ticket)
            over |= self.room.prune()
        if over:
            self._activate_denied()

    def _release_unfit(self, key: str) -> None:
        """Nodes go, shrink and get tainted while members wait for the rest: those that fit no more lose their place."""
        for pod in self.room.members(key):
            if not still_fits(pod, self._cluster, self._profiles[pod.scheduler]):
                self._cluster.forget(pod.uid)

    def _release_blocked(self, ticket: Ticket) -> None:
        """A gang that waits can block itself by what it holds: then all of it is placed anew."""
        own = next((waiter for waiter in self.waiters("") if waiter.key == ticket.key), None)
        job = self._jobs.job_of(ticket) if own is not None else None
        if own is None or job is None or is_whole(self._planning.plan(job)):
            return
        if blocks_itself(own, self._cluster, self._planning.plan):
            self.unreserve(ticket.key)

    def _release_strangers(self) -> None:
        """Groups change while members wait: none waits with a group that is not its own any more, and no free pod."""
        gangs = self._cluster.gangs
        for stay in self.room:
            members = self.room.members(stay.key)
            if any(gangs.group_of(pod.gang) != stay.group or gangs.is_free(pod) for pod in members):
                self.unreserve(stay.key)
                self._jobs.refresh_group(stay.group)

    # --- after it ---

    def may_take(self, job: Job, answer: Plan) -> bool:
        """Not if the most complete of those that wait could not be completed any more."""
        first = first_in_line(self.waiters(job.key), self.preemptor(job), self._cluster)
        if first is None:
            return True
        return could_complete(first, self._cluster, self._profiles, beside=answer.placements, of=job.by_uid)

    def deny(self, job: Job, refusal: Refusal) -> Refusal:
        """A job may keep nothing for the sake of a waiting group: what helps that group, or ends its wait, helps it."""
        self._denied.add(job.key)
        return replace(refusal, wake_on=refusal.wake_on | _ROOM)

    def who_goes_first(self, job: Job, ticket: Ticket, answer: Plan) -> str | None:
        """The key of a gang that waits, could be completed at this very moment, and could not beside this job."""
        if not job.demands or not len(self.room) or ticket.yielded:
            return None
        first = first_in_line(self.waiters(job.key), self.preemptor(job), self._cluster)
        if first is None or not could_complete(first, self._cluster, self._profiles):
            return None
        if could_complete(first, self._cluster, self._profiles, beside=answer.placements, of=job.by_uid):
            return None
        return first.key

    def may_keep(self, job: Job, answer: Plan, when_empty: Refusal | None) -> bool:
        """Whether a NonStrict gang keeps what it got: not one that could never be whole, and not far too little.

        `when_empty` is why the job would not even fit on an empty cluster.
        """
        return when_empty is None and not self._gap_is_too_wide(job, answer)

    def _gap_is_too_wide(self, job: Job, answer: Plan) -> bool:
        """It misses more of its minimum than the configuration allows."""
        placed = {placement.uid for placement in answer.placements}
        for demand in job.demands:
            missing = demand.needed - sum(member.uid in placed for member in demand.members)
            if missing * 100 > self._settings.max_gap_percent * demand.minimum:
                return True
        return False

    # --- who waits ---

    def preemptor(self, job: Job) -> Preemptor:
        """Of a job, as far as waiting groups yield to it: members that wait already count, as they do in the queue."""
        highest = max((each.priority for each in (*job.members, *self.room.members(job.key))), default=0)
        return Preemptor(highest, job.queue)

    def waiters(self, but_not: str) -> Iterator[Waiter]:
        """Every group in the room but one."""
        for stay in self.room:
            members = self.room.members(stay.key)
            if stay.key == but_not or not members:
                continue
            gangs = self._gangs(stay.group)
            minimum = sum(gang.minimum for gang in gangs)
            have = sum(min(gang.counted, gang.minimum) for gang in gangs)
            priority = max([*(member.priority for member in members), *(gang.priority for gang in gangs)])
            yield Waiter(stay.key, stay.group, priority, have / max(minimum, 1), tuple(members))

    def rivals(self, job: Job) -> list[Waiter]:
        """Groups of a job's own rank that wait as well, and yield if it is complete then.

        They yield to the first in line; and to the others while the first could not be completed whoever yielded.
        """
        everybody = list(self.waiters(""))
        own = next((waiter for waiter in everybody if waiter.key == job.key), None)
        first = first_in_line(everybody, own.preemptor, self._cluster) if own is not None else None
        if own is None or first is None:
            return []
        if first is not own:
            others = [each for each in everybody if each is not first and not self._goes_before(each, first)]
            if could_complete(first, self._cluster, self._profiles, without=others):
                return []
        return [each for each in everybody if each is not own and self._are_equal(each, own)]

    def _goes_before(self, one: Waiter, other: Waiter) -> bool:
        return self._cluster.evictions.policy.goes_before(one.preemptor, other.preemptor)

    def _are_equal(self, one: Waiter, other: Waiter) -> bool:
        return not self._goes_before(one, other) and not self._goes_before(other, one)

    def describe(self, waiter: Waiter, resource: str) -> str:
        """`48 nvidia.com/gpu are held by gang team/hold, which waits for 1 more member until 18:40:05Z`."""
        held = sum(amount_of(member.shape, resource, self._cluster) for member in waiter.members if member.shape)
        what, one = f"{shown(resource, held)} {resource}", shown(resource, held) == "1"
        if not held:
            one = len(waiter.members) == 1
            what = "the place of 1 pod" if one else f"the places of {len(waiter.members)} pods"
        missing = sum(max(0, gang.minimum - gang.counted) for gang in self._gangs(waiter.group))
        stay = self.room.get(waiter.key)
        until = f" until {instant_of_seconds(stay.until_wall)}" if stay is not None else ""
        more = f"{missing} more member" if missing == 1 else f"{missing} more members"
        return f"{what} {'is' if one else 'are'} held by gang {names_of(waiter.key)}, which waits for {more}{until}"

    def leave(self, key: str) -> list[PodRecord]:
        """All of a group leave the room, to be bound or to be unreserved: that may be what others were denied for."""
        members = self.room.leave(key)
        if members:
            self._activate_denied()
        return members

    def _activate_denied(self) -> None:
        denied, self._denied = self._denied, set()
        for key in denied:
            self._queue.activate(key)

    def unreserve(self, key: str) -> None:
        """Nothing of a job that waited stays assumed. What it was refused for is not all that it lacks from here on."""
        self._queue.also_wake_on(key, _ROOM)
        for pod in self.leave(key):
            self._cluster.forget(pod.uid)
            self._jobs.pod_changed(pod)  # it may have left its gang
            group = self._cluster.gangs.group_of(pod.gang) if pod.gang else ()
            if group and key_of(group) != key:
                self._jobs.refresh_group(group)

    # --- whose time is up ---

    def time_out(self, stay: Stay) -> None:
        """The time of a group is up: what it held is free, and it is abandoned, or tried again after a back-off."""
        metrics.GANG_TIMEOUTS.inc()
        gangs = self._gangs(stay.group)
        have = ", ".join(f"gang {gang.name}: {gang.counted} of {gang.minimum} members" for gang in gangs)
        self.unreserve(stay.key)
        text = f"timed out after {min((gang.spec.wait_s for gang in gangs), default=0):g}s; {have} fit"
        for gang in gangs:
            ending = "" if self._settings.on_timeout == "Retry" else "; not scheduled again until recreated"
            self._reporter.gang_event(gang, "Warning", "GangTimedOut", text + ending)
            if self._settings.on_timeout == "Abandon":
                self._abandon(gang, text)
        log.info("gang_timed_out", gang=names_of(stay.key), on_timeout=self._settings.on_timeout)
        self._jobs.refresh_group(stay.group)
        self._queue.back_off(stay.key)

    def _abandon(self, gang: Gang, text: str) -> None:
        advice = "remove the annotation gang.scheduling.koordinator.sh/timeout or recreate the pods to try again"
        for pod in list(gang.pending.values()):
            self._cluster.gangs.abandon(pod)
            self._reporter.abandon(pod)
            self._reporter.refused(pod, Refusal(f"{text}; {advice}", EventKind.NONE, pod.uid))

    def _gangs(self, group: GangGroup) -> list[Gang]:
        return [gang for each in group if (gang := self._cluster.gangs.get(each)) is not None]
