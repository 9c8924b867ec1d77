"""The sandbox: a copy of everything that a decision depends on, in which anything may be tried.

It is made in one moment and knows nothing of what happens later. Nothing of it is ever carried out, and what it shares
with the scheduler (profiles, clocks) no decision changes. So asking leaves no trace, and takes as long as it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.placement.absence import take_off
from koordpy.plan.placement.emptied import EmptyCluster
from koordpy.plan.placement.gang_rules import demands_of
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.cycles import EvictionCycles
from koordpy.scheduler.deciding import Decider
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.permit import Permit
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.preempt import Decision, PostFilter
from koordpy.scheduler.queues.admission import Admission
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.queues.cure import Cure
from koordpy.scheduler.queues.policy import QueuePolicy
from koordpy.scheduler.queues.reclaim import Reclaim
from koordpy.scheduler.reservations.backfill import Backfill
from koordpy.scheduler.reservations.backfilled import Backfilled
from koordpy.scheduler.reservations.calls import Calls
from koordpy.scheduler.reservations.judge import Judge
from koordpy.scheduler.reservations.reservation import Reservation
from koordpy.scheduler.waitingroom import Stay, WaitingRoom
from koordpy.state.copying import copy_of
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

# What decides, beside the cluster state itself. What carries out is shared, and never asked to.
_COPIED = (
    QueueBook, QueuePolicy, Admission, Reclaim, Cure, Planning, EmptyCluster, Permit, WaitingRoom, Stay, PostFilter,
    Evictor, EvictionCycles, Backfill, Backfilled, Calls, Judge, Reservation, Job, Demand,
)  # fmt: skip


class Sandbox:
    """What the scheduler would decide, on a copy of its state."""

    def __init__(self, parts: Parts, book: QueueBook) -> None:
        originals = (
            parts.cluster, book, parts.planning, parts.permit, parts.admission, parts.postfilter, parts.backfill,
        )  # fmt: skip
        copied = copy_of(originals, _COPIED)
        self.cluster, self.book, self.planning, self.permit, self.admission, postfilter, self._backfill = copied
        self._decider = Decider(self.cluster, self.admission, postfilter, self.planning.plan)

    @property
    def reservation(self) -> Reservation | None:
        """The start that some job is promised."""
        return self._backfill.reservation

    @contextmanager
    def without(self, pods: Sequence[PodRecord]) -> Iterator[None]:
        """As if these pods had left their nodes."""
        with Trial(self.cluster.occupancy) as trial, self._backfill.backfilled.without(pods):
            take_off(pods, self.cluster, trial)
            yield

    def job(self, group: GangGroup, key: str, queue: str) -> Job | None:
        """The job of a group of gangs, or of a pod by UID; None: there is nothing of it to be scheduled."""
        if group:
            demands = demands_of(group, self.cluster)
            members = tuple(member for demand in demands for member in demand.members)
            return Job(key, members, demands, queue=queue) if demands else None
        record = self.cluster.pods.get(key)
        return Job(key, (record,), queue=record.queue) if record is not None and record.schedulable else None

    def not_attempted(self, job: Job, group: GangGroup) -> Refusal | None:
        """PreFilter: why a job is not even attempted."""
        return self._decider.not_attempted(job, group)

    def decide(self, job: Job, group: GangGroup) -> Decision:
        """What the next attempt would come to."""
        refusal = self.not_attempted(job, group)
        if refusal is not None:
            return Decision(refusal)
        decision = self._decider.decide(job)
        answer = decision.answer
        if not is_whole(answer):
            return decision
        judged = self.in_time(job, answer)
        return decision if judged is answer else Decision(judged)

    def in_time(self, job: Job, plan: Plan) -> Plan | Refusal:
        """The plan, or what is left of it beside a reserved start, which may be an earlier one by what was changed."""
        priority = self._priority(job)
        judged = self._backfill.judge(job, job.key, priority, plan)
        if self.reservation is None or isinstance(judged, Refusal):
            return judged
        with self._backfill.brought_forward():
            return self._backfill.judge(job, job.key, priority, plan)

    @contextmanager
    def supposing_starts(self) -> Iterator[None]:
        """For as long as jobs are only supposed to start: their reservations are theirs again afterwards."""
        with self._backfill.supposing():
            yield

    def suppose_started(self, job: Job) -> None:
        """Nodes that were reserved for it are not kept beside those that it has now."""
        self._backfill.suppose_started(job.key)

    def suppose_waits(self, job: Job) -> None:
        """It has the reservation of a job that is supposed to have started, if it wants one."""
        self._backfill.suppose_waits(job)

    def bring_forward(self) -> None:
        """The cluster is another one from now on: a reserved start is earlier, if it can be, or that of nobody."""
        reserved = self.reservation
        if reserved is not None and not any(uid in self.cluster.pods for uid in reserved.job.by_uid):
            self._backfill.reservation = None
        self._backfill.bring_forward()

    def _priority(self, job: Job) -> int:
        """That orders it: of its gangs' objects, else of its members."""
        gangs = (self.cluster.gangs.get(demand.gang) for demand in job.demands)
        said = [gang.spec.priority for gang in gangs if gang is not None and gang.spec.priority is not None]
        return max(said, default=job.priority)

    def starts(self, job: Job, group: GangGroup) -> bool:
        """Whether the whole job would start now, without anybody having to leave. Gangs that wait at Permit may."""
        if self.not_attempted(job, group) is not None or self.admission.obstacle(job) is not None:
            return False
        answer = self.planning.plan(job)
        if not is_whole(answer) or (answer.left_over is not None and not answer.placements):
            return False
        return isinstance(self.in_time(job, answer), Plan)
