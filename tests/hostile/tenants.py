"""What one hostile tenant costs the others: `python -m tests.hostile.tenants` prints how fast their pods are placed.

Planning in memory, no API server: the share of the scheduler's own time is what a tenant could take from others.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import PodGroup
from koordpy.app import logs
from tests.builders import Json, pod_json, typed, with_identity
from tests.scheduler.wakeups.rig import Rig

NODES, OTHERS = 200, 2000
GANG = "pod-group.scheduling.sigs.k8s.io"


def hostile_pod(name: str, **given: object) -> Json:
    return with_identity(pod_json(name, namespace="hostile", **given))  # type: ignore[arg-type]


def odd_pods() -> list[Json]:
    """No two of them are equivalent, and none fits."""
    return [hostile_pod(f"odd-{i}", cpu=1000 + i, labels={f"key-{i}": "x"}) for i in range(10_000)]


def selectors() -> list[Json]:
    """Each asks for pods with a key that nobody has heard of."""
    pods = []
    for i in range(1000):
        selector = {"matchExpressions": [{"key": f"key-{i}", "operator": "Exists"}]}
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        pods.append(hostile_pod(f"selects-{i}", cpu=1, affinity={"podAffinity": rule}))
    return pods


def large_gang() -> list[Json]:
    """It has all its members, and will never fit."""
    return [hostile_pod(f"m-{i}", cpu=1, labels={GANG: "huge"}) for i in range(100_000)]


def large_annotations() -> list[Json]:
    return [hostile_pod(f"m-{i}", cpu=1, labels={GANG: "huge"}) for i in range(2)]


def pod_group(minimum: int, annotation: str = "") -> Json:
    metadata = {"name": "huge", "namespace": "hostile", "uid": "g", "annotations": {"x": annotation}}
    return {"metadata": metadata, "spec": {"minMember": minimum}}


def others_per_second(hostile: list[Json], group: Json | None = None) -> float:
    rig = Rig()
    for i in range(NODES):
        rig.node(f"n{i}", cpu=64)
    if group is not None:
        rig.built.sinks.gang_objects["scheduling.sigs.k8s.io/v1alpha1"].upsert(typed(group, PodGroup))
    for obj in hostile:
        rig.built.sinks.pods.upsert(typed(obj, Pod))
    rig.built.sinks.settle_pods()
    began = time.perf_counter()
    for i in range(OTHERS):
        rig.pod(f"p{i}", cpu=1)
    waiting = [f"u-p{i}" for i in range(OTHERS)]
    while waiting:
        ticket = rig.scheduler.next_ticket()
        if ticket is None:
            rig.hand_clock.now += 1
        else:
            rig.scheduler.attempts.run(ticket)
        while waiting and rig.cluster.pods[waiting[-1]].node:
            waiting.pop()
    return OTHERS / (time.perf_counter() - began)


CASES: dict[str, Callable[[], tuple[list[Json], Json | None]]] = {
    "nobody else": lambda: ([], None),
    "10,000 odd pods": lambda: (odd_pods(), None),
    "1,000 selectors with keys of their own": lambda: (selectors(), None),
    "a gang of 100,000": lambda: (large_gang(), pod_group(100_000)),
    "a PodGroup with 1 MB of annotations": lambda: (large_annotations(), pod_group(3, "x" * 2**20)),
}

if __name__ == "__main__":
    logs.configure("error", "console")
    for name, case in CASES.items():
        print(f"{name:40} {others_per_second(*case()):8.0f} pods/s of others", flush=True)
