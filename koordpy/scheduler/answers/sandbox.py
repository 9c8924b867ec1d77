"""The sandbox: a copy of everything that a decision depends on, in which anything may be tried.

It is made in one moment and knows nothing of what happens later. Nothing of it is ever carried out, and what it shares
with the scheduler (profiles, clocks) no decision changes. So asking leaves no trace, and takes as long as it takes.
"""

from __future__ import annotations

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.emptied import EmptyCluster
from koordpy.plan.placement.gang_rules import demands_of, not_ready
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.cycles import EvictionCycles
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.permit import Permit
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.preempt import Decision, PostFilter
from koordpy.scheduler.queues.admission import Admission, at_limit, one_step
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.queues.policy import QueuePolicy
from koordpy.scheduler.queues.reclaim import Reclaim
from koordpy.scheduler.waitingroom import Stay, WaitingRoom
from koordpy.state.copying import copy_of
from koordpy.state.events import EventKind
from koordpy.state.gangs.groups import GangGroup

# What decides, beside the cluster state itself. What carries out is shared, and never asked to.
_COPIED = (
    QueueBook, QueuePolicy, Admission, Reclaim, Planning, EmptyCluster, Permit, WaitingRoom, Stay, PostFilter, Evictor,
    EvictionCycles,
)  # fmt: skip


class Sandbox:
    """What the scheduler would decide, on a copy of its state."""

    def __init__(self, parts: Parts, book: QueueBook) -> None:
        originals = (parts.cluster, book, parts.planning, parts.permit, parts.admission, parts.postfilter)
        copied = copy_of(originals, _COPIED)
        self.cluster, self.book, self.planning, self.permit, self.admission, self.postfilter = copied

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
        if job.demands:
            culprit = job.members[0].uid if job.members else ""
            return not_ready(group, self.cluster, culprit) or self.admission.refusal(job)
        only = job.members[0]
        held = Refusal(only.held, EventKind.NONE, only.uid, kind="Incomplete") if only.held else None
        return held or self.admission.refusal(job)

    def decide(self, job: Job, group: GangGroup) -> Decision:
        """What the next attempt would come to."""
        refusal = self.not_attempted(job, group)
        if refusal is not None:
            return Decision(refusal)
        obstacle = self.admission.obstacle(job)
        if obstacle is None:
            answer = self.planning.plan(job)
            if not job.queue or not is_whole(answer):
                return self.postfilter.run(job, answer)
            answer = one_step(job, answer)
            obstacle = self.admission.obstacle(job, answer)
            if obstacle is None:
                return self.postfilter.run(job, answer)
        return self.postfilter.at_limit(job, obstacle, at_limit(job, obstacle))

    def starts(self, job: Job, group: GangGroup) -> bool:
        """Whether the whole job would start now, without anybody having to leave. Gangs that wait at Permit may."""
        if self.not_attempted(job, group) is not None or self.admission.obstacle(job) is not None:
            return False
        return self._fits(self.planning.plan(job))

    def _fits(self, answer: Plan | Refusal) -> bool:
        return is_whole(answer) and (bool(answer.placements) or answer.left_over is None)
