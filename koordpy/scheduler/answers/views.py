"""One job as an answer shows it: where it stands, why it waits, since when, and when it starts."""

from __future__ import annotations

import math
from collections.abc import Callable

from koordpy.api.answers import Job, Members, Reason, Start, State
from koordpy.api.keys import GANG_TIMEOUT
from koordpy.api.times import seconds_of_instant
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Job as PlannedJob
from koordpy.plan.placement.gang_rules import is_ready
from koordpy.scheduler.answers.amounts import instant
from koordpy.scheduler.answers.reasons import may_become_free, reason_of
from koordpy.scheduler.answers.starts import NOBODY_KNOWS
from koordpy.scheduler.answers.subjects import Subject
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.scheduler.report.throttle import Throttle
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord

_REASON_OF_STATE: dict[State, Reason | None] = {
    "Running": None, "Binding": None, "Preempting": "Victims", "TimedOut": "TimedOut",
}  # fmt: skip


class Views:
    """Shows jobs as they are at this moment."""

    def __init__(self, parts: Parts, throttle: Throttle) -> None:
        self._parts, self._throttle = parts, throttle
        self._cluster: Cluster = parts.cluster

    def waits_for_nodes(self, subject: Subject) -> PlannedJob | None:
        """The job, if it was attempted and lacks nodes that may become free."""
        ticket = self._parts.queue.get(subject.key)
        refusal = ticket.refusal if ticket is not None else None
        if ticket is None or refusal is None or refusal.never or self.state_of(subject) != "Pending":
            return None
        if not may_become_free(refusal):
            return None
        return self._parts.jobs.job_of(ticket)

    def show(self, subject: Subject, position: int | None, expected: Start | None = None) -> Job:
        """`expected` is when it starts, should it wait for nodes."""
        ticket = self._parts.queue.get(subject.key)
        state = self.state_of(subject)
        message = "" if state in ("Running", "Binding") else self.message_of(subject, ticket)
        namespace, _, name = subject.name.partition("/")
        return Job(
            namespace=namespace,
            name=name,
            type=subject.type,
            gangs=subject.gang_names,
            queue=subject.queue,
            priority=ticket.priority if ticket is not None else subject.priority,
            position=position,
            state=state,
            reason=self._reason(subject, ticket, state),
            message=message,
            since=instant(_since(subject)),
            members=members_of(subject),
            expected_start=expected or self._start(subject, ticket, state),
        )

    def state_of(self, subject: Subject) -> State:
        """The first that is true of it; the last always is."""
        if subject.pod is not None:
            return self._state_of_pod(subject.pod)
        gangs = subject.gangs
        states: tuple[tuple[State, Callable[[], bool]], ...] = (
            ("Running", lambda: _runs(subject)),
            ("Binding", lambda: any(gang.in_flight for gang in gangs)),
            ("Holding", lambda: any(gang.waiting for gang in gangs)),
            ("Preempting", lambda: self._is_preempting(subject)),
            ("TimedOut", lambda: _has_timed_out(subject)),
            ("Pending", lambda: is_ready(subject.group, self._cluster)),
            ("Incomplete", lambda: True),
        )
        return next(state for state, is_so in states if is_so())

    def _state_of_pod(self, pod: PodRecord) -> State:
        if pod.node:
            return "Running" if pod.bound else "Binding"
        if pod.timed_out:
            return "TimedOut"
        if self._is_preempting(Subject(pod=pod)):
            return "Preempting"
        return "Incomplete" if pod.held else "Pending"

    def _is_preempting(self, subject: Subject) -> bool:
        """Its victims are about to be evicted, or terminating on nodes that are kept for it."""
        if self._parts.evictor.is_evicting_for(subject.key):
            return True
        nominated = [each for job in subject.group or (subject.key,) for each in self._cluster.nominations.of(job)]
        nodes = {each.node for each in nominated}
        return any(pod.node in nodes and pod.preempted_for for pod in self._cluster.evictions.leaving.values())

    def message_of(self, subject: Subject, ticket: Ticket | None) -> str:
        """Word for word what the condition of its pods says."""
        for member in subject.members:
            if member.node or member.terminating:
                continue
            said = self._throttle.said(member.uid)
            if said or member.refusal_seen:
                return said or member.refusal_seen
        return ticket.refusal.message if ticket is not None and ticket.refusal is not None else ""

    def refusal_of(self, subject: Subject) -> Refusal | None:
        """The answer to its last attempt."""
        ticket = self._parts.queue.get(subject.key)
        return ticket.refusal if ticket is not None else None

    def _reason(self, subject: Subject, ticket: Ticket | None, state: State) -> Reason | None:
        if state in _REASON_OF_STATE:
            return _REASON_OF_STATE[state]
        if _waits_for_gates(subject):
            return "Gated"
        if state == "Incomplete":
            return "Incomplete"
        return reason_of(ticket.refusal) if ticket is not None and ticket.refusal is not None else "Turn"

    def _start(self, subject: Subject, ticket: Ticket | None, state: State) -> Start:
        refusal = ticket.refusal if ticket is not None else None
        if state == "Running":
            return Start(time=_started(subject), certainty="Started", message="it has started")
        if state == "Binding":
            return Start(time=None, certainty="Now", message="its pods are being bound")
        if ticket is not None and refusal is None and state == "Pending":
            return Start(time=None, certainty="Now", message="it has not been attempted yet")
        if refusal is not None and refusal.never:
            return Start(time=None, certainty="Never", message="it would not fit on an empty cluster either")
        if state == "TimedOut":
            waits_for = f"when the annotation {GANG_TIMEOUT} is removed from its pods, or they are made again"
            return Start(time=None, certainty="Unknown", message=waits_for)
        return NOBODY_KNOWS


def members_of(subject: Subject) -> Members:
    if subject.pod is not None:
        pod = subject.pod
        return Members(minimum=1, total=1, pending=int(not pod.bound), bound=int(pod.bound), gated=int(pod.gated))
    live = [member for member in subject.members if not member.terminating]
    return Members(
        minimum=sum(gang.minimum for gang in subject.gangs),
        total=len(live),
        pending=sum(len(gang.pending) + len(gang.assumed) for gang in subject.gangs)
        + sum(member.timed_out and not member.bound for member in live),
        bound=sum(len(gang.bound) for gang in subject.gangs),
        gated=sum(member.gated for member in live),
    )


def _waits_for_gates(subject: Subject) -> bool:
    """All that is missing is that gates are removed."""
    if subject.pod is not None:
        return subject.pod.gated
    if any(not gang.initialised for gang in subject.gangs):
        return False
    lacking = [gang for gang in subject.gangs if not gang.has_enough]
    return bool(lacking) and all(
        gang.collected + sum(member.gated for member in gang.absent.values()) >= gang.minimum for gang in lacking
    )


def _runs(subject: Subject) -> bool:
    is_started = any(gang.started for gang in subject.gangs)
    return is_started and all(gang.initialised and gang.is_bound for gang in subject.gangs)


def _has_timed_out(subject: Subject) -> bool:
    return any(member.timed_out for member in subject.members) and not any(gang.pending for gang in subject.gangs)


def _since(subject: Subject) -> float:
    """When the last object was created that it needed; of one that lacks some, the last that came."""
    if subject.pod is not None:
        return subject.pod.created
    return max(map(_complete_since, subject.gangs))


def _complete_since(gang: Gang) -> float:
    ages = sorted(member.created for member in gang.all_live() if not member.terminating)
    needed = ages[max(min(gang.minimum, len(ages)) - 1, 0)] if ages else gang.created
    stamp = gang.object.created if gang.object is not None else None
    found = max(needed, seconds_of_instant(stamp)) if stamp else needed
    return found if math.isfinite(found) else 0.0


def _started(subject: Subject) -> str | None:
    """When the last member began that it needed to be started."""
    if subject.pod is not None:
        return instant(subject.pod.started) if subject.pod.started else None
    times = []
    for gang in subject.gangs:
        begun = sorted(member.started for member in gang.bound.values() if member.started)
        times += [begun[min(gang.minimum, len(begun)) - 1]] if begun and gang.minimum else begun[:1]
    return instant(max(times)) if times else None
