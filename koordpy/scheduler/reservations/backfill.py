"""Reservations and backfill: the first job that waits for nodes is promised a start, and others fill the gap before it.

Of the jobs that declare a run time, are complete and lack nodes, the first in the order of priority, then submission
has the reservation: the earliest time at which it fits when everything that runs ends as declared. Whoever comes behind
starts if it ends before that time, or if the reserved job still fits beside it then. This is the EASY rule of batch
schedulers. Nothing is polled: the reserved time is one timer, and whoever is kept waiting is woken when the reservation
changes.

A promise is kept against everybody but more important jobs, older ones among them: they may have waited for something
else when it was made. When a reservation is free again all that want one are tried in order, and the first has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from koordpy.api.errors import MalformedValue
from koordpy.api.keys import RESERVED_START
from koordpy.api.podgroup.frontends import name_of
from koordpy.api.times import instant_of_seconds, seconds_of_instant
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.absence import take_off
from koordpy.plan.preemption.cost import Cost
from koordpy.plan.preemption.eligibility import Preemption
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.reservations.earliest import Start, earliest_start
from koordpy.plan.reservations.ends import NEVER, End, run_time, run_time_of
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.scheduler.report.reporter import Reporter
from koordpy.scheduler.reservations.backfilled import Backfilled
from koordpy.scheduler.reservations.calls import Calls
from koordpy.scheduler.reservations.judge import Judge
from koordpy.scheduler.reservations.reservation import Reservation, order_of
from koordpy.state.events import EventKind
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

_MOST_NAMES = 3  # jobs without a declared end that a message names

log = structlog.get_logger()


class Backfill:
    """Keeps the reservation, and asks it about every job that would start. It is a timer."""

    def __init__(
        self,
        planning: Planning,
        queue: JobQueue,
        reporter: Reporter,
        *,
        wall: Callable[[], float],
        enabled: bool,
    ) -> None:
        self._planning, self._cluster, self._queue, self._reporter = planning, planning.cluster, queue, reporter
        self._wall, self._enabled = wall, enabled
        self.reservation: Reservation | None = None
        self._set_aside: Reservation | None = None  # in a sandbox: of a job that is supposed to start
        self.backfilled = Backfilled(planning.cluster)
        self._judge = Judge(planning, self.backfilled, wall)
        self._denied: set[str] = set()  # jobs that wait for the reserved one
        self._without: set[str] = set()  # jobs that would have a reservation, if there were more than one
        self._owed = ""  # a job whose reserved time has come, and whose start is unknown since: others overran theirs
        self._calls = Calls(wall)
        self._there: set[str] = set()  # pods on the reserved nodes: the start may be earlier when one of them is gone

    @property
    def is_open(self) -> bool:
        """Nobody is promised anything: pods that are alike may be planned together."""
        return self.reservation is None

    # --- a job that would start ---

    def admit(self, job: Job, ticket: Ticket, plan: Plan) -> Plan | Refusal:
        """The plan, another one that leaves the reserved job its start, or a refusal."""
        self.backfilled.forget(job.by_uid)  # of an earlier attempt
        answer, reserved = self.judge(job, ticket.key, ticket.priority, plan), self.reservation
        if reserved is None or reserved.key == ticket.key:
            return answer
        if ticket.priority > reserved.priority:
            self._queue.activate(reserved.key)  # its start may be a later one now, and it is told so
        elif isinstance(answer, Refusal):
            self._denied.add(ticket.key)
        elif self._judge.ends_in_time(job, answer, reserved):
            self.backfilled.let_in((job.by_uid[each.uid] for each in answer.placements), self._wall())
        return answer

    def judge(self, job: Job, key: str, priority: int, plan: Plan) -> Plan | Refusal:
        """The same, without any consequence."""
        reserved = self.reservation
        if reserved is None or reserved.key == key or priority > reserved.priority:
            return plan
        return self._judge.judge(job, plan, reserved)

    # --- questions, on a copy of all this ---

    def bring_forward(self) -> None:
        """Something was changed: the reserved start is earlier, if it can be by now."""
        reserved, now = self.reservation, self._wall()
        if reserved is None:
            return
        start = self._earliest(reserved.job, self._ends(reserved.job, now, reserved.made)[0], now)
        if start is not None and start.at < reserved.start.at:
            self.reservation = replace(reserved, start=start)

    @contextmanager
    def supposing(self) -> Iterator[None]:
        """For as long as something is only supposed to happen."""
        before = self.reservation, self._set_aside
        try:
            yield
        finally:
            self.reservation, self._set_aside = before

    @contextmanager
    def brought_forward(self) -> Iterator[None]:
        """The reserved start is as early as it can be, for as long as something is only supposed to be changed."""
        with self.supposing():
            self.bring_forward()
            yield

    def suppose_started(self, key: str) -> None:
        """A job starts: if nodes are reserved for it, they are kept for nobody now."""
        if self.reservation is not None and self.reservation.key == key:
            self.reservation, self._set_aside = None, self.reservation

    def suppose_waits(self, job: Job) -> None:
        """A job goes on waiting: it gets the reservation that is free now.

        From when on is not worked out. Whoever comes behind is asked to leave the nodes alone that were reserved.
        """
        if self._set_aside is not None and run_time_of(job.members, self._cluster) is not None:
            self.reservation, self._set_aside = self._set_aside, None

    # --- a job that does not fit now ---

    def consider(self, job: Job, ticket: Ticket, refusal: Refusal) -> Refusal:
        """A job waits for nodes: it may be the one that has them reserved. The refusal says so."""
        if not self._enabled or not job.members or not refusal.wake_on:
            return refusal
        current = self.reservation
        if run_time_of(job.members, self._cluster) is None:
            return refusal
        now = self._wall()
        if current is not None and current.key != ticket.key and not self._goes_before(ticket, current, now):
            self._without.add(ticket.key)
            self._take_back(job)
            return refusal
        has_it = current is not None and current.key == ticket.key
        promised = self._promised_since(job, ticket.key)
        ends, unknown = self._ends(job, now, promised)
        start = self._earliest(job, ends, now)
        late = [pod for pod in unknown if self._calls.is_late(pod.uid)] if has_it else []
        if current is not None and late and self._is_overrun(job, current, start, [*_now(late, now), *ends], now):
            self._calls.wait_for(late)
            return _with_start(refusal, current.start.at, self._unknown_ends(unknown))
        if start is None:
            owed = ticket.key if has_it and self._calls.has_come else self._owed
            self.release(ticket.key)
            self._owed = owed
            return _without_start(refusal, self._unknown_ends(unknown))
        start = self._not_later(job, start, current, ticket)
        made = min(promised, now)
        self._reserve(Reservation(ticket.key, job, order_of(ticket), start, made))
        self._calls.worked_out(ends)
        return _with_start(refusal, start.at)

    def _earliest(self, job: Job, ends: list[End], now: float) -> Start | None:
        planning = self._planning
        return earliest_start(job, ends, now, plan=planning.plan, cluster=self._cluster, profiles=planning.profiles)

    def _is_overrun(self, job: Job, current: Reservation, start: Start | None, ends: list[End], now: float) -> bool:
        """The job would start in time, if pods end now that should have ended a moment ago."""
        due = max(now, current.start.at)
        if start is not None and start.at <= due:
            return False
        soon = self._earliest(job, ends, now)
        return soon is not None and soon.at <= due

    def _goes_before(self, ticket: Ticket, reserved: Reservation, now: float) -> bool:
        """Whether a job gets the reservation that another one has; between queues their turns decide."""
        other = self._queue.get(reserved.key)
        if other is None or other.queue == ticket.queue:
            return reserved.yields_to(ticket, now)
        may = ticket.priority > reserved.priority or reserved.is_untold(now)
        return may and self._queue.is_before(ticket, other)

    def _ends(self, job: Job, now: float, promised: float) -> tuple[list[End], list[PodRecord]]:
        start = self.reservation.start.at if self.reservation is not None else now
        return self.backfilled.ends(job, now, start, promised)

    def _promised_since(self, job: Job, key: str) -> float:
        """Since when a job counts on what others declare: from then on they were let in before it, and not before."""
        if self.reservation is not None and self.reservation.key == key:
            return self.reservation.made
        return 0.0 if self._owed == key or any(self._annotations(job)) else NEVER

    def _unknown_ends(self, pods: Iterable[PodRecord]) -> str:
        """`the end of team/x is not declared`."""
        undeclared: dict[str, None] = {}
        overdue: dict[str, None] = {}
        for pod in pods:
            name = name_of(pod.gang) if pod.gang else pod.key
            (undeclared if run_time(pod, self._cluster) is None else overdue)[name] = None
        said = [f"the end of {_some(undeclared)} is not declared"] if undeclared else []
        said += [f"{_some(overdue)} should have ended by now"] if overdue else []
        return "; ".join(said)

    def _not_later(self, job: Job, start: Start, current: Reservation | None, ticket: Ticket) -> Start:
        """After a restart what was promised before is the upper bound, as long as it is to come.

        Once its time has come, and what it lacks is about to leave, each attempt would find another start: the present.
        """
        if current is not None and current.key == ticket.key:
            now = self._wall()
            is_due = current.start.at <= now and (start.at <= now or self._is_evicting_for(job))
            return replace(start, at=current.start.at) if is_due else start
        said = self._promised(job)
        return replace(start, at=said) if said is not None and self._wall() < said < start.at else start

    def _promised(self, job: Job) -> float | None:
        """The annotation of an earlier term."""
        for text in self._annotations(job):
            try:
                return seconds_of_instant(text)
            except MalformedValue:
                return None
        return None

    def _annotations(self, job: Job) -> Iterator[str]:
        for gang_id in sorted(job.gangs):
            gang = self._cluster.gangs.get(gang_id)
            text = dict(gang.object.annotations).get(RESERVED_START) if gang is not None and gang.object else None
            if text:
                yield text
        yield from (member.reserved_start for member in job.members if member.reserved_start)

    def _take_back(self, job: Job) -> None:
        """Somebody who led before us promised it a start that it does not need, or does not have any more."""
        if any(self._annotations(job)):
            self._reporter.reserved(self._gangs(job), job.members, None)

    def _reserve(self, reservation: Reservation) -> None:
        before, self.reservation = self.reservation, reservation
        nodes = {each.node for each in reservation.start.placements}
        self._there = {pod.uid for node in nodes for pod in self._cluster.pods_on(node)}
        self._without.discard(reservation.key)
        if before is not None and before.key != reservation.key:
            self._forget(before)
            self._without.add(before.key)
        if before is not None and before.key == reservation.key and before.start.at == reservation.start.at:
            return
        self._calls.reserved(reservation.start.at)
        at = instant_of_seconds(reservation.start.at)
        log.info("reserved", job=reservation.job.name, start=at)
        self._reporter.reserved(self._gangs(reservation.job), reservation.job.members, at)
        self._activate_denied()

    def started(self, key: str, job: Job | None) -> None:
        """A job starts: its reservation, if it has one, is used."""
        had_one = self.reservation is not None and self.reservation.key == key
        self.release(key)
        if job is not None and not had_one:
            self._take_back(job)

    def release(self, key: str) -> None:
        """The job has started, is gone, or can use its reservation no more."""
        if self._owed == key:
            self._owed = ""
        if self.reservation is not None and self.reservation.key == key:
            before, self.reservation = self.reservation, None
            self._calls.clear()
            self._forget(before)
            waiting = self._denied | self._without
            self._denied.clear()
            self._without.clear()
            for other in waiting:
                self._queue.start_over(other)

    def _forget(self, reservation: Reservation) -> None:
        members = [pod for pod in reservation.job.members if pod.uid in self._cluster.pods]
        self._reporter.reserved(self._gangs(reservation.job), members, None)

    def _activate_denied(self) -> None:
        denied, self._denied = self._denied, set()
        for key in denied:
            self._queue.activate(key)

    def _gangs(self, job: Job) -> tuple[str, ...]:
        return tuple(sorted(job.gangs)) if job.demands else ()

    # --- those that outlive their declaration ---

    def overdue(self, job: Job, ticket: Ticket) -> Preemption | None:
        """The reserved time has come: backfilled pods that should have ended leave, if the whole job then starts."""
        reserved, now = self.reservation, self._wall()
        has_it = reserved is not None and reserved.key == ticket.key
        if not (has_it and self._calls.has_come) and self._owed != ticket.key:
            return None
        promised = self._promised_since(job, ticket.key)
        if self._is_evicting_for(job):
            return None
        victims = {pod.uid: pod for pod in self._whole(self.backfilled.overdue(now, promised))}
        answer = self._plan_without(job, victims.values())
        if not victims or not is_whole(answer):
            return None
        for pod in sorted(victims.values(), key=self._worth, reverse=True):
            fewer = {uid: other for uid, other in victims.items() if (other.gang or uid) != (pod.gang or pod.uid)}
            without = self._plan_without(job, fewer.values())
            if is_whole(without):
                victims, answer = fewer, without
        assert isinstance(answer, Plan)
        why = f"it was backfilled, and outlived its declared run time; nodes were reserved for {job.name}"
        return Preemption(tuple(victims.values()), answer.placements, Cost(), why=why)

    def _is_evicting_for(self, job: Job) -> bool:
        return any(pod.preempted_for == job.name for pod in self._cluster.evictions.leaving.values())

    def _worth(self, pod: PodRecord) -> tuple[bool, int]:
        """Whom to spare first: those whose budgets allow no disruption, then the most important."""
        return any(budget.allowed <= 0 for budget in self._cluster.budgets.covering(pod)), pod.priority

    def _whole(self, pods: Iterable[PodRecord]) -> Iterable[PodRecord]:
        """A gang goes as a whole."""
        for pod in pods:
            gang = self._cluster.gangs.get(pod.gang) if pod.gang else None
            yield from gang.bound.values() if gang is not None and not gang.expendable else (pod,)

    def _plan_without(self, job: Job, victims: Iterable[PodRecord]) -> Plan | Refusal:
        with Trial(self._cluster.occupancy) as trial:
            take_off(victims, self._cluster, trial)
            return self._planning.plan(job)

    def pod_gone(self, uid: str) -> None:
        """A pod has ended, or is deleted: the start may be earlier, or evicting those that are overdue enough."""
        self.backfilled.forget((uid,))
        self._calls.pod_gone(uid)
        if self._owed:
            self._queue.activate(self._owed)
        if self.reservation is not None and (self._calls.has_come or uid in self._there):
            self._queue.activate(self.reservation.key)

    # --- a timer ---

    def look_at(self, groups: Iterable[GangGroup]) -> None:  # noqa: ARG002 - whichever they are
        """The reserved job may be gone."""
        reserved = self.reservation
        if reserved is not None and self._queue.get(reserved.key) is None:
            self.release(reserved.key)

    def seconds_to_next(self) -> float | None:
        return self._calls.seconds_to_next()

    def act(self) -> None:
        if self._calls.take() and self.reservation is not None:
            self._queue.activate_now(self.reservation.key)

    def clear(self) -> None:
        """Another term of leadership: reservations are made anew, and what was promised is the upper bound."""
        self.reservation, self._owed = None, ""
        self._calls.clear()
        self._denied.clear()
        self._without.clear()
        self.backfilled.clear()


def _without_start(refusal: Refusal, unknown_ends: str) -> Refusal:
    if not unknown_ends:
        return refusal
    text = f"{refusal.message.removesuffix('.')}. No start can be reserved: {unknown_ends}."
    return replace(refusal, message=text)


def _with_start(refusal: Refusal, start: float, why_not_yet: str = "") -> Refusal:
    """The job has a reserved start, and says so.

    A node that is lost may be one of its own, or its queue may have no room for it any more: a promise that cannot be
    kept must not keep others waiting.
    """
    late = f", and {why_not_yet}" if why_not_yet else ""
    text = f"{refusal.message.removesuffix('.')}; reserved to start at {instant_of_seconds(start)}{late}"
    return replace(refusal, message=text, wake_on=refusal.wake_on | EventKind.DOMAINS | EventKind.QUEUES)


def _now(late: Iterable[PodRecord], now: float) -> Iterator[End]:
    """They end at any moment."""
    return (End(now, pod) for pod in late)


def _some(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - _MOST_NAMES} more" if len(ordered) > _MOST_NAMES else ""
    return ", ".join(ordered[:_MOST_NAMES]) + more
