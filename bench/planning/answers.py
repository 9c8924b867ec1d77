"""How long an explanation and a what-if take, on a full cluster: what is asked, and what is on the clock.

The cluster has ten jobs for each node, single pods of many apps, which leave too little room on each node; gangs wait.
`explain` asks about one gang after the other; `whatif` about a gang that does not exist. On the clock is everything
between the request and the answer, without HTTP: the copy of the state, the plans, the search for changes. Time by the
clock is what a user waits on an idle scheduler; CPU time says what it costs, and does not depend on other work.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.figures import BenchError, Figure, percentile
from bench.live.manifests import GANG_MINIMUM, GANG_NAME
from bench.planning.objects import SCHEDULER, node, node_name, pod, typed_node, typed_pod
from koordpy.api.answers import Explanation, WhatIf
from koordpy.app.build import BuiltScheduler, build_scheduler
from koordpy.app.settings import Settings
from koordpy.controllers.grouping.expansion import expanded
from koordpy.scheduler.answers.answering import Answering

Json = dict[str, Any]

TARGET_MS = 200.0  # at 1,000 nodes
_TARGET_NODES = 1_000
_PODS_PER_NODE = 10
_CPU_M = 3_000  # of the 32 CPUs of a node: two are left
_GANG, _GANGS = 8, 20
_MEMBER_CPU_M = 4_000
_WARM_UP = 2
_NOW = 1_767_225_600.0 + 3600


def figures(nodes: int, attempts: int) -> list[Figure]:
    """`explain` and `whatif`: half of them, of all but one in a hundred, and the CPU time of the middle one."""
    return asyncio.run(_figures(nodes, attempts))


async def _figures(nodes: int, attempts: int) -> list[Figure]:
    built = _full(nodes)
    answering = Answering(built.parts, built.book, built.throttle, built.schedulers, expand=expanded, wall=lambda: _NOW)
    gc.collect()
    gc.freeze()  # as `koordpy run` does when the caches are synced

    helpless = []  # for each explanation, whether its time was up before it had found any change that helps

    async def explain(number: int) -> None:
        answer: Explanation = await answering.explain("default", f"gang-{number % _GANGS:02d}")
        if not answer.changes and answer.stopped is None:
            raise BenchError("explain: there are changes that would start the gang, and none was found")
        helpless.append(not answer.changes)

    async def what_if(number: int) -> None:
        answer: WhatIf = await answering.what_if(_manifest(number), ())
        if answer.verdict == "Now":
            raise BenchError("what-if: the cluster was to be full, and the gang would start")

    where = f"{nodes:,} nodes, {nodes * _PODS_PER_NODE:,} pods"
    found = [
        *await _measured(f"explain, {where}", explain, attempts, nodes),
        *await _measured(f"what-if, {where}", what_if, attempts, nodes),
    ]
    gc.unfreeze()
    return [*found, Figure(f"explanations without a change, {where}", "%", (100 * sum(helpless) / len(helpless),))]


async def _measured(name: str, ask: Callable[[int], Awaitable[None]], attempts: int, nodes: int) -> list[Figure]:
    clock, cpu = [], []
    for attempt in range(attempts + _WARM_UP):
        began, began_cpu = time.perf_counter(), time.process_time()
        await ask(attempt)
        clock.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - began_cpu) * 1000)
    clock, cpu = clock[_WARM_UP:], cpu[_WARM_UP:]
    target = TARGET_MS if nodes == _TARGET_NODES else None
    slowest = percentile(tuple(clock), 99)
    return [
        Figure(name, "ms", tuple(clock), target),
        Figure(f"{name}, 99 of 100", "ms", (slowest,), target),
        Figure(f"{name}, CPU", "ms", tuple(cpu), target),
    ]


def _full(nodes: int) -> BuiltScheduler:
    """Everything has been attempted, and what waits was refused."""
    built = build_scheduler(Settings(), None, clock=lambda: _NOW, wall=lambda: _NOW)  # type: ignore[arg-type]
    for number in range(nodes):
        built.sinks.nodes.upsert(typed_node(node(number)))
    for number in range(nodes * _PODS_PER_NODE):
        on, app = node_name(number // _PODS_PER_NODE), f"app-{number // 100:04d}"
        built.sinks.pods.upsert(typed_pod(pod(number, app=app, cpu_m=_CPU_M, node=on)))
    for gang in range(_GANGS):
        for member in _members(f"gang-{gang:02d}", _MEMBER_CPU_M + gang):
            built.sinks.pods.upsert(typed_pod(member))
    built.sinks.settle_pods()
    while (ticket := built.scheduler.next_ticket()) is not None:
        built.scheduler.attempts.run(ticket)
    if len(list(built.queue)) != _GANGS:
        raise BenchError(f"{_GANGS} gangs were to wait, and there are {len(list(built.queue))}")
    return built


def _members(gang: str, cpu_m: int) -> list[Json]:
    made = [pod(number, app=gang, cpu_m=cpu_m) for number in range(_GANG)]
    for each in made:
        del each["metadata"]["ownerReferences"]
        each["metadata"]["annotations"] = {GANG_NAME: gang, GANG_MINIMUM: str(_GANG)}
    return made


def _manifest(number: int) -> bytes:
    """What a user sends: pods, without what the API server adds."""
    requests = {"cpu": f"{_MEMBER_CPU_M + 100 + number}m", "memory": "1Gi"}
    spec = {
        "schedulerName": SCHEDULER,
        "containers": [{"name": "main", "image": "i", "resources": {"requests": requests}}],
    }
    annotations = {GANG_NAME: "asked", GANG_MINIMUM: str(_GANG)}
    items = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"asked-{each}", "namespace": "default", "annotations": annotations},
            "spec": spec,
        }
        for each in range(_GANG)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
