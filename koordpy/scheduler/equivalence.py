"""Which jobs are equivalent: they get the same answer, so that one attempt speaks for all of them."""

from __future__ import annotations

from collections import Counter

from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.placement.gang_rules import is_ready
from koordpy.scheduler.queue.ticket import Equivalence
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape


def equivalence_of_pod(record: PodRecord) -> Equivalence:
    """What a single pod has in common with those that get the same answer."""
    wants = ((record.shape, 1),) if record.shape is not None else ()
    if record.held:  # others of its shape may be tried
        return Equivalence(wants, record.scheduler, (record.uid, record.held), queue=record.queue)
    distinct: object = record.uid if record.nominated_node else record.preempts
    if record.queue:
        distinct = (distinct, record.preemptible)  # what is not preemptible stays within the quota
    if (backfill := _backfill(record)) is not None:
        distinct = (distinct, backfill)
    return Equivalence(wants, record.scheduler, distinct, queue=record.queue)


def equivalence_of(job: Job, cluster: Cluster) -> Equivalence:
    """What gangs have in common with those that get the same answer: the same demands, and nothing held so far.

    One that is not even ready gets an answer of its own. Were it the newest of its class to be refused, the others
    would be thought beyond help as well.
    """
    wants: Counter[Shape] = Counter()
    kept: set[Shape] = set()  # a NonStrict gang keeps whatever it can place, also of those that it could do without
    group = cluster.gangs.group_of(job.demands[0].gang)
    distinct: list[object] = [] if is_ready(group, cluster) else [job.key]
    for demand in job.demands:
        shapes = Counter(member.shape for member in demand.members)
        if demand.mode == "NonStrict":
            kept.update(shape for shape in shapes if shape is not None)
        else:
            wants.update(_wanted(demand, shapes))
        gang = cluster.gangs.get(demand.gang)
        spec = gang.spec if gang is not None else None
        distinct.append(
            (
                demand.needed,
                demand.mode,
                demand.optional,
                frozenset(shapes.items()),
                all(member.preempts for member in demand.members),
                spec and (spec.min_resources, spec.topology),
                # Where something else orders the jobs of a class, the first may reach fewer victims than others.
                None if spec is None or spec.priority is None or gang is None else gang.priority,
                spec and spec.run_time_s,
                frozenset(map(_backfill, demand.members)),
            )
        )
        if gang is not None and (_has_room_of_its_own(gang) or any(each.nominated_node for each in demand.members)):
            distinct.append(job.key)
    for shape in kept:
        wants[shape] = max(wants[shape], 1)  # one slot, however many demands would take it
    if job.queue:
        distinct.append(all(member.preemptible for member in job.members))
    return Equivalence(tuple(wants.items()), _scheduler(job.demands), tuple(distinct), queue=job.queue)


def _backfill(record: PodRecord) -> object:
    """What decides whether a pod starts before a job that nodes are reserved for; None for most."""
    said = (record.run_time_s, record.deadline_s, record.is_protected)
    return said if said != (None, None, False) else None


def _wanted(demand: Demand, shapes: Counter[Shape | None]) -> Counter[Shape]:
    """The slots of each shape that a gang cannot do without; none of those that any other member would do for.

    Those are named too: room for one of them may be what completes it. Of 2, 2, 2 and 1 CPU, three on 4 and 1 CPUs.
    """
    wants: Counter[Shape] = Counter()
    for shape, count in shapes.items():
        others = len(demand.members) - count
        if shape is not None:
            wants[shape] = max(0, demand.needed - others)
    return wants


def _has_room_of_its_own(gang: Gang) -> bool:
    """What it holds counts for it alone: at Permit, and against its `minResources`."""
    return bool(gang.waiting) or (bool(gang.spec.min_resources) and bool(gang.assumed or gang.bound))


def _scheduler(demands: tuple[Demand, ...]) -> str:
    return ",".join(sorted({member.scheduler for demand in demands for member in demand.members}))
