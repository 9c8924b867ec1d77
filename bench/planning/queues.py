"""The cost of queues: fair shares, a job that is submitted, a job that is assumed, and whose turn it is then.

Queues fill a tree of equal breadth; each leaf has waiting jobs and asks for more than there is, as in a cluster that
teams queue for. A sample is the mean of a batch of changes, in CPU time: it does no I/O, and microseconds are soon lost
to whoever else has the core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import numpy as np

from bench.figures import Figure
from koordpy.api.meta import ObjectMeta
from koordpy.api.queue import Queue, QueueResource, QueueResources, QueueSpec
from koordpy.quota.limits import would_exceed
from koordpy.quota.shares import divide
from koordpy.quota.tree import QueueTree, tree_of
from koordpy.quota.turns import Turns
from koordpy.quota.usage import Usage

_BATCH = 50
_CAPACITY = np.array([4_000_000, 16 * 10**12, 4_000_000])
_JOB = np.array([8_000, 64 * 10**9, 8_000])


def figures(queues: int, levels: int, attempts: int) -> list[Figure]:
    tree = tree_of(_queues(queues, levels, Random(1)))
    usage = Usage(tree)
    leaves = [row for row in range(len(tree)) if tree.is_leaf(row)]
    for row in leaves:
        for _ in range(20):
            usage.request(row, _JOB)
    turns = Turns(usage, divide(_CAPACITY, tree, usage.asked()))
    for row in leaves:
        turns.offer(row, _JOB)
    turns.first()
    where = f"{queues:,} queues in {levels} levels"
    return [
        _figure(f"fair shares of {where}", attempts, lambda _: divide(_CAPACITY, tree, usage.asked())),
        _figure(f"count a job, {where}", attempts, lambda each: usage.request(leaves[each % len(leaves)], _JOB)),
        _figure(f"limits of a job, {where}", attempts, lambda each: _limits(usage, leaves[each % len(leaves)])),
        _figure(f"assume a job and find the next, {where}", attempts, lambda _: _assume(usage, turns)),
        _figure(f"submit a job and find the next, {where}", attempts, lambda _: _submit(usage, turns, tree)),
    ]


def _queues(number: int, levels: int, dice: Random) -> list[Queue]:
    """Parents of equal breadth in all levels but the last, which has the rest."""
    breadth = max(2, round(number ** (1 / levels)))
    made: list[Queue] = []
    level = [""]
    for depth in range(levels):
        last = depth == levels - 1
        room = (number - len(made)) if last else min(breadth * len(level), number - len(made))
        below = [f"q-{depth}-{each}" for each in range(max(room, 0))]
        made += [_queue(name, level[each % len(level)], dice) for each, name in enumerate(below)]
        level = below or level
    return made


def _queue(name: str, parent: str, dice: Random) -> Queue:
    block = QueueResource(quota=dice.randint(0, 8), over_quota_weight=dice.randint(1, 4))
    resources = QueueResources(gpu=block, cpu=block, memory=block)
    spec = QueueSpec(parent_queue=parent, priority=dice.choice([100, 100, 200]), resources=resources)
    return Queue(ObjectMeta(name), spec)


def _limits(usage: Usage, row: int) -> None:
    would_exceed(usage, row, _JOB, preemptible=True)


def _assume(usage: Usage, turns: Turns) -> None:
    row = turns.first()
    assert row is not None, "every leaf has jobs"
    usage.allocate(row, _JOB, preemptible=True)
    turns.touch(row)
    turns.first()


def _submit(usage: Usage, turns: Turns, tree: QueueTree) -> None:
    row = turns.first()
    assert row is not None, "every leaf has jobs"
    usage.request(row, _JOB)
    turns.share(divide(_CAPACITY, tree, usage.asked()))
    turns.first()


def _figure(name: str, attempts: int, change: Callable[[int], object]) -> Figure:
    samples: list[float] = []
    for attempt in range(attempts):
        started = time.process_time()
        for each in range(_BATCH):
            change(attempt * _BATCH + each)
        samples.append((time.process_time() - started) / _BATCH * 1e6)
    return Figure(name, "us", tuple(samples))
