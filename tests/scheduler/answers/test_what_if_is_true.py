"""What a what-if says is what then happens, if nothing else happens in between: nodes, victims, a time, or nothing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from koordpy.api.answers import WhatIfJob
from koordpy.api.pod import Pod
from koordpy.api.podgroup.kai import KaiPodGroup
from koordpy.api.times import seconds_of_instant
from koordpy.controllers.grouping.expansion import expanded
from koordpy.scheduler.answers.answering import Answering
from koordpy.state.nodes.resources import CPU
from tests.builders import pod_json, typed, with_identity
from tests.scenarios.objects import gang
from tests.scheduler.frontends.rig import KAI
from tests.scheduler.queues.rig import LABEL, QueueRig
from tests.scheduler.test_backfill import RUN_TIME, TimedRig

pytestmark = pytest.mark.random


def random_rig(dice: random.Random) -> QueueRig:
    rig = QueueRig()
    nodes = [f"n{number}" for number in range(dice.randint(1, 4))]
    for name in nodes:
        rig.node(name, cpu=dice.randint(1, 4))
    queues = ["a", "b"] if dice.random() < 0.5 else []
    for queue in queues:
        rig.has_queue(queue, cpu=(dice.randint(0, 3), dice.choice([-1, 3])))
    for number in range(dice.randint(0, 6)):
        rig.job(
            f"r{number}",
            dice.choice(queues) if queues else "",
            on=dice.choice(nodes),
            priority=dice.choice([0, 0, 5, 10]),
        )
    rig.settle()
    return rig


def random_gang(dice: random.Random, rig: QueueRig) -> list[dict]:
    count = dice.randint(1, 4)
    labels = {LABEL: dice.choice("ab")} if rig.built.book.in_use else {}
    given = {"cpu": dice.choice(["500m", 1, 2]), "priority": dice.choice([0, 7, 20]), "labels": labels}
    annotations = gang("g", minimum=count) if dice.random() < 0.7 else None
    names = [f"g-{number}" for number in range(count if annotations else 1)]
    return [with_identity(pod_json(name, annotations=annotations, **given)) for name in names]


def random_workload(dice: random.Random, rig: QueueRig) -> dict:
    """All pods of it start together."""
    count = dice.randint(1, 4)
    spec = pod_json("x", cpu=dice.choice(["500m", 1, 2]), priority=dice.choice([0, 7, 20]))["spec"]
    labels = {LABEL: dice.choice("ab")} if rig.built.book.in_use else {}
    meta = {"name": "w", "labels": labels}
    if dice.random() < 0.5:
        together = {"kai.scheduler/batch-min-member": str(count)}
        job = {"parallelism": count, "template": {"spec": spec}}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta | {"annotations": together}, "spec": job}
    roles = {
        "Master": {"replicas": 1, "template": {"spec": spec}},
        "Worker": {"replicas": count, "template": {"spec": spec}},
    }
    roles = {"pytorchReplicaSpecs": roles}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": meta, "spec": roles}


def random_ground(dice: random.Random, rig: QueueRig) -> list[tuple[str, str]]:
    """Nodes that are added, a node or a job that is taken away: or some of them, or nothing."""
    running = sorted(pod.name for pod in rig.cluster.pods.values() if pod.node)
    nodes = nodes_of(rig)
    query = [("addNodes", str(dice.randint(1, 2))), ("like", nodes[0])] if dice.random() < 0.3 else []
    if running and dice.random() < 0.3:
        query.append(("withoutJob", f"default/{dice.choice(running)}"))
    if len(nodes) > 1 and dice.random() < 0.3:
        query.append(("withoutNode", nodes[-1]))
    return query


def nodes_of(rig: QueueRig) -> list[str]:
    """`n0`, `n1` and so on."""
    return [name for number in range(4) if rig.cluster.nodes.row_of(name := f"n{number}") is not None]


def cpu_of(rig: QueueRig, node: str) -> int:
    """In thousandths."""
    return int(rig.cluster.nodes.allocatable[CPU, rig.cluster.nodes.row_of(node)])


def change(rig: QueueRig, query: Sequence[tuple[str, str]]) -> None:
    """What the query supposes."""
    asked = dict(query)
    for number in range(1, int(asked.get("addNodes", 0)) + 1):
        rig.node(f"{asked['like']}-added-{number}", cpu=f"{cpu_of(rig, asked['like'])}m")
    gone = asked.get("withoutNode")
    for pod in list(rig.cluster.pods.values()):
        if (gone and pod.node == gone) or f"default/{pod.name}" == asked.get("withoutJob"):
            rig.gone(pod.name)
    if gone:
        rig.no_node(gone)


def submit(rig: QueueRig, objects: Sequence[dict]) -> dict[str, str]:
    """Keys of the pods, by UID."""
    keys = {}
    for obj in objects:
        if obj["kind"] == "Pod":
            rig.pods.upsert(typed(obj, Pod))
            keys[obj["metadata"]["uid"]] = f"default/{obj['metadata']['name']}"
        else:
            rig.sinks.gang_objects[KAI].upsert(typed(obj, KaiPodGroup))
    return keys


def check(rig: QueueRig, told: WhatIfJob, keys: dict[str, str]) -> None:
    """Nodes, victims and nominations are those that were foretold."""
    placed = {keys[uid]: rig.cluster.pods[uid].node for uid in keys if rig.cluster.pods[uid].node}
    assert sorted(f"default/{name}" for name in rig.evicted()) == sorted(each.pod for each in told.evicts)
    if told.verdict == "Now":
        assert placed == {each.pod: each.node for each in told.placement}
    else:
        assert not placed
    if told.verdict == "ByEvicting":
        nominated = {keys[uid]: rig.cluster.pods[uid].nominated_node for uid in keys}
        assert nominated == {each.pod: each.node for each in told.placement}


def foretold(rig: QueueRig, sent: Any, query: Sequence[tuple[str, str]] = ()) -> WhatIfJob:
    built = rig.built
    clock = rig.hand_clock
    asked = Answering(
        built.parts, built.book, built.throttle, built.schedulers, expand=expanded, wall=lambda: clock.now
    )
    (told,) = asyncio.run(asked.what_if(msgspec.json.encode(sent), query)).jobs
    return told


@pytest.mark.parametrize("seed", range(150))
def test_what_is_foretold_happens(seed):
    dice = random.Random(seed)
    rig = random_rig(dice)
    pods = random_gang(dice, rig)
    told = foretold(rig, pods)
    keys = submit(rig, pods)
    rig.settle()
    check(rig, told, keys)


@pytest.mark.parametrize("seed", range(150))
def test_what_is_foretold_of_a_workload_happens_on_the_cluster_that_was_supposed(seed):
    dice = random.Random(seed)
    rig = random_rig(dice)
    sent, query = random_workload(dice, rig), random_ground(dice, rig)
    told = foretold(rig, sent, query)
    change(rig, query)
    keys = submit(rig, [with_identity(each) for each in expanded(sent) or () if each is not None])
    rig.settle()
    check(rig, told, keys)


@pytest.mark.parametrize("seed", range(100))
def test_a_job_starts_when_it_was_foretold_to(seed):
    """Everything that runs ends as declared; what has declared nothing runs on."""
    dice = random.Random(seed)
    rig = TimedRig(nodes=dice.randint(1, 4))
    busy = {f"busy-{node[1:]}": dice.choice([None, 10, 20, 30]) for node in nodes_of(rig)}
    for name, seconds in busy.items():
        rig.runs(name, name.replace("busy-", "n"), seconds)
    began = rig.hand_clock.now
    count = dice.randint(1, 4)
    says = gang("g", minimum=count) | dice.choice([{}, {RUN_TIME: "100s"}])
    pods = [with_identity(pod_json(f"g-{number}", cpu=1, annotations=says)) for number in range(count)]
    told = foretold(rig, pods)
    keys = submit(rig, pods)
    rig.settle()
    starts = None
    for name, seconds in sorted(busy.items(), key=lambda each: each[1] or 0):
        if seconds is not None and starts is None:
            rig.hand_clock.now = max(rig.hand_clock.now, began + seconds)
            rig.gone(name)
            rig.settle()
            starts = seconds if all(rig.cluster.pods[uid].node for uid in keys) else None
    at = told.start.time
    assert (seconds_of_instant(at) - began if at is not None else None) == starts
    assert told.verdict == ("Never" if starts is None else "Later")
