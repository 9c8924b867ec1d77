"""Planning a job: every member gets a node, or the job gets a refusal that names the member that did not."""

from __future__ import annotations

from koordpy.cluster.changes import Change
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.trial import Trial
from koordpy.plan import placement
from koordpy.plan.answer import Placement, Plan, Refusal, no_node_fits
from koordpy.plan.job import Job
from koordpy.plan.profile import Profile


def plan(job: Job, cluster: Cluster, profile: Profile) -> Plan | Refusal:
    """Place all members on one view of the cluster; the picture is afterwards as it was before."""
    placements = []
    with Trial(cluster.nodes) as trial:
        for member in job.members:
            placed = _place(member, cluster, profile, trial)
            if isinstance(placed, Refusal):
                return placed
            placements.append(placed)
    return Plan(tuple(placements))


def _place(member: PodRecord, cluster: Cluster, profile: Profile, trial: Trial) -> Placement | Refusal:
    shape = member.shape
    if shape is None:
        return Refusal(f"pod {member.key} cannot be read: {member.defect}", cures=Change.NONE, culprit=member.uid)
    accepted = placement.feasible(shape, cluster, profile)
    if not accepted.any():
        failed = placement.explain(shape, cluster, profile)
        return no_node_fits(member.uid, nodes=len(cluster.nodes), failed=dict(failed))
    row = placement.best(shape, cluster, profile, accepted)
    trial.place(row, shape)
    return Placement(member.uid, cluster.nodes.names[row])
