"""What a what-if says is what then happens, if nothing else happens in between: nodes, victims, or neither."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from koordpy.api.pod import Pod
from koordpy.controllers.grouping.expansion import expanded
from koordpy.scheduler.answers.answering import Answering
from tests.builders import pod_json, typed, with_identity
from tests.scenarios.objects import gang
from tests.scheduler.queues.rig import LABEL, QueueRig

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


@pytest.mark.parametrize("seed", range(150))
def test_what_is_foretold_happens(seed):
    dice = random.Random(seed)
    rig = random_rig(dice)
    pods = random_gang(dice, rig)
    built = rig.built
    answering = Answering(built.parts, built.book, built.throttle, built.schedulers, expand=expanded)
    (told,) = asyncio.run(answering.what_if(msgspec.json.encode(pods), ())).jobs
    for obj in pods:
        rig.pods.upsert(typed(obj, Pod))
    rig.settle()
    keys = {obj["metadata"]["uid"]: f"default/{obj['metadata']['name']}" for obj in pods}
    placed = {keys[uid]: rig.cluster.pods[uid].node for uid in keys if rig.cluster.pods[uid].node}
    assert sorted(f"default/{name}" for name in rig.evicted()) == sorted(each.pod for each in told.evicts)
    if told.verdict == "Now":
        assert placed == {each.pod: each.node for each in told.placement}
    else:
        assert not placed
    if told.verdict == "ByEvicting":
        nominated = {keys[uid]: rig.cluster.pods[uid].nominated_node for uid in keys}
        assert nominated == {each.pod: each.node for each in told.placement}
