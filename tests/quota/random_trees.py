"""Random trees of queues: a seed is a tree, so that a failure can be had again."""

from __future__ import annotations

from random import Random

import numpy as np

from koordpy.api.queue import Queue, QueueResource
from koordpy.quota.amounts import K
from koordpy.quota.tree import QueueTree, tree_of
from koordpy.state.arrays import Ints
from tests.quota.building import queue

_WEIGHTS = (None, 0, 1, 1, 2, 3, 0.1, 0.2, 0.7, 7.5)


def random_tree(dice: Random, most: int = 25) -> QueueTree:
    """Up to five levels, now and then a queue that is broken."""
    names: list[str] = []
    made: list[Queue] = []
    depth = {"": 0}
    for number in range(dice.randint(1, most)):
        name = f"q{number}"
        parent = dice.choice(["", *(each for each in names if depth[each] < 5)])
        depth[name] = depth[parent] + 1
        names.append(name)
        made.append(_queue(dice, name, "gone" if dice.random() < 0.02 else parent))
    return tree_of(made)


def _queue(dice: Random, name: str, parent: str) -> Queue:
    return queue(
        name,
        parent,
        quota=dice.choice([None, 0, dice.randint(0, 12), dice.randint(0, 40) / 4, -1]),
        limit=dice.choice([None, None, -1, dice.randint(0, 20)]),
        weight=dice.choice(_WEIGHTS),
        priority=dice.choice([None, None, 100, 50, 200]),
        age=dice.randint(0, 3),
        gpu=dice.random() < 0.9,
        cpu=_block(dice, 10_000),
        memory=_block(dice, 10**6),
    )


def _block(dice: Random, most: int) -> QueueResource | None:
    if dice.random() < 0.3:
        return None
    return QueueResource(
        quota=dice.choice([None, -1, dice.randint(0, most)]),
        limit=dice.choice([None, -1, dice.randint(0, 2 * most)]),
        over_quota_weight=dice.choice(_WEIGHTS),
    )


def random_amounts(dice: Random) -> list[int]:
    """Of a job: CPU in thousandths, bytes, thousandths of GPUs; often none of some."""
    most = (8_000, 10**12, 8)
    cpu, memory, gpu = (dice.choice([0, dice.randint(1, each)]) for each in most)
    return [cpu, memory, gpu * 1000]


def random_asked(dice: Random, tree: QueueTree) -> Ints:
    asked = np.zeros((len(tree), K), dtype=np.int64)
    for row in range(len(tree)):
        if tree.is_leaf(row) or dice.random() < 0.1:
            asked[row] = random_amounts(dice)
    return asked
