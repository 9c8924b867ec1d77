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
    return Equivalence(wants, record.scheduler, record.uid if record.nominated_node else record.preempts)


def equivalence_of(job: Job, cluster: Cluster) -> Equivalence:
    """What gangs have in common with those that get the same answer: the same demands, and nothing held so far.

    One that is not even ready gets an answer of its own. Were it the newest of its class to be refused, the others
    would be thought beyond help as well.
    """
    wants: Counter[Shape] = Counter()
    group = cluster.gangs.group_of(job.demands[0].gang)
    distinct: list[object] = [] if is_ready(group, cluster) else [job.key]
    for demand in job.demands:
        shapes = Counter(member.shape for member in demand.members)
        wants.update(_wanted(demand, shapes))
        gang = cluster.gangs.get(demand.gang)
        spec = gang.spec if gang is not None else None
        distinct.append(
            (
                demand.needed,
                demand.mode,
                frozenset(shapes.items()),
                all(member.preempts for member in demand.members),
                spec and (spec.min_resources, spec.topology),
            )
        )
        if gang is not None and (_has_room_of_its_own(gang) or any(each.nominated_node for each in demand.members)):
            distinct.append(job.key)
    return Equivalence(tuple(wants.items()), _scheduler(job.demands), tuple(distinct))


def _wanted(demand: Demand, shapes: Counter[Shape | None]) -> Counter[Shape]:
    """The slots of each shape that a gang cannot do without; none of those that any other member would do for.

    Those are named too: room for one of them may be what completes it. Of 2, 2, 2 and 1 CPU, three on 4 and 1 CPUs.
    """
    wants: Counter[Shape] = Counter()
    for shape, count in shapes.items():
        others = len(demand.members) - count
        if shape is not None and demand.mode == "NonStrict":
            wants[shape] = 1  # it keeps whatever it can place, also of those that it could do without
        elif shape is not None:
            wants[shape] = max(0, demand.needed - others)
    return wants


def _has_room_of_its_own(gang: Gang) -> bool:
    """What it holds counts for it alone: at Permit, and against its `minResources`."""
    return bool(gang.waiting) or (bool(gang.spec.min_resources) and bool(gang.assumed or gang.bound))


def _scheduler(demands: tuple[Demand, ...]) -> str:
    return ",".join(sorted({member.scheduler for demand in demands for member in demand.members}))
