"""What one attempt of a job comes to: PreFilter, Filter and Score, PostFilter.

The loop asks it of the cluster, and the sandbox of answers asks it of a copy: so a what-if says what would happen, and
not what somebody has written down of it. Decides only; nothing is carried out here.
"""

from __future__ import annotations

from collections.abc import Callable

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gang_rules import not_ready
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.preempt import Decision, PostFilter
from koordpy.scheduler.queues.admission import Admission, at_limit, one_step
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.gangs.groups import GangGroup


class Decider:
    """Of one cluster; `plan` places a job on its nodes."""

    def __init__(
        self, cluster: Cluster, admission: Admission, postfilter: PostFilter, plan: Callable[[Job], Plan | Refusal]
    ) -> None:
        self._cluster, self._admission, self._postfilter, self._plan = cluster, admission, postfilter, plan

    def not_attempted(self, job: Job, group: GangGroup) -> Refusal | None:
        """Gangs are attempted only when all of their group have come together; a pod only if nothing holds it back."""
        if job.demands:
            culprit = job.members[0].uid if job.members else ""
            return not_ready(group, self._cluster, culprit) or self._admission.refusal(job)
        only = job.members[0]
        held = Refusal(only.held, EventKind.NONE, only.uid, kind="Incomplete") if only.held else None
        return held or self._admission.refusal(job)

    def decide(self, job: Job) -> Decision:
        """Of a job of a queue one step, if the queue has room for it."""
        obstacle = self._admission.obstacle(job)
        if obstacle is None:
            answer = self._plan(job)
            if not job.queue or not is_whole(answer):
                return self._postfilter.run(job, answer)
            answer = one_step(job, answer)
            obstacle = self._admission.obstacle(job, answer)  # other members than expected may have been placed
            if obstacle is None:
                return self._postfilter.run(job, answer)
        return self._postfilter.at_limit(job, obstacle, at_limit(job, obstacle))
