"""What one hostile tenant costs the others: `python -m tests.hostile.tenants` prints how fast their pods are placed.

Planning in memory, no API server: the share of the scheduler's own time is what a tenant could take from others. The
others come at a time at which the tenant's objects come too: first as if he were not there, then while his objects are
taken in (every so many of theirs, one of his batches), then with all of them waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import PodGroup
from koordpy.app import logs
from tests.builders import Json, pod_json, typed, with_identity
from tests.scheduler.wakeups.rig import Rig

NODES, OTHERS = 200, 2000
BATCH = 50  # pods of the others that come between two batches of the tenant's
GANG = "pod-group.scheduling.sigs.k8s.io"
VERSION = "scheduling.sigs.k8s.io/v1alpha1"


class Hostile(NamedTuple):
    pods: Callable[[int], list[Json]]  # so many
    count: int
    group: Json | None = None


class Cost(NamedTuple):
    """Pods of others in a second of the scheduler's time; seconds that the tenant's objects took by themselves."""

    before: float
    during: float
    after: float
    ingested_s: float


def hostile_pod(name: str, **given: object) -> Json:
    return with_identity(pod_json(name, namespace="hostile", **given))  # type: ignore[arg-type]


def odd_pods(count: int) -> list[Json]:
    """No two of them are equivalent, and none fits."""
    return [hostile_pod(f"odd-{i}", cpu=1000 + i, labels={f"key-{i}": "x"}) for i in range(count)]


def selectors(count: int) -> list[Json]:
    """Each asks for pods with a key that nobody has heard of."""
    pods = []
    for i in range(count):
        selector = {"matchExpressions": [{"key": f"key-{i}", "operator": "Exists"}]}
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        pods.append(hostile_pod(f"selects-{i}", cpu=1, affinity={"podAffinity": rule}))
    return pods


def large_gang(count: int) -> list[Json]:
    """It has all its members, and will never fit."""
    return [hostile_pod(f"m-{i}", cpu=1, labels={GANG: "huge"}) for i in range(count)]


def pod_group(minimum: int, annotation: str = "") -> Json:
    metadata = {"name": "huge", "namespace": "hostile", "uid": "g", "annotations": {"x": annotation}}
    return {"metadata": metadata, "spec": {"minMember": minimum}}


CASES = {
    "nobody else": Hostile(odd_pods, 0),
    "10,000 odd pods": Hostile(odd_pods, 10_000),
    "1,000 selectors with keys of their own": Hostile(selectors, 1000),
    "a gang of 100,000": Hostile(large_gang, 100_000, pod_group(100_000)),
    "a PodGroup with 1 MB of annotations": Hostile(large_gang, 2, pod_group(3, "x" * 2**20)),
}


class Stage:
    """A scheduler, its other tenants, and the hostile one."""

    def __init__(self, nodes: int = NODES, cpu: int = 64) -> None:
        self.rig = Rig()
        for i in range(nodes):
            self.rig.node(f"n{i}", cpu=cpu)
        self._named = 0

    def others(self, count: int) -> None:
        """So many pods come and are placed."""
        names = [f"p{self._named + i}" for i in range(count)]
        self._named += count
        for name in names:
            self.rig.pod(name, cpu=1)
        waiting = [f"u-{name}" for name in names]
        while waiting:
            self._attempt()
            while waiting and self.rig.cluster.pods[waiting[-1]].node:
                waiting.pop()

    def ingest(self, pods: list[Pod], group: Json | None = None) -> None:
        """As a watch delivers them, and with the attempts that follow at once."""
        sinks = self.rig.built.sinks
        if group is not None:
            sinks.gang_objects[VERSION].upsert(typed(group, PodGroup))
        for obj in pods:
            sinks.pods.upsert(obj)
        sinks.settle_pods()

    def _attempt(self) -> None:
        ticket = self.rig.scheduler.next_ticket()
        if ticket is None:
            self.rig.hand_clock.now += 1
        else:
            self.rig.scheduler.attempts.run(ticket)

    def rest(self) -> None:
        """Until nothing is left to attempt at this moment."""
        while (ticket := self.rig.scheduler.next_ticket()) is not None:
            self.rig.scheduler.attempts.run(ticket)


def cost_of(case: Hostile, others: int = OTHERS) -> Cost:
    stage = Stage()
    before = _rate(lambda: stage.others(others), others)
    pods = [typed(obj, Pod) for obj in case.pods(case.count)]  # decoded: what comes after is compared
    batches = list(_batches(pods, others // BATCH))
    stage.ingest([], case.group)
    ingested: list[float] = []

    def both() -> None:
        for batch in batches:
            began = time.perf_counter()
            stage.ingest(batch)
            ingested.append(time.perf_counter() - began)
            stage.others(BATCH)

    during = _rate(both, others)
    stage.rest()
    after = _rate(lambda: stage.others(others), others)
    return Cost(before, during, after, sum(ingested))


def _rate(act: Callable[[], None], others: int) -> float:
    began = time.perf_counter()
    act()
    return others / (time.perf_counter() - began)


def _batches(pods: list[Pod], count: int) -> Iterator[list[Pod]]:
    size = -(-len(pods) // count)
    for number in range(count):
        yield pods[number * size : (number + 1) * size]


def main() -> None:
    logs.configure("error", "console")
    print("pods of others in a second of the scheduler's time, and what it takes to take in the tenant's objects\n")
    print("| one tenant has | before | while they come | once they are there | to take them in |")
    print("|---|---:|---:|---:|---:|")
    for name, case in CASES.items():
        cost = cost_of(case)
        rates = " | ".join(f"{rate:,.0f}" for rate in cost[:3])
        print(f"| {name} | {rates} | {cost.ingested_s:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
