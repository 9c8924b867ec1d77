"""Planning a job: every member gets a node, or the job gets a refusal that names the member that did not."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from koordpy.api.errors import MalformedValue
from koordpy.plan.constraints.volumes import choice_at
from koordpy.plan.framework.answers import Placement, Plan, Reason, Refusal, no_node_fits, refused_outright
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.eviction import Preemptor
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.storage import NO_VOLUMES
from koordpy.state.trial import Trial


def plan(job: Job, cluster: Cluster, profile: Profile) -> Plan | Refusal:
    """Place all members on one view of the cluster; the state is afterwards as it was before."""
    if len(job.members) > 1 or job.members[0].shape is None or len(cluster.nominations) or profile.within is not None:
        return _plan(job, cluster, profile)
    # The 10,000th pod of a shape that was refused a moment ago is refused for the same reason, without asking again.
    shape, version = job.members[0].shape, cluster.version
    known = shape.memo.get((profile, "refusal"))
    if known is not None and known[0] == version:
        refusal: Refusal = known[1]
        return replace(refusal, culprit=job.members[0].uid)
    answer = _plan(job, cluster, profile)
    if isinstance(answer, Refusal):
        shape.memo[profile, "refusal"] = (version, answer)
    return answer


def _plan(job: Job, cluster: Cluster, profile: Profile) -> Plan | Refusal:
    if not len(cluster.nodes):
        return no_node_fits(job.members[0].uid, 0, {})
    placements = []
    with Trial(cluster.occupancy) as trial:
        for member in job.members:
            placed = place(member, job, cluster, profile, trial)
            if isinstance(placed, Refusal):
                return placed
            placements.append(placed)
    return Plan(tuple(placements))


def place(member: PodRecord, job: Job, cluster: Cluster, profile: Profile, trial: Trial) -> Placement | Refusal:
    """One member on the best node for it, as a trial."""
    shape = member.shape
    if shape is None:
        return _unreadable(member, member.defect)
    refusal = refused_without_asking(member, shape, cluster, profile)
    if refusal is not None:
        return refusal
    try:
        row = _best_row(member, shape, job, cluster, profile)
    except MalformedValue as error:  # an operator that no API server should have let in
        return _unreadable(member, str(error))
    if isinstance(row, Refusal):
        return row
    node = cluster.nodes.names[row]
    volumes = choice_at(shape, cluster, row) if shape.traits.claims else NO_VOLUMES
    trial.place(row, shape)
    trial.reserve_volumes(volumes, node)
    return Placement(member.uid, node, volumes)


def refused_without_asking(member: PodRecord, shape: Shape, cluster: Cluster, profile: Profile) -> Refusal | None:
    """Why a pod is refused without a look at any node."""
    try:
        outright = profile.prefilter(shape, cluster)
    except MalformedValue as error:
        return _unreadable(member, str(error))
    return refused_outright(member.uid, len(cluster.nodes), outright) if outright is not None else None


def _best_row(member: PodRecord, shape: Shape, job: Job, cluster: Cluster, profile: Profile) -> int | Refusal:
    accepted = without = fit.feasible(shape, cluster, profile)
    failed: Counter[Reason] = Counter()
    fits_with = cluster.nodes.live
    with Trial(cluster.occupancy) as with_nominated:
        # A node must do with the pods that are nominated to it as well as without them: they may come or not.
        if place_nominated(member, job, cluster, with_nominated):
            fits_with = fit.feasible(shape, cluster, profile)
            accepted = without & fits_with
            if not accepted.any():
                failed = fit.explain(shape, cluster, profile)
    if not accepted.any():
        failed += fit.explain(shape, cluster, profile, among=fits_with)
        return no_node_fits(member.uid, len(cluster.nodes), failed=dict(failed))
    own = cluster.nodes.row_of(member.nominated_node)
    if own is not None and accepted[own]:
        return own
    return fit.best(shape, cluster, profile, accepted)


def place_nominated(member: PodRecord, job: Job, cluster: Cluster, trial: Trial) -> bool:
    """Place the pods that a member may not take the room of on the nodes they are nominated to; says if any.

    All at once: while a queue takes back what is its own, a thousand pods are nominated, and each attempt asks this.
    """
    preemptor = Preemptor(member.priority, member.queue)
    rows: defaultdict[Shape, Counter[int]] = defaultdict(Counter)
    for other, node, _ in cluster.nominations:
        row = cluster.nodes.row_of(node)
        if row is None or other.shape is None or other.uid in job.by_uid or cluster.evictions.yields(other, preemptor):
            continue
        rows[other.shape][row] += 1
    if rows:
        trial.place_counts(list(rows.items()), 1)
    return bool(rows)


def _unreadable(member: PodRecord, problem: str) -> Refusal:
    text = f"pod {member.key} cannot be read: {problem}"
    return Refusal(text, wake_on=EventKind.NONE, culprit=member.uid, kind="Unsupported")
