"""Filter and Score: the plan of a job, of whatever kind it is."""

from __future__ import annotations

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gangs import Profiles, plan_gangs
from koordpy.plan.placement.pods import plan
from koordpy.plan.topology.gather import plan_gathered
from koordpy.plan.topology.siblings import Rules, plan_beside
from koordpy.state.cluster import Cluster


def plan_job(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules = ()) -> Plan | Refusal:
    """Gangs or a single pod; `rules` are what the job asks of the network topology. The state is left as it was."""
    if rules and job.demands:
        return plan_gathered(job, cluster, profiles, rules)
    if rules:
        return plan_beside(job, cluster, profiles[job.members[0].scheduler], rules)
    if job.demands:
        return plan_gangs(job, cluster, profiles)
    return plan(job, cluster, profiles[job.members[0].scheduler])
