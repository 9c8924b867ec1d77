"""Planning a job: every member gets a node, or the job gets a refusal that names the member that did not."""

from __future__ import annotations

from koordpy.api.errors import MalformedValue
from koordpy.cluster.changes import Change
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.trial import Trial
from koordpy.plan import placement
from koordpy.plan.answer import Placement, Plan, Refusal, no_node_fits, refused_outright
from koordpy.plan.job import Job
from koordpy.plan.profile import Profile


def plan(job: Job, cluster: Cluster, profile: Profile) -> Plan | Refusal:
    """Place all members on one view of the cluster; the picture is afterwards as it was before."""
    placements = []
    with Trial(cluster.occupancy) as trial:
        for member in job.members:
            placed = _place(member, cluster, profile, trial)
            if isinstance(placed, Refusal):
                return placed
            placements.append(placed)
    return Plan(tuple(placements))


def _place(member: PodRecord, cluster: Cluster, profile: Profile, trial: Trial) -> Placement | Refusal:
    shape = member.shape
    if shape is None:
        return _unreadable(member, member.defect)
    nodes = len(cluster.nodes)
    if shape.traits.resource_claims:
        return refused_outright(member.uid, nodes, "koordpy does not support resource claims (DRA) yet")
    try:
        accepted = placement.feasible(shape, cluster, profile)
        if not accepted.any():
            return no_node_fits(member.uid, nodes, failed=dict(placement.explain(shape, cluster, profile)))
        row = placement.best(shape, cluster, profile, accepted)
    except MalformedValue as error:  # an operator that no API server should have let in
        return _unreadable(member, str(error))
    trial.place(row, shape)
    return Placement(member.uid, cluster.nodes.names[row])


def _unreadable(member: PodRecord, problem: str) -> Refusal:
    return Refusal(f"pod {member.key} cannot be read: {problem}", cures=Change.NONE, culprit=member.uid)
