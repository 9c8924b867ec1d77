"""How long it takes to plan a gang that is to be gathered in the network.

Only the plan is on the clock. Each gang has a shape of its own, as gangs in a cluster do, and leaves again after it was
planned. A small gang finds enough slots on every node, a large one in few domains; members of several sizes are placed
one by one.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from random import Random

from bench.figures import BenchError, Figure
from bench.planning.fabric import LAYERS, PROFILES, members_of, nodes_of
from bench.traces import Role
from koordpy.api.topology import GatherRule, Layer
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.placement.jobs import plan_job
from koordpy.state.cluster import Cluster

TARGET_MS = 30.0
WARM_UP = 2
_RULES = (GatherRule("corelayer", must=True, multiple=1),)
_FOUR_LAYERS = (Layer("CoreLayer", "", ("core",)), Layer("SpineLayer", "CoreLayer", ("spine",)), *LAYERS[1:])


def figures(nodes: int, sizes: Sequence[int], attempts: int) -> list[Figure]:
    """Equal members of half a node each, so many; and a master with as many workers of another size."""
    cluster = Cluster()
    cluster.topology.set_layers(_FOUR_LAYERS)
    for node in nodes_of(nodes, Random(1)):
        cluster.upsert_node(node)
    where = f"{nodes:,} nodes in four layers"
    found = []
    for size in sizes:
        workers = Role("worker", size, 4, 8_000, 1_024)
        found.append(_figure(f"plan a gathered gang of {size:,}, {where}", cluster, (workers,), attempts))
    group = (Role("master", 1, 8, 16_000, 1_024), Role("worker", min(sizes[-1], 64), 4, 8_000, 1_024))
    name = f"plan a gathered master and {group[1].pods:,} workers, {where}"
    return [*found, _figure(name, cluster, group, attempts)]


def _figure(name: str, cluster: Cluster, roles: tuple[Role, ...], attempts: int) -> Figure:
    gc.collect()
    gc.freeze()  # as `koordpy run` does when the caches are synced
    samples = []
    for attempt in range(attempts + WARM_UP):
        job = _job(cluster, tuple(role._replace(cpu_m=role.cpu_m + attempt) for role in roles))
        started = time.perf_counter()
        answer = plan_job(job, cluster, PROFILES, _RULES)
        samples.append((time.perf_counter() - started) * 1000)
        if isinstance(answer, Refusal):
            raise BenchError(f"{name}: was to be placed, and was refused: {answer.message}")
        for uid in job.by_uid:
            cluster.remove_pod(uid)
    gc.unfreeze()
    return Figure(name, "ms", tuple(samples[WARM_UP:]), TARGET_MS)


def _job(cluster: Cluster, roles: tuple[Role, ...]) -> Job:
    demands = []
    for role in roles:
        members = tuple(cluster.upsert_pod(pod) for pod in members_of(role.name, role))
        demands.append(Demand(f"default/{role.name}", role.pods, 0, "Strict", members))
    return Job("job", tuple(member for demand in demands for member in demand.members), tuple(demands))
