"""How long it takes to find the earliest start of a gang, on a full cluster where every pod declares its end.

On the clock is what a reservation costs: the ends are put in order, and the gang is planned at one of them after the
other. No two pods end together, and a member needs most of a node, so that the search goes deep.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from random import Random

from bench.figures import BenchError, Figure
from bench.planning.objects import SCHEDULER, node, node_name, pod, typed_node, typed_pod
from koordpy.api.keys import RUN_TIME
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.jobs import plan_job
from koordpy.plan.reservations.earliest import Start, earliest_start
from koordpy.plan.reservations.ends import ends_of
from koordpy.state.cluster import Cluster

TARGET_MS = 100.0
_PODS_PER_NODE = 10
_CPU_M, _MEMBER_CPU_M = 3_000, 30_000  # of the 32 CPUs of a node
_NOW = 1_767_225_600.0


def figures(nodes: int, size: int, attempts: int) -> list[Figure]:
    cluster = _full(nodes)
    job = _gang(cluster, size)
    gc.collect()
    gc.freeze()  # as `koordpy run` does when the caches are synced
    samples = [_timed(lambda: _start(job, cluster)) for _ in range(attempts + 1)][1:]
    gc.unfreeze()
    where = f"{nodes:,} nodes, {nodes * _PODS_PER_NODE:,} pods"
    clock, cpu = zip(*samples, strict=True)
    name = f"earliest start of a gang of {size:,}, {where}"
    return [Figure(name, "ms", clock, TARGET_MS), Figure(f"{name}, CPU", "ms", cpu, TARGET_MS)]


def _timed(search: Callable[[], Start | None]) -> tuple[float, float]:
    """By the clock, and of the CPU."""
    began, began_cpu = time.perf_counter(), time.process_time()
    start = search()
    taken = (time.perf_counter() - began) * 1000, (time.process_time() - began_cpu) * 1000
    if start is None or start.at <= _NOW:
        raise BenchError(f"the gang was to start when others have ended, and it starts {start and start.at}")
    return taken


def _start(job: Job, cluster: Cluster) -> Start | None:
    profiles = {SCHEDULER: default_profile(SCHEDULER)}
    ends, _ = ends_of(job, cluster, _NOW)
    plan = partial(plan_job, cluster=cluster, profiles=profiles)
    return earliest_start(job, ends, _NOW, plan=plan, cluster=cluster, profiles=profiles)


def _full(nodes: int) -> Cluster:
    cluster = Cluster()
    for number in range(nodes):
        cluster.upsert_node(typed_node(node(number)))
    seconds = [60 + each for each in range(nodes * _PODS_PER_NODE)]
    Random(1).shuffle(seconds)
    for number, ends_in in enumerate(seconds):
        app = f"app-{number // 100:04d}"
        running = pod(number, app=app, cpu_m=_CPU_M, node=node_name(number // _PODS_PER_NODE))
        running["metadata"].setdefault("annotations", {})[RUN_TIME] = f"{ends_in}s"
        running["status"]["startTime"] = "2026-01-01T00:00:00Z"
        cluster.upsert_pod(typed_pod(running))
    return cluster


def _gang(cluster: Cluster, size: int) -> Job:
    pods = [pod(10_000_000 + number, app="large", cpu_m=_MEMBER_CPU_M) for number in range(size)]
    members = tuple(cluster.upsert_pod(typed_pod(each)) for each in pods)
    return Job("large", members, (Demand("default/large", size, 0, "Strict", members),))
