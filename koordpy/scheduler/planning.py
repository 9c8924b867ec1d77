"""What the scheduler asks of `plan/`, on its cluster state, with its profiles and as its configuration allows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.batch import may_share, nodes_for
from koordpy.plan.placement.emptied import EmptyCluster
from koordpy.plan.placement.gangs import Profiles
from koordpy.plan.placement.jobs import plan_job
from koordpy.plan.preemption.eligibility import Preemption, find_preemption
from koordpy.plan.topology.gather import rules_of
from koordpy.plan.topology.siblings import Rules
from koordpy.quota.limits import Obstacle
from koordpy.scheduler.queues.cure import Cure
from koordpy.scheduler.queues.reclaim import Reclaim
from koordpy.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Planning:
    """Plain questions and answers: nothing is changed by them."""

    cluster: Cluster
    profiles: Profiles
    topology: bool = True  # False: what gangs ask of the network is not heard
    reclaim: Reclaim | None = None  # what jobs of queues may take; None: there are never any queues
    cure: Cure | None = None  # the same of jobs at a limit
    _empty: EmptyCluster = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_empty", EmptyCluster(self.cluster, self.profiles))

    def plan(self, job: Job) -> Plan | Refusal:
        """Filter and Score."""
        return plan_job(job, self.cluster, self.profiles, self._rules(job))

    def plan_outside(self, job: Job, nodes: Collection[str]) -> Plan | Refusal:
        """The same without some nodes, which are kept for others."""
        within = self.cluster.nodes.live.copy()
        within[[row for name in nodes if (row := self.cluster.nodes.row_of(name)) is not None]] = False
        profiles = {
            name: profile.only(within if profile.within is None else within & profile.within)
            for name, profile in self.profiles.items()
        }
        return plan_job(job, self.cluster, profiles, self._rules(job))

    def refusal_when_empty(self, job: Job) -> Refusal | None:
        """Why it would not fit if every other pod left the cluster; None: it would. Not to be asked within a trial."""
        return self._empty.refusal(job, self.plan)

    def may_share(self, job: Job) -> bool:
        """It is a single pod that can be planned in one go with equivalent ones."""
        if job.demands or job.members[0].gang or job.members[0].held or self._rules(job):
            return False
        return may_share(job.members[0], self.cluster, self.profiles[job.members[0].scheduler])

    def nodes_for(self, job: Job, wanted: int) -> list[str]:
        """Where so many single pods like this one go, as if planned one after the other; none: plan them so."""
        return nodes_for(job.members[0], wanted, self.cluster, self.profiles[job.members[0].scheduler])

    def find_preemption(self, job: Job) -> Preemption | str:
        """Whom to evict for it, or why that would be in vain."""
        return self.reclaim.find(job, self._search) if self.reclaim is not None else self._search(job)

    def find_cure(self, job: Job, obstacle: Obstacle) -> Preemption | str:
        """The same for a job that a limit of its queue is in the way of."""
        assert self.cure is not None, "there are no limits without queues"
        return self.cure.find(job, obstacle, self.plan, self._search)

    def carried_out(self, job: Job, found: Preemption) -> None:
        """A preemption that was found is carried out: whoever was started by one is not taken at once for another."""
        if self.reclaim is not None:
            self.reclaim.carried_out(job, found)

    def _search(self, job: Job) -> Preemption | str:
        return find_preemption(job, self.cluster, self.profiles, self._rules(job))

    def _rules(self, job: Job) -> Rules:
        return rules_of(job, self.cluster) if job.members and self.topology else ()
