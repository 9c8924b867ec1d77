"""The index of queues: whatever happened, in whatever order, its sums are those of a count from scratch."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from koordpy.api.pod import Pod
from koordpy.api.podgroup.kai import KaiPodGroup
from koordpy.api.policy import PriorityClass
from koordpy.api.queue import Queue
from koordpy.controllers.queues.counts import Counts
from koordpy.controllers.queues.index import QueueIndex
from koordpy.controllers.queues.sinks import PriorityClassSink, QueueSink, RunAISink
from tests.builders import typed
from tests.controllers.queues.actions import pod_in, queue_json, run_ai_group

NAMES = ("top", "a", "b", "default-queue")


class Told:
    """Objects as the API has them, and an index that was told of every change."""

    def __init__(self) -> None:
        self.index, self.changed = fresh()
        self.pods: dict[str, Pod] = {}
        self.groups: dict[str, KaiPodGroup] = {}
        self.queues: dict[str, Queue] = {}
        self.version = 0

    def made(self, obj: Any, struct: type[Any], uid: str) -> Any:
        self.version += 1
        obj["metadata"] |= {"uid": uid, "resourceVersion": str(self.version), "namespace": "default"}
        obj["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{self.version % 60:02}Z"
        return typed(obj, struct)

    def again(self) -> QueueIndex:
        """From scratch, in the order of a start: pods come before what they belong to."""
        index, _ = fresh()
        for pod in self.pods.values():
            index.upsert(pod)
        for queue in self.queues.values():
            QueueSink(index).upsert(queue)
        for group in self.groups.values():
            RunAISink(index).upsert(group)
        return index


def fresh() -> tuple[QueueIndex, set[str]]:
    changed: set[str] = set()
    return QueueIndex(["koord-scheduler"], changed.add), changed


def random_pod(dice: Random, told: Told, uid: str) -> Pod:
    annotations = {"pod-group-name": f"g{dice.randrange(3)}"} if dice.random() < 0.6 else None
    obj = pod_in(
        dice.choice(["", "a", "b", "nowhere"]),
        uid,
        dice.randint(1, 4),
        annotations=annotations,
        node=dice.choice(["", "n1"]),
        priority=dice.choice([0, 150]),
        scheduler=dice.choice(["koord-scheduler"] * 4 + ["other"]),
    )
    obj["status"] = {"phase": dice.choice(["Pending", "Running", "Running", "Succeeded"])}
    return told.made(obj, Pod, uid)


def happen(dice: Random, told: Told) -> None:
    index, uid = told.index, f"u{dice.randrange(8)}"
    match dice.randrange(6):
        case 0 | 1 | 2:
            if uid in told.pods and not told.pods[uid].spec.node_name:  # seen to start, it would remember its queue
                index.remove(f"default/{uid}", uid)
            told.pods[uid] = random_pod(dice, told, uid)
            index.upsert(told.pods[uid])
        case 3:
            if told.pods.pop(uid, None) is not None:
                index.remove(f"default/{uid}", uid)
        case 4:
            name = f"g{dice.randrange(3)}"
            if name in told.groups and dice.random() < 0.4:
                del told.groups[name]
                RunAISink(index).remove(f"default/{name}", name)
            else:
                obj = run_ai_group(
                    name, dice.choice(["", "a", "b"]), preemptibility=dice.choice(["", "non-preemptible"])
                )
                told.groups[name] = told.made(obj, KaiPodGroup, name)
                RunAISink(index).upsert(told.groups[name])
        case _:
            name = dice.choice(NAMES)
            if name in told.queues and dice.random() < 0.4:
                del told.queues[name]
                QueueSink(index).remove(name, name)
            else:
                told.queues[name] = told.made(queue_json(name, dice.choice(["", "top", "a"])), Queue, name)
                QueueSink(index).upsert(told.queues[name])


@pytest.mark.random
@pytest.mark.parametrize("seed", range(60))
def test_sums_are_those_of_a_count_from_scratch_and_every_change_of_one_is_told(seed: int):
    dice, told = Random(seed), Told()
    before: dict[str, Counts] = {}
    for _ in range(120):
        told.changed.clear()
        happen(dice, told)
        again = told.again()
        now = {name: again.total(name) for name in again.names()}
        assert {name: told.index.total(name) for name in told.index.names()} == now
        assert {name for name in now if now[name] != before.get(name)} <= told.changed
        before = now


def test_a_class_that_comes_later_makes_work_not_preemptible():
    told = Told()
    QueueSink(told.index).upsert(told.made(queue_json("a"), Queue, "a"))
    RunAISink(told.index).upsert(told.made(run_ai_group("g", "a", priorityClassName="build"), KaiPodGroup, "g"))
    told.index.upsert(told.made(pod_in("", "p", annotations={"pod-group-name": "g"}, node="n1"), Pod, "p"))
    assert not told.index.total("a").fixed
    sink = PriorityClassSink(told.index)
    sink.upsert(msgspec.json.decode(b'{"metadata": {"name": "build"}, "value": 150}', type=PriorityClass))
    assert told.index.total("a").fixed == {"cpu": 1000, "nvidia.com/gpu": 1}
    sink.remove("build", "")
    assert not told.index.total("a").fixed


def test_nothing_is_kept_of_a_queue_that_somebody_only_named():
    told = Told()
    for number in range(3):
        pod = told.made(pod_in(f"invented-{number}", name=f"p{number}"), Pod, f"u{number}")
        told.index.upsert(pod)
        told.index.remove(pod.metadata.key, pod.metadata.uid)
    assert told.index._counts == {}
