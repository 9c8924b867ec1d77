"""The tree of queues as an answer: what each may have, is due, has and wants.

The scheduler answers with it, and `koordpy queues` prints the same of what it reads itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from koordpy.api.answers import Amounts, QueueJobs, QueueLine, QueueList
from koordpy.quota.amounts import RESOURCES, UNLIMITED, quantity
from koordpy.quota.levels import ROOT, Floats
from koordpy.quota.turns import dominant_share
from koordpy.quota.usage import Usage


class Moment(NamedTuple):
    """What is known of all queues at one moment."""

    usage: Usage
    shares: Floats  # [Q, K]
    jobs: Mapping[int, QueueJobs]  # of each queue itself, by row
    as_of: str


def queue_list(moment: Moment) -> QueueList:
    tree = moment.usage.tree
    lost = (row for row in range(len(tree)) if not tree.is_ready(row))
    lines = [_line(moment, row) for row in (*_in_turn(moment, ROOT), *lost)]
    return QueueList(as_of=moment.as_of, items=lines)


def _in_turn(moment: Moment, parent: int) -> Iterator[int]:
    for row in sorted(moment.usage.tree.children.get(parent, ()), key=lambda row: _turn(moment, row)):
        yield row
        yield from _in_turn(moment, row)


def _turn(moment: Moment, row: int) -> tuple[bool, int, float, int]:
    tree, allocated = moment.usage.tree, moment.usage.allocated[row]
    over = bool((allocated > tree.quota[row]).any())
    share = dominant_share(allocated.tolist(), moment.shares[row].tolist(), tree.counted[row].tolist())
    return over, -tree.priority[row], share, row


def _line(moment: Moment, row: int) -> QueueLine:
    usage, tree = moment.usage, moment.usage.tree
    counted = tree.counted[row].tolist()
    return QueueLine(
        name=tree.names[row],
        parent=tree.parent_names[row] or None,
        priority=tree.priority[row],
        state=tree.verdicts[row].state.value,
        quota=_amounts(tree.quota[row].tolist()),
        limit=_amounts(tree.limit[row].tolist()),
        weight={name: f"{float(tree.weight[row, k]):g}" if counted[k] else None for k, name in enumerate(RESOURCES)},
        fair_share=_amounts(moment.shares[row].tolist(), counted),
        allocated=_amounts(usage.allocated[row].tolist()),
        allocated_non_preemptible=_amounts(usage.fixed[row].tolist()),
        requested=_amounts(usage.requested[row].tolist()),
        jobs=_jobs(moment.jobs.get(below, QueueJobs()) for below in tree.below[row]),
        message="" if tree.is_ready(row) else tree.verdicts[row].message,
    )


def _amounts(amounts: Sequence[float], counted: Sequence[bool] = (True, True, True)) -> Amounts:
    return {
        name: quantity(k, amounts[k]) if counted[k] and amounts[k] < UNLIMITED else None
        for k, name in enumerate(RESOURCES)
    }


def _jobs(counts: Iterable[QueueJobs]) -> QueueJobs:
    found = list(counts)
    return QueueJobs(running=sum(each.running for each in found), waiting=sum(each.waiting for each in found))
