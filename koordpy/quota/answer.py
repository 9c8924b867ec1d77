"""The tree of queues as a document, `QueueList`: what `koordpy queues` prints, and what a server can answer with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from koordpy.api.meta import Struct
from koordpy.quota.amounts import RESOURCES, UNLIMITED, quantity
from koordpy.quota.levels import ROOT, Floats
from koordpy.quota.turns import dominant_share
from koordpy.quota.usage import Usage

Amounts = dict[str, str | None]  # cpu, memory, gpu as quantities; None: unlimited, or not counted in this queue


class JobCount(Struct, frozen=True):
    running: int = 0
    waiting: int = 0


class QueueAnswer(Struct, frozen=True):
    """One queue."""

    name: str
    parent: str | None
    priority: int
    state: str
    quota: Amounts
    limit: Amounts
    weight: dict[str, float | None]
    fair_share: Amounts
    allocated: Amounts
    allocated_non_preemptible: Amounts
    requested: Amounts
    jobs: JobCount
    message: str  # for people: what is wrong with a queue that is not ready


class QueueList(Struct, frozen=True):
    """Parents before their children, siblings in the order of their turn as things are, without their next jobs."""

    as_of: str
    items: tuple[QueueAnswer, ...]
    api_version: str = "koordpy.io/v1alpha1"
    kind: str = "QueueList"


class Moment(NamedTuple):
    """What is known of all queues at one moment."""

    usage: Usage
    shares: Floats  # [Q, K]
    jobs: Mapping[int, JobCount]  # of each queue itself, by row
    as_of: str


def queue_list(moment: Moment) -> QueueList:
    tree = moment.usage.tree
    lost = (row for row in range(len(tree)) if not tree.is_ready(row))
    return QueueList(moment.as_of, tuple(_answer(moment, row) for row in (*_in_turn(moment, ROOT), *lost)))


def _in_turn(moment: Moment, parent: int) -> Iterator[int]:
    for row in sorted(moment.usage.tree.children.get(parent, ()), key=lambda row: _turn(moment, row)):
        yield row
        yield from _in_turn(moment, row)


def _turn(moment: Moment, row: int) -> tuple[bool, int, float, int]:
    tree, allocated = moment.usage.tree, moment.usage.allocated[row]
    over = bool((allocated > tree.quota[row]).any())
    share = dominant_share(allocated.tolist(), moment.shares[row].tolist(), tree.counted[row].tolist())
    return over, -tree.priority[row], share, row


def _answer(moment: Moment, row: int) -> QueueAnswer:
    usage, tree = moment.usage, moment.usage.tree
    counted = tree.counted[row].tolist()
    return QueueAnswer(
        name=tree.names[row],
        parent=tree.parent_names[row] or None,
        priority=tree.priority[row],
        state=tree.verdicts[row].state.value,
        quota=_amounts(tree.quota[row].tolist()),
        limit=_amounts(tree.limit[row].tolist()),
        weight={name: float(tree.weight[row, k]) if counted[k] else None for k, name in enumerate(RESOURCES)},
        fair_share=_amounts(moment.shares[row].tolist(), counted),
        allocated=_amounts(usage.allocated[row].tolist()),
        allocated_non_preemptible=_amounts(usage.fixed[row].tolist()),
        requested=_amounts(usage.requested[row].tolist()),
        jobs=_jobs(moment.jobs.get(below, JobCount()) for below in tree.below[row]),
        message="" if tree.is_ready(row) else tree.verdicts[row].message,
    )


def _amounts(amounts: Sequence[float], counted: Sequence[bool] = (True, True, True)) -> Amounts:
    return {
        name: quantity(k, amounts[k]) if counted[k] and amounts[k] < UNLIMITED else None
        for k, name in enumerate(RESOURCES)
    }


def _jobs(counts: Iterable[JobCount]) -> JobCount:
    found = list(counts)
    return JobCount(sum(each.running for each in found), sum(each.waiting for each in found))
