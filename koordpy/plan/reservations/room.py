"""Room over time, by arithmetic alone: when at the earliest a job could fit, before anybody plans it.

50,000 pods that end one after the other are two arrays; what they free up to some end is one sum. A job cannot fit
before its members fit beside each other by their requests, whatever else filters say: planning begins there. This is a
bound and no answer. Where members differ, or some are on nodes already, there is none.
"""

from __future__ import annotations

import numpy as np

from koordpy.plan.framework.job import Job
from koordpy.plan.placement.fit import static_mask
from koordpy.plan.placement.gangs import Profiles
from koordpy.plan.reservations.departures import Departures
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape


def fewest_ends(job: Job, departures: Departures, cluster: Cluster, profiles: Profiles) -> int:
    """How many of the first to leave have to be gone for the job to fit; if all of them are too few, one more."""
    every_wanted = _wanted(job, cluster)
    if not every_wanted:
        return 0
    found = 0
    for wanted in every_wanted:
        usable = static_mask(wanted[0], cluster, profiles[job.members[0].scheduler]) & cluster.nodes.live  # [N]
        found = max(found, _fewest(wanted, departures, usable, cluster))
    return found


def _wanted(job: Job, cluster: Cluster) -> list[tuple[Shape, int]]:
    """Of which shape so many are needed together."""
    if any(gang.waiting for each in job.gangs if (gang := cluster.gangs.get(each)) is not None):
        return []  # those at Permit may be moved, and their room counts as taken
    if len({member.scheduler for member in job.members}) > 1:
        return []  # they may be let onto different nodes
    if not job.demands:
        return [(member.shape, 1) for member in job.members if member.shape is not None]
    found = []
    for demand in job.demands:
        shapes = {member.shape for member in demand.members}
        shape = shapes.pop() if len(shapes) == 1 else None
        if shape is not None and demand.needed > 0:
            found.append((shape, demand.needed))
    return found


def _fewest(wanted: tuple[Shape, int], departures: Departures, usable: Bools, cluster: Cluster) -> int:
    shape, number = wanted
    asked = [(row, amount) for row, amount in zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True) if amount]
    rows, freed = departures.rows, departures.freed([row for row, _ in asked])  # [E], [K, E]
    low, high = 0, len(departures) + 1
    while low < high:
        middle = (low + high) // 2
        if middle > len(departures) or _slots(asked, freed[:, :middle], rows[:middle], usable, cluster) >= number:
            high = middle
        else:
            low = middle + 1
    return low


def _slots(asked: list[tuple[int, int]], freed: Ints, rows: Ints, usable: Bools, cluster: Cluster) -> int:
    """How many of a shape fit on all usable nodes together, by their requests, when these are gone."""
    nodes, there = cluster.nodes, rows >= 0
    where = rows[there]
    slots: Ints = np.where(usable, np.iinfo(np.int64).max, 0)  # [N]
    for number, (resource, amount) in enumerate(asked):
        free = nodes.allocatable[resource] - nodes.requested[resource]
        np.add.at(free, where, freed[number][there])
        np.minimum(slots, np.maximum(free, 0) // amount, out=slots)
    return int(np.minimum(slots, 1 << 32).sum())  # a pod that asks for nothing fits any number of times
