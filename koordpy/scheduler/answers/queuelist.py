"""The tree of queues as an answer: what each may have, is due, has and wants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from koordpy.api.answers import Amounts, QueueJobs, QueueLine
from koordpy.quota.amounts import RESOURCES, UNLIMITED, K, quantity
from koordpy.quota.turns import dominant_share
from koordpy.scheduler.answers.subjects import Subject
from koordpy.scheduler.queues.book import QueueBook


def lines(book: QueueBook, subjects: Iterable[tuple[Subject, bool]]) -> list[QueueLine]:
    """Parents before their children; `subjects` are jobs, and whether they run. The book's shares are up to date."""
    tree, running, waiting = book.tree, Counter[int](), Counter[int]()
    for subject, runs in subjects:
        row = tree.rows.get(subject.queue or "")
        for each in tree.paths[row].tolist() if row is not None else ():
            (running if runs else waiting)[each] += 1
    return [_line(book, row, QueueJobs(running=running[row], waiting=waiting[row])) for row in _in_order(book)]


def _in_order(book: QueueBook) -> list[int]:
    """Parents before children, siblings by whose turn it is; queues that are not Ready at the end."""
    tree = book.tree
    found: list[int] = []

    def turn(row: int) -> tuple[bool, int, float, int]:
        held = book.usage.allocated[row]
        over = bool((held > tree.quota[row]).any())
        share = dominant_share(held.tolist(), book.shares[row].tolist(), tree.counted[row].tolist())
        return over, -tree.priority[row], share, row

    def walk(parent: int) -> None:
        for row in sorted(tree.children.get(parent, ()), key=turn):
            found.append(row)
            walk(row)

    walk(-1)
    return [*found, *(row for row in range(len(tree)) if row not in set(found))]


def _line(book: QueueBook, row: int, jobs: QueueJobs) -> QueueLine:
    tree, usage = book.tree, book.usage
    parent = tree.parent[row]
    return QueueLine(
        name=tree.names[row],
        parent=tree.names[parent] if parent >= 0 else None,
        priority=tree.priority[row],
        state=tree.verdicts[row].state.value,
        quota=_amounts(tree.quota[row].tolist()),
        limit=_amounts(tree.limit[row].tolist()),
        weight={name: f"{float(tree.weight[row, kind]):g}" for kind, name in enumerate(RESOURCES)},
        fair_share=_amounts(book.shares[row].tolist()),
        allocated=_amounts(usage.allocated[row].tolist()),
        allocated_non_preemptible=_amounts(usage.fixed[row].tolist()),
        requested=_amounts(usage.requested[row].tolist()),
        jobs=jobs,
    )


def _amounts(amounts: list[float]) -> Amounts:
    found = zip(range(K), RESOURCES, amounts, strict=True)
    return {name: None if amount >= UNLIMITED else quantity(kind, amount) for kind, name, amount in found}
