"""Who thinks about jobs that wait, one after the other: the end of their messages is the start of an explanation.

It asks what a user would ask, and gets the same answer: so the condition, the event and `koordpy explain` never
disagree. It works in a small share of the time, and rests in between; what it finds is told like any refusal.

A refusal that is old is not thought about: its job is attempted again first. Advice of now would contradict counts of a
minute ago.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from koordpy.api.answers import AnyChange, Explanation, JobEnds, Start
from koordpy.api.times import seconds_of_instant
from koordpy.scheduler.acts import Act, unrecorded
from koordpy.scheduler.answers import subjects
from koordpy.scheduler.answers.answering import Answering
from koordpy.scheduler.answers.subjects import Subject
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.queue.ticket import State, Ticket

_LOOK_EVERY_S = 1.0
_SHARE = 0.05  # of the time, at most
_OLD_S = 5.0  # a refusal
# For the search of changes, ten times what a user gets, who waits for it. One that ends early finds another change, or
# none, each time that the machine is busy: the message would change to and fro, with an event each time.
_BUDGET_S = 1.0
_POLLED_S, _POLLS = 0.02, 250  # until a job was attempted again; if others go first, its old refusal has to do
_WRITES_PER_S = 50  # to the members of the jobs that it thinks about
_DAY_S = 86_400.0

log = structlog.get_logger()


class Advisor:
    """Gives the advice of the scheduler of the moment."""

    def __init__(
        self,
        parts: Callable[[], Parts],
        answering: Callable[[], Answering],
        *,
        wall: Callable[[], float] = time.time,
        act: Act = unrecorded,
    ) -> None:
        self._of_the_moment, self._answering, self._wall, self._act = parts, answering, wall, act

    @property
    def _parts(self) -> Parts:
        return self._of_the_moment()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            key = self._parts.advice.next_due()
            if key is None:
                await asyncio.sleep(_LOOK_EVERY_S)
                continue
            await asyncio.sleep(await self._think_about(key))

    async def _think_about(self, key: str) -> float:
        """Returns for how many seconds to rest after it."""
        ticket = self._parts.queue.get(key)
        subject = self._subject(ticket) if ticket is not None else None
        if ticket is None or ticket.refusal is None or subject is None:
            self._act(("forget_advice", key), lambda: self._parts.advice.forget(key))
            return 0.0
        if self._act(("renew_refusal", key), lambda: renew(self._parts, key)):
            await self._attempted_again(ticket)
            if self._parts.queue.get(key) is not ticket:
                return 0.0  # it started
        message, began = ticket.refusal.message, time.perf_counter()
        try:
            explanation = await self._answering().explain_subject(subject, budget_s=_BUDGET_S)
        except Exception:
            log.exception("advice_failed", job=ticket.name, hint="please report this; its message goes without advice")
            advice = "", _DAY_S
        else:
            advice = advice_of(explanation, self._wall())
        self._act(("give_advice", key, message, *advice), lambda: self._parts.advice.give(key, message, *advice))
        rest_s = (time.perf_counter() - began) / _SHARE
        told = self._act(("tell_advice", key, message), lambda: tell(self._parts, key, message))
        return max(rest_s, told / _WRITES_PER_S)

    async def _attempted_again(self, ticket: Ticket) -> None:
        for _ in range(_POLLS):
            if ticket.state is State.UNSCHEDULABLE:
                return
            await asyncio.sleep(_POLLED_S)

    def _subject(self, ticket: Ticket) -> Subject | None:
        group = self._parts.jobs.group_of(ticket)
        if group:
            return subjects.of_gang(group[0], self._parts.cluster)
        pod = self._parts.cluster.pods.get(ticket.key)
        return Subject(pod=pod) if pod is not None else None


def renew(parts: Parts, key: str) -> bool:
    """An old refusal is made anew."""
    return parts.queue.renew(key, _OLD_S)


def tell(parts: Parts, key: str, message: str) -> int:
    """The same refusal again, unless the job has been refused for something else by now, or not at all.

    Returns how many pods were told.
    """
    ticket = parts.queue.get(key)
    if ticket is None or ticket.refusal is None or ticket.refusal.message != message:
        return 0
    job = parts.jobs.job_of(ticket)
    if job is None:
        return 0
    waiting = parts.permit.room.members(key)
    parts.reporter.job_refused(job, waiting, ticket.refusal)
    return len(job.members) + len(waiting)


def advice_of(explanation: Explanation, now: float) -> tuple[str, float]:
    """What to add to a message, and for how many seconds it stays true as far as anybody knows."""
    job = explanation.job
    if job.state not in ("Pending", "Incomplete"):
        return "", _DAY_S
    change = next(iter(explanation.changes), None)
    would = f"; would start if {_happened(change)}" if change is not None else ""
    start, at = job.expected_start, _known(job.expected_start)
    if at is None:
        return would, _DAY_S
    about = "about " if start.certainty == "Estimated" else ""
    return f"{would}; expected start {about}{_clock_time(at, now)}", at - now


def _happened(change: AnyChange) -> str:
    return f"{change.job} ended" if isinstance(change, JobEnds) else change.message


def _known(start: Start) -> float | None:
    """When it starts, where that is not said already: the message of a reserved job has its time."""
    if start.time is None or start.certainty not in ("Declared", "Estimated"):
        return None
    return seconds_of_instant(start.time)


def _clock_time(at: float, now: float) -> str:
    """`18:40Z`, and of another day `2026-11-20 18:40Z`: rounded up, so that nobody comes too early."""
    shown = time.gmtime(at + 59.0)
    return time.strftime("%H:%MZ" if at - now < _DAY_S / 2 else "%Y-%m-%d %H:%MZ", shown)
