"""How long it takes to find the victims for a gang on a full cluster, or to see that there are none.

Every node is taken by pods of lower priority, so that every node is as good as any other: the search has nothing to
hold on to. They are jobs of their own, or gangs that go as a whole. The gang that wants in asks for whole nodes.
"""

from __future__ import annotations

import gc
import time

from bench.figures import BenchError, Figure
from bench.planning.objects import SCHEDULER, app_of, node, node_name, pod, typed_node, typed_pod
from koordpy.api.keys import GANG_NAME, MIN_AVAILABLE
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.preemption.eligibility import Preemption, find_preemption
from koordpy.state.cluster import Cluster
from koordpy.state.options import ClusterOptions

TARGET_MS = 250
TARGET_IMPOSSIBLE_MS = 50
CPUS = 32
URGENT = 1_000
GANG = 20  # members of a gang that runs


def figures(nodes: int, size: int, attempts: int) -> list[Figure]:
    cluster = _full(nodes)
    found = _timed(cluster, size, attempts, expected=size)
    vain = _timed(cluster, nodes + 1, attempts, expected=0)
    of_gangs = _timed(_full(nodes, GANG), size, attempts, expected=-(-size // GANG) * GANG)
    where = f"{nodes:,} full nodes"
    return [
        Figure(f"victims for {size:,} whole-node pods, {where}", "ms", found, TARGET_MS),
        Figure(f"victims for {size:,} whole-node pods, {where} of gangs of {GANG}", "ms", of_gangs, TARGET_MS),
        Figure(f"refuse {nodes + 1:,} whole-node pods, {where}", "ms", vain, TARGET_IMPOSSIBLE_MS),
    ]


def _timed(cluster: Cluster, size: int, attempts: int, expected: int) -> tuple[float, ...]:
    job, profiles = _gang(cluster, size), {SCHEDULER: default_profile(SCHEDULER)}
    gc.collect()
    gc.freeze()  # as `koordpy run` does when the caches are synced
    samples = []
    for _ in range(attempts):
        started = time.perf_counter()
        answer = find_preemption(job, cluster, profiles)
        samples.append((time.perf_counter() - started) * 1000)
        victims = len(answer.victims) if isinstance(answer, Preemption) else 0
        if victims != expected:
            raise BenchError(f"{expected} victims were to be found for {size} pods, and {victims} were: {answer}")
    gc.unfreeze()
    for uid in job.by_uid:
        cluster.remove_pod(uid)
    return tuple(samples)


def _gang(cluster: Cluster, size: int) -> Job:
    pods = [pod(10_000_000 + number, app="urgent", cpu_m=CPUS * 1000) for number in range(size)]
    for each in pods:
        each["spec"]["priority"] = URGENT
    members = tuple(cluster.upsert_pod(typed_pod(each)) for each in pods)
    return Job("urgent", members, (Demand("default/urgent", size, 0, "Strict", members),))


def _full(nodes: int, gang: int = 1) -> Cluster:
    cluster = Cluster(ClusterOptions(schedulers=(SCHEDULER,)))
    cluster.set_namespace("default", {})
    for number in range(nodes):
        cluster.upsert_node(typed_node(node(number, cpu=CPUS) | {"spec": {}}))
        low = pod(number, app=app_of(number), node=node_name(number), cpu_m=CPUS * 1000)
        if gang > 1:
            low["metadata"]["annotations"] = {GANG_NAME: f"gang-{number // gang}", MIN_AVAILABLE: str(gang)}
        cluster.upsert_pod(typed_pod(low))
    return cluster
