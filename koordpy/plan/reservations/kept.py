"""Whether a job still fits on the nodes that are reserved for it, beside others: by arithmetic on these nodes alone.

Mostly it does, and nobody has to plan it anew: what is asked is a few nodes and the pods on them, however large the
cluster is. It is a proof and no answer: where this says no, the job may still fit elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gangs import Profiles
from koordpy.plan.preemption.futile import minds_others
from koordpy.plan.reservations.earliest import Start
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial


def is_kept(
    job: Job,
    start: Start,
    others: Iterable[tuple[PodRecord, str]],
    is_gone: Callable[[PodRecord], bool],
    *,
    cluster: Cluster,
    profiles: Profiles,
) -> bool:
    """`others` are pods with the nodes that they would get now; `is_gone`: a pod has left its node by the start."""
    placed: dict[str, list[Shape]] = defaultdict(list)
    for each in start.placements:
        shape = job.by_uid[each.uid].shape
        if shape is None or each.uid not in cluster.pods:
            return False
        placed[each.node].append(shape)
    with Trial(cluster.occupancy) as trial:
        for pod, node in others:
            row = cluster.nodes.row_of(node)
            if row is not None and pod.shape is not None:
                trial.place(row, pod.shape)
        if any(_minds_others(member, cluster, profiles) for member in job.members):
            return False
        return bool(placed) and all(_has_room(node, shapes, is_gone, cluster) for node, shapes in placed.items())


def _minds_others(member: PodRecord, cluster: Cluster, profiles: Profiles) -> bool:
    return member.shape is None or minds_others(member.shape, cluster, profiles[member.scheduler])


def _has_room(node: str, shapes: list[Shape], is_gone: Callable[[PodRecord], bool], cluster: Cluster) -> bool:
    row = cluster.nodes.row_of(node)
    if row is None:
        return False
    leaves = [pod.shape for pod in cluster.pods_on(node) if pod.shape is not None and is_gone(pod)]
    lacks: dict[int, int] = defaultdict(int)
    for shape in shapes:
        for resource, amount in zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True):
            lacks[resource] += amount
    for shape in leaves:
        for resource, amount in zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True):
            lacks[resource] -= amount
    free = cluster.nodes.allocatable[:, row] - cluster.nodes.requested[:, row]  # [R]
    asked = {resource for shape in shapes for resource in shape.rows[shape.amounts > 0].tolist()}
    return all(lacks[resource] <= free[resource] for resource in asked)
