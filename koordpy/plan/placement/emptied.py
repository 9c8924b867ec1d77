"""Whether a job would fit if every other pod left the cluster: `not now` and `never` are different answers.

What already runs of the job stays where it is; members that merely wait at Permit are placed anew. The question is
asked with each refusal, so the usual gang is answered by arithmetic: the slots that empty nodes offer, added up.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import fit
from koordpy.plan.placement.absence import take_off
from koordpy.plan.placement.gang_rules import with_waiting
from koordpy.plan.placement.gangs import Profiles
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial

_Answer = Plan | Refusal


class EmptyCluster:
    """Remembers its answers: 10,000 equal pods with a host port cost one, until nodes or volumes change."""

    _MOST = 1000  # answers

    def __init__(self, cluster: Cluster, profiles: Profiles) -> None:
        self._cluster, self._profiles = cluster, profiles
        self._known: dict[object, Refusal | None] = {}  # by what the answer depends on, oldest first

    def refusal(self, job: Job, plan: Callable[[Job], _Answer]) -> Refusal | None:
        """Why a job would not fit even then; None: it would. `plan` is asked with the cluster emptied."""
        job = _with_waiting(job, self._cluster)
        if not job.members or _wants_others(job) or _fits_by_arithmetic(job, self._cluster, self._profiles):
            return None
        asked = self._signature(job)
        if asked not in self._known:
            self._known[asked] = _why_not(job, self._cluster, plan)
            if len(self._known) > self._MOST:
                del self._known[next(iter(self._known))]
        return self._known[asked]

    def _signature(self, job: Job) -> object:
        """What the answer depends on, but for the pods that would be gone."""
        nodes, cluster = self._cluster.nodes, self._cluster
        demands = tuple(
            (demand.needed, demand.mode, demand.optional, _shapes(demand.members), *_own(demand.gang, cluster))
            for demand in job.demands
        )
        shapes = _shapes(job.members) if not job.demands else ()
        schedulers = frozenset(member.scheduler for member in job.members)
        single = job.members[0].gang if not job.demands else ""  # a later member goes where its siblings are
        return (
            nodes.static_generation,
            nodes.size_generation,
            cluster.storage.generation,
            cluster.topology.layers,
            *(demands, shapes, schedulers, single and (single, *_own(single, cluster))),
        )


def _shapes(members: tuple[PodRecord, ...]) -> frozenset[object]:
    """How many there are of each."""
    counts = Counter(member.shape for member in members)
    return frozenset((weakref.ref(shape), count) for shape, count in counts.items() if shape is not None)


def _own(gang_id: str, cluster: Cluster) -> tuple[object, ...]:
    """What of a gang itself matters: its rules, and where its members are that stay."""
    gang = cluster.gangs.get(gang_id)
    if gang is None:
        return ()
    return gang.spec.topology, tuple(sorted(pod.node for pod in gang.bound.values()))


def _wants_others(job: Job) -> bool:
    """Whether a member wants pods near it: without these it would not fit, though they are there."""
    traits = (member.shape.traits for member in job.members if member.shape is not None)
    return any(each.pod_affinity is not None and each.pod_affinity.required for each in traits)


def _why_not(job: Job, cluster: Cluster, plan: Callable[[Job], _Answer]) -> Refusal | None:
    own = {uid for demand in job.demands if (gang := cluster.gangs.get(demand.gang)) for uid in gang.bound}
    with Trial(cluster.occupancy) as trial:
        take_off((pod for pod in cluster.pods.values() if pod.node and pod.uid not in own), cluster, trial)
        _without_nominated(job, cluster, trial)
        answer = plan(job)
    if isinstance(answer, Refusal):
        return answer
    return answer.missing


def _without_nominated(job: Job, cluster: Cluster, trial: Trial) -> None:
    """Planning counts pods that are nominated to a node; they would be gone as well."""
    for other, node, _ in cluster.nominations:
        row = cluster.nodes.row_of(node)
        if row is not None and other.shape is not None and not cluster.evictions.yields(other, job.preemptor):
            trial.place(row, other.shape, -1)


def _with_waiting(job: Job, cluster: Cluster) -> Job:
    """Those that wait at Permit are pending again."""
    gangs = {demand.gang: cluster.gangs.get(demand.gang) for demand in job.demands}
    waiting = [gang.assumed[uid] for gang in gangs.values() if gang is not None for uid in sorted(gang.waiting)]
    if not waiting:
        return job
    demands = with_waiting(job.demands, waiting, cluster)
    return Job(job.key, tuple(member for demand in demands for member in demand.members), demands)


def _fits_by_arithmetic(job: Job, cluster: Cluster, profiles: Profiles) -> bool:
    """Whether slots alone show that it would fit. False: that has to be planned."""
    first = job.members[0]
    if any(member.shape is not first.shape or member.scheduler != first.scheduler for member in job.members):
        return False
    running = any(demand.counted for demand in job.demands)
    if first.shape is None or running or _minds_more_than_room(first, cluster):
        return False
    needed = sum(demand.needed for demand in job.demands) if job.demands else 1
    return _slots(first.shape, cluster, profiles[first.scheduler]) >= needed


def _minds_more_than_room(pod: PodRecord, cluster: Cluster) -> bool:
    traits = pod.shape.traits if pod.shape is not None else None
    gang = cluster.gangs.get(pod.gang) if pod.gang else None
    if traits is None or (gang is not None and gang.spec.topology):
        return True
    near_others = traits.pod_affinity or traits.pod_anti_affinity or traits.spread or traits.ports
    return bool(near_others or traits.claims or traits.disks or traits.resource_claims)


def _slots(shape: Shape, cluster: Cluster, profile: Profile) -> int:
    """On all nodes that its filters on labels and taints let it onto, were they empty."""
    accepted = fit.static_mask(shape, cluster, profile)
    asked = shape.amounts > 0
    rows, amounts = shape.rows[asked], shape.amounts[asked]  # at least `pods`, of which each takes one
    offered = (cluster.nodes.allocatable[rows] // amounts[:, None]).min(axis=0)  # [N]
    return int(offered[accepted].sum())
