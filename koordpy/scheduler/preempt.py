"""PostFilter: a job does not fit. Whoever merely waits lets go for it; else victims are sought, or it is said why not.

Decides nothing by itself: who lets go is asked of `plan/placement/waiting.py`, who is evicted of
`plan/preemption/eligibility.py`, and the evictor carries it out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import structlog

from koordpy import metrics
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.waiting import Waiter, Worth, who_must_yield, worth_of
from koordpy.plan.preemption.eligibility import WAITS, Preemption, benefit_of
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.cycles import EvictionCycles
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.permit import Permit
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.state.events import EventKind

log = structlog.get_logger()


class PostFilter:
    """Makes room for whole jobs."""

    def __init__(
        self, planning: Planning, queue: JobQueue, permit: Permit, evictor: Evictor, clock: Callable[[], float]
    ) -> None:
        self._planning, self._queue, self._permit, self._evictor = planning, queue, permit, evictor
        self._cluster = planning.cluster
        self._pingpong = EvictionCycles(clock)

    def run(self, job: Job, answer: Plan | Refusal) -> Plan | Refusal:
        """The answer, if all of the job fits; a better one, if others let go; or the same, with what came of it."""
        if not self._gets_on(job, answer):
            answer = self._ask_waiters(job, answer)
        if self._gets_on(job, answer):
            return answer
        if is_whole(answer):
            job, answer = _as_a_pod_by_itself(job, answer)
        if not self._may_preempt(job, answer):
            return answer
        with metrics.stage("PostFilter", job.members[0].scheduler):
            found = self._preempt(job)
        return _with_tail(answer, f"preemption: {found}")

    def clear_nominations(self, job: Job) -> None:
        """Room is kept for nobody who cannot use it."""
        for member in job.members:
            self._evictor.clear_nomination(member)

    def _gets_on(self, job: Job, answer: Plan | Refusal) -> bool:
        """Something of it starts by this: it has become complete, or was before and finds room for one more."""
        if not is_whole(answer) or answer.left_over is None:
            return is_whole(answer)
        return bool(answer.placements) or self._permit.room.get(job.key) is not None

    # --- those that wait ---

    def _ask_waiters(self, job: Job, answer: Plan | Refusal) -> Plan | Refusal:
        """Those of lower priority that merely wait for others let go, if that helps; equals, if it is complete then."""
        priority = self._permit.priority(job)
        lower = [waiter for waiter in self._permit.waiters(job.key) if waiter.priority < priority]
        answer = self._without(lower, job, answer, better_than=worth_of(answer))
        return answer if is_whole(answer) else self._without(self._permit.rivals(job), job, answer, better_than=(True,))

    def _without(
        self, waiters: list[Waiter], job: Job, answer: Plan | Refusal, *, better_than: Worth
    ) -> Plan | Refusal:
        if not waiters:
            return answer
        leaving = who_must_yield(waiters, better_than, self._cluster, lambda: worth_of(self._planning.plan(job)))
        self._release(leaving, job)
        return self._planning.plan(job) if leaving else answer

    def _release(self, leaving: list[Waiter], job: Job) -> None:
        for waiter in leaving:
            log.info("gang_released", gang=waiter.key, members=len(waiter.members), for_job=job.name)
            self._permit.unreserve(waiter.key)

    # --- those that run ---

    def _may_preempt(self, job: Job, answer: Plan | Refusal) -> bool:
        """Not for jobs that nothing could cure, and not where the configuration says never."""
        refusal = answer if isinstance(answer, Refusal) else answer.missing
        if not job.members or not len(self._cluster.nodes) or refusal is None or not refusal.wake_on:
            return False
        if refusal.wake_on == EventKind.DOMAINS:
            return False  # it asks for a layer that there is not
        return all(self._planning.profiles[member.scheduler].preempts for member in job.members)

    def _preempt(self, job: Job) -> str:
        """Evict for the whole job, if that lets it in; says what was found, in kube-scheduler's words."""
        if self._evictor.is_waiting(job.key):
            return WAITS  # they will be terminating as soon as the watch shows it
        started = time.perf_counter()
        found = self._find_victims(job)
        metrics.PREEMPTION_ATTEMPTS.inc()
        metrics.PREEMPTION_SECONDS.observe(time.perf_counter() - started)
        if isinstance(found, str):
            if found != WAITS:
                self.clear_nominations(job)
            refused = self._evictor.refused(job.lowest_priority)
            return f"{found.removesuffix('.')}; {refused}" if refused else found
        # By gang: its replacement for a pod that was evicted may be a job of its own.
        preemptors = {member.gang or member.key for member in job.members}
        victims = {victim.gang or victim.key for victim in found.victims}
        pause_s = self._pingpong.pause_s(preemptors, victims)
        if pause_s > 0:
            asyncio.get_running_loop().call_later(pause_s, self._queue.activate, job.key)
            return f"held back for {pause_s:.0f}s: this job and its victims have been evicting each other"
        self._pingpong.evicted(preemptors, victims)
        self._evictor.start(job.key, job.name, job.members[0], found)
        return str(found)

    def _find_victims(self, job: Job) -> Preemption | str:
        """Those that merely wait for others let go where that is needed, or spares somebody who runs."""
        found = self._planning.find_preemption(job)
        waiters = [w for w in self._permit.waiters(job.key) if w.priority < job.lowest_priority]
        if not waiters or found == WAITS:
            return found
        leaving = who_must_yield(
            waiters, benefit_of(found), self._cluster, lambda: benefit_of(self._planning.find_preemption(job))
        )
        self._release(leaving, job)
        return self._planning.find_preemption(job) if leaving else found


def _as_a_pod_by_itself(job: Job, answer: Plan) -> tuple[Job, Refusal]:
    """Its gangs are complete and need nobody any more: whoever was left over first makes room for itself alone."""
    assert answer.left_over is not None
    culprit = answer.left_over.culprit
    first = next((member for member in job.members if member.uid == culprit), job.members[0])
    return Job(job.key, (first,)), answer.left_over


def _with_tail(answer: Plan | Refusal, text: str) -> Plan | Refusal:
    """`0/5 nodes are available: 5 Insufficient cpu. preemption: ...`, as kube-scheduler puts it."""
    if isinstance(answer, Refusal):
        return replace(answer, message=f"{answer.message} {text}", wake_on=answer.wake_on | EventKind.VICTIMS)
    missing = _with_tail(answer.missing, text) if answer.missing is not None else None
    assert isinstance(missing, Refusal)
    return replace(answer, missing=missing)
