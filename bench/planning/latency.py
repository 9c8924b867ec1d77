"""How long it takes to plan one pod.

Only `plan` is on the clock. Between two plans the pod of the first is assumed, as in the scheduler, so that no plan
finds the state of the one before. Each case is measured twice: with pods of a *known shape*, for which masks of static
filters are remembered (the members of a gang, the pods of a ReplicaSet), and with a *new shape* each time: the first
pod of an app, whose selectors have no tally yet.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable

from bench.figures import BenchError, Figure
from bench.planning.objects import (
    HOSTNAME,
    PODS_PER_APP,
    SCHEDULER,
    ZONE,
    Json,
    app_of,
    node,
    node_name,
    pod,
    typed_node,
    typed_pod,
)
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.pods import plan
from koordpy.state.cluster import Cluster

TARGET_PLAIN_MS = 0.5
TARGET_NEIGHBOURS_MS = 2.0
WARM_UP = 5
FIRST_PENDING = 10_000_000  # beyond the numbers of the pods that run


def plain(nodes: int, attempts: int) -> list[Figure]:
    """Resources, taints, node selector and node affinity, on nodes with one pod each."""
    cluster = _running_on(nodes, (pod(i, app=app_of(i), node=node_name(i)) for i in range(nodes)))
    return _known_and_new(
        f"plan, resources+taints+selectors, {nodes:,} nodes", cluster, _with_node_constraints, attempts
    )


def neighbours(nodes: int, pods: int, attempts: int) -> list[Figure]:
    """Topology spread and inter-pod affinity, against pods of which many have the same rules."""
    cluster = _running_on(
        nodes, (_with_pod_constraints(i, app=app_of(i), node=node_name(i * 7919 % nodes)) for i in range(pods))
    )
    name = f"plan, spread+inter-pod affinity, {nodes:,} nodes, {pods:,} pods"
    return _known_and_new(name, cluster, _with_pod_constraints, attempts, TARGET_NEIGHBOURS_MS)


def _known_and_new(
    name: str,
    cluster: Cluster,
    build: Callable[..., Json],
    attempts: int,
    target_ms: float = TARGET_PLAIN_MS,
) -> list[Figure]:
    numbers = range(FIRST_PENDING, FIRST_PENDING + attempts + WARM_UP)
    known = _timed(cluster, (build(number, app="app-known") for number in numbers))
    new = _timed(cluster, (build(number, app=f"app-new-{number}") for number in numbers))
    return [
        Figure(f"{name}, known shape", "ms", known, target_ms),
        Figure(f"{name}, new shape", "ms", new, target_ms),
    ]


def _timed(cluster: Cluster, pods: Iterable[Json]) -> tuple[float, ...]:
    """Milliseconds for each plan, without those of the warm-up."""
    profile = default_profile(SCHEDULER)
    gc.collect()
    gc.freeze()  # as `koordpy run` does when the caches are synced
    samples = []
    for obj in pods:
        record = cluster.upsert_pod(typed_pod(obj))
        job = Job(record.uid, (record,))
        started = time.perf_counter()
        answer = plan(job, cluster, profile)
        samples.append((time.perf_counter() - started) * 1000)
        if isinstance(answer, Refusal):
            raise BenchError(f"pod {record.key} was to be placed, and was refused: {answer.message}")
        cluster.assume(record.uid, answer.placements[0].node)
    gc.unfreeze()
    return tuple(samples[WARM_UP:])


def _running_on(nodes: int, pods: Iterable[Json]) -> Cluster:
    cluster = Cluster()
    cluster.set_namespace("default", {})
    for number in range(nodes):
        cluster.upsert_node(typed_node(node(number)))
    for obj in pods:
        cluster.upsert_pod(typed_pod(obj))
    return cluster


def _with_node_constraints(number: int, *, app: str) -> Json:
    zones = {"key": ZONE, "operator": "NotIn", "values": ["zone-00", "zone-01"]}
    return pod(
        number,
        app=app,
        nodeSelector={"disk": "ssd"},
        tolerations=[{"key": "pool", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}
            }
        },
    )


def _with_pod_constraints(number: int, *, app: str, node: str = "") -> Json:
    """Spread over zones, anti-affinity by host, affinity to another app. One in three running apps has these rules."""
    has_rules = number >= FIRST_PENDING or number // PODS_PER_APP % 3 == 0
    return pod(number, app=app, node=node, **(_rules(app) if has_rules else {}))


def _rules(app: str) -> Json:
    own, other = {"matchLabels": {"app": app}}, {"matchLabels": {"app": "app-0001"}}
    by_host = {"labelSelector": own, "topologyKey": HOSTNAME}
    by_zone = {"weight": 50, "podAffinityTerm": {"labelSelector": other, "topologyKey": ZONE}}
    return {
        "topologySpreadConstraints": [
            {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": own},
            {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": own},
        ],
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [by_host]},
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [by_zone]},
        },
    }
