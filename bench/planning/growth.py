"""How the cost of planning a gang grows: with the cluster, and with the gang. They are what the log-log plot shows.

Only `plan_job` is on the clock. Each gang has a shape of its own, as gangs in a cluster do, and leaves again after it
was planned, so that every sample finds the same room.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence

from bench.figures import BenchError, Figure
from bench.planning.objects import SCHEDULER, node, pod, typed_node, typed_pod
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.jobs import plan_job
from koordpy.state.cluster import Cluster

WARM_UP = 2


def by_nodes(node_counts: Sequence[int], size: int, attempts: int) -> list[Figure]:
    """A gang of one size on clusters of many."""
    return [_figure(_cluster(count), count, size, attempts) for count in node_counts]


def by_size(sizes: Sequence[int], nodes: int, attempts: int) -> list[Figure]:
    """Gangs of many sizes on one cluster."""
    cluster = _cluster(nodes)
    return [_figure(cluster, nodes, size, attempts) for size in sizes]


def name_of(size: int, nodes: int) -> str:
    return f"plan a gang of {size:,} on {nodes:,} nodes"


def _figure(cluster: Cluster, nodes: int, size: int, attempts: int) -> Figure:
    profiles = {SCHEDULER: default_profile(SCHEDULER)}
    gc.collect()
    gc.freeze()  # as `koordpy run` does when the caches are synced
    samples = []
    for attempt in range(attempts + WARM_UP):
        job = _gang(cluster, size, attempt)
        started = time.perf_counter()
        answer = plan_job(job, cluster, profiles)
        samples.append((time.perf_counter() - started) * 1000)
        if isinstance(answer, Refusal):
            raise BenchError(f"a gang of {size:,} was to be placed, and was refused: {answer.message}")
        for uid in job.by_uid:
            cluster.remove_pod(uid)
    gc.unfreeze()
    return Figure(name_of(size, nodes), "ms", tuple(samples[WARM_UP:]))


def _gang(cluster: Cluster, size: int, attempt: int) -> Job:
    """A gang of a few more millicores each time: a new shape."""
    app = f"gang-{size}-{attempt}"
    pods = (typed_pod(pod(number, app=app, cpu_m=100 + attempt)) for number in range(size))
    members = tuple(cluster.upsert_pod(each) for each in pods)
    return Job(app, members, (Demand(f"default/{app}", size, 0, "Strict", members),))


def _cluster(nodes: int) -> Cluster:
    """Plain nodes without taints: every one of them could be taken."""
    cluster = Cluster()
    cluster.set_namespace("default", {})
    for number in range(nodes):
        cluster.upsert_node(typed_node(node(number) | {"spec": {}}))
    return cluster
