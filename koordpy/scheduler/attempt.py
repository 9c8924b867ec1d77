"""One attempt, top to bottom: PreFilter, plan, PostFilter, reserve, permit, bind, report.

Planning is synchronous and sees one moment of the cluster state; binding is asynchronous and happens meanwhile, in
`execute/`. A job is bound as a whole or not at all; what a gang that may accumulate has got so far waits at Permit, and
none of it is bound before the rest is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from koordpy import metrics
from koordpy.api.keys import SCHEDULER_ERROR
from koordpy.api.podgroup.frontends import names_of
from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.preemption.eligibility import Preemption
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.topology.gather import complaints_about
from koordpy.plan.topology.rating import rate
from koordpy.scheduler.deciding import Decider
from koordpy.scheduler.equivalence import equivalence_of, equivalence_of_pod
from koordpy.scheduler.holds import Holds
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.preempt import Decision, sides_of
from koordpy.scheduler.queue.ticket import State, Ticket
from koordpy.scheduler.queues.admission import PLUGINS as QUEUES
from koordpy.state.events import EventKind
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord

# Equivalent single pods that are planned together: enough to share the cost of a plan, few enough for a slice.
_MOST_TOGETHER = 64

log = structlog.get_logger()


class Attempts:
    """Attempts the jobs that the loop has popped, one after the other."""

    def __init__(self, parts: Parts, decided: Callable[[tuple[object, ...]], None]) -> None:
        """`decided` is told every decision as plain values: what was done, with which job, and what belongs to it."""
        self._decided = decided
        self._cluster, self._queue, self._jobs = parts.cluster, parts.queue, parts.jobs
        self._wakeups, self._recovery = parts.wakeups, parts.recovery
        self._planning, self._permit, self._backfill = parts.planning, parts.permit, parts.backfill
        self._binder, self._evictor = parts.binder, parts.evictor
        self._reporter, self._cycles = parts.reporter, parts.cycles
        self._acting = False  # this attempt is changing the state, and not merely planning
        self._reserved: list[str] = []  # UIDs that this attempt has assumed, and nobody has taken over yet
        self._behind: list[Ticket] = []  # equivalent ones that this attempt has popped, while they are being planned
        self._decider = Decider(parts.cluster, parts.admission, parts.postfilter, self._plan)
        self._holds = Holds(parts.cycles, parts.queue)

    def run(self, ticket: Ticket) -> None:
        """Schedule a job; and if it is a single pod with equivalent ones right behind it, those together with it."""
        behind: list[Ticket] = []
        nodes: list[str] = []
        seconds = 0.0
        with self._guard(ticket):
            behind, nodes, seconds = self._plan_equivalent(ticket)
            if not nodes:
                self.schedule_one(ticket)
                return
            self._start_single(ticket, nodes[0], seconds)
        for each, node in zip(behind, nodes[1:], strict=True):
            with self._guard(each):
                self._wakeups.deliver()
                if self._queue.is_overtaken(each):  # a more important job was activated by those before it
                    self._queue.put_back(each)
                else:
                    self._start_single(each, node, seconds)

    def _plan_equivalent(self, ticket: Ticket) -> tuple[list[Ticket], list[str], float]:
        """Those right behind a single pod that can be planned with it; nodes, its own first; seconds for each."""
        job = self._jobs.job_of(ticket)
        if job is None or not self._backfill.is_open or not self._planning.may_share(job):
            return [], [], 0.0
        self._acting = True  # until they are popped: an error would leave the queue in doubt
        behind = self._behind = self._queue.pop_equivalent(ticket, _MOST_TOGETHER - 1)
        self._acting = False
        nodes: list[str] = []
        started = time.perf_counter()
        try:
            nodes = self._planning.nodes_for(job, 1 + len(behind)) if behind else []
        finally:
            self._acting = True
            for each in behind[max(len(nodes) - 1, 0) :]:
                self._queue.put_back(each)
            self._acting = False
        seconds = (time.perf_counter() - started) / max(len(nodes), 1)
        self._behind = []
        return behind[: max(len(nodes) - 1, 0)], nodes, seconds

    @contextmanager
    def _guard(self, ticket: Ticket) -> Iterator[None]:
        """A mistake of ours in planning one job must not cost all others their scheduler."""
        self._reserved.clear()
        self._behind = []
        self._acting = False
        try:
            yield
        except Exception:
            log.exception("planning_failed", job=ticket.name, hint="please report this; tried again after a back-off")
            if self._acting or not self._cluster.occupancy.is_consistent:
                for uid in self._reserved:
                    self._cluster.forget(uid)
                self._recovery.run()
            for each in self._behind:
                if each.state is State.IN_FLIGHT:
                    self._queue.put_back(each)
            self._back_off(ticket)
            problem = "planning failed because of a mistake in the scheduler or one of its plugins; its log says more"
            for record in self._pods_of(ticket):
                metrics.ATTEMPTS.labels("error", record.scheduler).inc()
                self._reporter.refused(record, Refusal(problem, EventKind.NONE, record.uid, reason=SCHEDULER_ERROR))

    def _back_off(self, ticket: Ticket) -> None:
        """It is tried again after a back-off; should there be another ticket of the job by now, that one is."""
        if self._queue.get(ticket.key) is None:
            self._queue.retry(ticket)
        else:
            self._queue.back_off(ticket.key)

    def schedule_one(self, ticket: Ticket) -> None:
        """One job, from the head of the queue to its binds in flight, or unschedulable with a reason."""
        started = time.perf_counter()
        self._acting = True
        self._permit.release_stale(ticket)
        self._acting = False
        job = self._jobs.job_of(ticket)
        if job is None:
            self._queue.done(ticket)
            self._evictor.ended(ticket.key, "gone")
            self._backfill.release(ticket.key)
            self._reporter.job_ended(ticket.key)
            return
        with metrics.stage("PreFilter", job.members[0].scheduler if job.members else ""):
            refusal = self._prefilter(job, ticket)
        if refusal is not None:
            self._not_attempted(job, ticket, refusal)
            self._measure(job, refusal, time.perf_counter() - started)
            return
        decision = self._in_time(job, ticket, self._decider.decide(job))
        self._acting = True
        equivalence = ticket.equivalence
        self._carry_out(job, decision)
        answer = decision.answer
        if isinstance(answer, Refusal):
            self._permit.unreserve(job.key)
            self._refuse(self._jobs.job_of(ticket) or job, ticket, answer)  # with those just unreserved
        elif answer.missing is not None:
            self._accumulate(job, ticket, answer)
        elif first := self._permit.who_goes_first(job, ticket, answer):
            if self._queue.yield_to(ticket, first):
                return
            self._start(ticket, answer)
        else:
            self._start(ticket, answer)
        if decision.preemption is not None and job.queue:  # a quota or a share may let in several that are alike
            self._queue.activate_like(equivalence)
        self._measure(job, answer, time.perf_counter() - started)

    def _plan(self, job: Job) -> Plan | Refusal:
        with metrics.ALGORITHM_SECONDS.time():
            return self._planning.plan(job)

    def _in_time(self, job: Job, ticket: Ticket, decision: Decision) -> Decision:
        """A job that would start may have to leave nodes to one that is promised them; one that waits may be that."""
        answer = decision.answer
        if is_whole(answer):
            admitted = self._backfill.admit(job, ticket, answer)
            return decision if admitted is answer else Decision(admitted)
        if not isinstance(answer, Refusal) or decision.preemption is not None:
            return decision
        if answer.plugins == QUEUES:
            self._backfill.release(ticket.key)  # nodes are of no use to it now
            return decision
        late = self._backfill.overdue(job, ticket) if not self._evictor.is_evicting_for(job.key, job.by_uid) else None
        if late is not None:
            told = replace(answer, message=f"{answer.message} preemption: {late}", wake_on=answer.wake_on)
            return replace(decision, answer=told, preemption=late)
        if self._waits_for_victims(job, decision):
            return decision  # it starts by evicting, and needs no reservation
        return replace(decision, answer=self._backfill.consider(job, ticket, answer))

    def _waits_for_victims(self, job: Job, decision: Decision) -> bool:
        """Room that others leave is kept for it already."""
        nominated = any(member.nominated_node for member in job.members)
        return self._evictor.is_evicting_for(job.key, job.by_uid) or (nominated and not decision.clears_nominations)

    def _start_single(self, ticket: Ticket, node: str, seconds: float) -> None:
        """A node was found for it together with others: as if it had been planned by itself, in its share of time."""
        job, started = self._jobs.job_of(ticket), time.perf_counter()
        if job is None or job.members[0].gang:
            self.schedule_one(ticket)
            return
        self._acting = True
        metrics.ALGORITHM_SECONDS.observe(seconds)
        plan = Plan((Placement(ticket.key, node),))
        self._start(ticket, plan)
        self._measure(job, plan, seconds + time.perf_counter() - started)

    def _prefilter(self, job: Job, ticket: Ticket) -> Refusal | None:
        """Why it is not even attempted; and what its owner has written that cannot be used."""
        if not job.demands:
            self._reporter.complain_of_run_time(job.members[0])
        for gang in self._gangs_of(job):
            self._reporter.complain(gang, complaints_about(gang, self._cluster) if self._planning.topology else ())
        return self._decider.not_attempted(job, self._jobs.group_of(ticket))

    def _not_attempted(self, job: Job, ticket: Ticket, refusal: Refusal) -> None:
        """It holds nothing, keeps its place in the queue, and no room is kept for it."""
        self._acting = True
        self._permit.unreserve(job.key)
        self._backfill.release(ticket.key)
        now = self._jobs.job_of(ticket) or job
        self._clear_nominations(now)
        self._refuse(now, ticket, refusal, attempted=False)

    # --- what was decided, carried out ---

    def _carry_out(self, job: Job, decision: Decision) -> None:
        """Who merely waits is unreserved; then victims are evicted, or the job is tried again when it may evict."""
        for waiter in decision.yielding:
            log.info("gang_released", gang=names_of(waiter.key), members=len(waiter.members), for_job=job.name)
            self._permit.unreserve(waiter.key)
        if decision.clears_nominations:
            self._clear_nominations(job)
        if decision.hold is not None:
            self._holds.begin(job.key, decision.hold)
        if decision.preemption is not None:
            self._cycles.evicted(*sides_of(job, decision.preemption))
            self._planning.carried_out(job, decision.preemption)
            self._decided(("evict", job.name, *_names_in(decision.preemption)))
            self._evictor.start(job.key, job.name, job.members[0], decision.preemption)

    def _clear_nominations(self, job: Job) -> None:
        """Room is kept for no job that cannot use it."""
        for member in job.members:
            self._evictor.clear_nomination(member)

    def _start(self, ticket: Ticket, answer: Plan) -> None:
        """The whole job is placed: reserve it, and permit it together with those that waited for this moment."""
        group, job = self._jobs.group_of(ticket), self._jobs.job_of(ticket)
        self._decided(("start", ticket.name, [(each.uid, each.node) for each in answer.placements]))
        waiting = [Placement(pod.uid, pod.node, pod.volumes) for pod in self._permit.room.members(ticket.key)]
        self._reserved += [each.uid for each in waiting]
        self._reserve(answer.placements)
        self._permit.leave(ticket.key)
        self._queue.done(ticket)
        self._evictor.ended(ticket.key, "started")
        self._backfill.started(ticket.key, job)
        self._reporter.job_ended(ticket.key)
        if ticket.flushed:
            metrics.FLUSHED.inc()
        self._binder.release((*waiting, *answer.placements), ticket, of_gangs=bool(group))
        self._reserved.clear()  # their binds are in flight
        if group:
            self._publish(group, (*waiting, *answer.placements))
            self._jobs.refresh_group(group)  # members that were left over are tried again by themselves

    def _publish(self, group: GangGroup, placements: tuple[Placement, ...]) -> None:
        """Say how close together a group of gangs was placed."""
        rating = rate(placements, self._cluster.pods, self._cluster, self._planning.profiles)
        if rating is None:
            return
        metrics.PLACEMENT_SCORE.observe(rating.score)
        for gang in self._cluster.gangs.own(group):
            self._reporter.placed(gang, rating)

    def _reserve(self, placements: tuple[Placement, ...]) -> None:
        """No other job sees this room as free from here on."""
        for placement in placements:
            self._reserved.append(placement.uid)
            self._cluster.assume(placement.uid, placement.node, placement.volumes)

    def _refuse(
        self, job: Job, ticket: Ticket, refusal: Refusal, *, attempted: bool = True, anywhere: bool = False
    ) -> None:
        self._decided(("refuse", ticket.name, refusal.message, attempted))
        equivalence = equivalence_of(job, self._cluster) if job.demands else None
        if job.queue and not job.demands:
            equivalence = equivalence_of_pod(job.members[0])  # one that is nominated by now speaks for itself alone
        waiting = self._permit.room.members(job.key)
        if job.demands and equivalence is not None and (waiting or anywhere or not attempted):
            # One that waits may move its members, and `minResources` are counted over all nodes.
            equivalence = equivalence._replace(anywhere=True)
        self._queue.add_unschedulable(ticket, refusal, equivalence=equivalence, attempted=attempted)
        self._reporter.job_refused(job, waiting, refusal)
        log.debug("refused", job=ticket.name, message=refusal.message)

    # --- gangs that accumulate ---

    def _accumulate(self, job: Job, ticket: Ticket, answer: Plan) -> None:
        """Not complete: keep what was placed if that is allowed, and wait for the rest."""
        assert answer.missing is not None
        refusal, anywhere = answer.missing, False
        if not self._permit.may_keep(job, answer, self._planning.refusal_when_empty(job)):
            self._permit.unreserve(job.key)
        elif answer.placements and self._permit.may_take(job, answer):
            self._reserve(answer.placements)
            wait_s = min(gang.spec.wait_s for gang in self._gangs_of(job))
            uids = [placement.uid for placement in answer.placements]
            self._permit.room.enter(job.key, self._jobs.group_of(ticket), uids, wait_s)
            self._reserved.clear()  # the waiting room has them
        elif answer.placements:
            refusal, anywhere = self._permit.deny(job, refusal), True
        self._refuse(self._jobs.job_of(ticket) or job, ticket, refusal, anywhere=anywhere)

    # --- bookkeeping ---

    def _gangs_of(self, job: Job) -> list[Gang]:
        ids = dict.fromkeys(demand.gang for demand in job.demands)
        return [gang for each in ids if (gang := self._cluster.gangs.get(each)) is not None]

    def _pods_of(self, ticket: Ticket) -> list[PodRecord]:
        job = self._jobs.job_of(ticket)
        return list(job.members) if job is not None else []

    def _measure(self, job: Job, answer: Plan | Refusal, seconds: float) -> None:
        fits = isinstance(answer, Plan) and answer.missing is None
        result = "scheduled" if fits else "unschedulable"
        scheduler = job.members[0].scheduler if job.members else ""
        metrics.ATTEMPTS.labels(result, scheduler).inc(len(job.members))
        metrics.ATTEMPT_SECONDS.labels(result, scheduler).observe(seconds)
        if job.demands:
            metrics.GANG_ATTEMPTS.labels(result).inc()


def _names_in(found: Preemption) -> tuple[object, ...]:
    """Who is evicted, and who is nominated to which node."""
    return [victim.uid for victim in found.victims], [(each.uid, each.node) for each in found.nominations]
