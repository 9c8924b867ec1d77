"""The queues as a tree, built from the Queue objects of one moment.

A queue is known by its row. Rows are in the order of levels, in a level by parent, among siblings by priority (highest
first), then age, then name: so siblings of one priority lie side by side, and of two that are equal otherwise the lower
row goes first. Queues that are not Ready stand behind all others, in no level: they are counted, and get nothing.
A tree is never changed; when a Queue object is, a new one is built (1,000 queues: some 10 ms).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from koordpy.api.errors import MalformedValue
from koordpy.api.queue import Queue
from koordpy.quota.amounts import K
from koordpy.quota.levels import ROOT, Floats, Level, level_of
from koordpy.quota.specs import Spec, spec_of
from koordpy.state.arrays import Bools, Ints

_T = TypeVar("_T", bound=np.generic)


class QueueState(StrEnum):
    """Whether a queue can be used; also the reason of its condition Ready, which is True for the first alone."""

    READY = "Ready"
    PARENT_MISSING = "ParentMissing"
    PARENT_CYCLE = "ParentCycle"
    INVALID = "InvalidSpec"


class Verdict:
    """The state of a queue, and for people what is wrong with it."""

    __slots__ = ("message", "state")

    def __init__(self, state: QueueState, message: str) -> None:
        self.state, self.message = state, message


@dataclass(frozen=True, slots=True, eq=False)
class QueueTree:
    """Columns over rows. `[Q]` one entry for each queue, `[Q, K]` one for each queue and resource."""

    names: tuple[str, ...]  # [Q]
    rows: Mapping[str, int]
    verdicts: tuple[Verdict, ...]  # [Q]
    parent: tuple[int, ...]  # [Q] rows; ROOT: none
    paths: tuple[Ints, ...]  # [Q] the queue itself and its parents, from below
    below: tuple[tuple[int, ...], ...]  # [Q] the queue itself and all whose paths lead through it
    levels: tuple[Level, ...]  # from the top; together all rows that are Ready
    children: Mapping[int, tuple[int, ...]]  # rows of Ready queues by the row of their parent, ROOT included
    parent_names: tuple[str, ...]  # [Q] as the object says, whether there is such a queue or not
    child_names: tuple[tuple[str, ...], ...]  # [Q] every queue that names it as its parent, Ready or not, by name
    priority: tuple[int, ...]  # [Q]
    quota: Ints  # [Q, K]
    limit: Ints  # [Q, K]
    weight: Floats  # [Q, K]
    counted: Bools  # [Q, K]
    preempt_min_runtime: tuple[float, ...]  # [Q] seconds: its own, else of the nearest parent that has one, else 0
    reclaim_min_runtime: tuple[float, ...]  # [Q]

    def __len__(self) -> int:
        return len(self.names)

    def is_ready(self, row: int) -> bool:
        return self.verdicts[row].state is QueueState.READY

    def is_leaf(self, row: int) -> bool:
        """Whether it may take jobs, if it is Ready; a child that is not Ready is a child."""
        return not self.child_names[row]


def tree_of(queues: Iterable[Queue]) -> QueueTree:
    """The tree of these objects, in whatever order they come."""
    objects = {queue.metadata.name: queue for queue in queues}
    specs, verdicts = _read(objects)
    parents = {name: spec.parent for name, spec in specs.items()}
    _judge(parents, verdicts)
    order = _in_rows(objects, specs, verdicts)
    return _columns(order, specs, verdicts)


def _read(objects: Mapping[str, Queue]) -> tuple[dict[str, Spec], dict[str, Verdict]]:
    """Specs by name, and a verdict for each that cannot be used; it keeps its place in the tree, with no numbers."""
    specs: dict[str, Spec] = {}
    verdicts: dict[str, Verdict] = {}
    for name, queue in objects.items():
        try:
            specs[name] = spec_of(queue)
        except MalformedValue as error:
            specs[name] = _NOTHING._replace(parent=queue.spec.parent_queue or "")
            verdicts[name] = Verdict(QueueState.INVALID, str(error))
    return specs, verdicts


_NOTHING = Spec("", 0, (0,) * K, (0,) * K, (0.0,) * K, (True,) * K, None, None)


def _judge(parents: Mapping[str, str], verdicts: dict[str, Verdict]) -> None:
    """Complete the verdicts. A queue below one that is not Ready is not Ready either, for the same reason."""
    for start in sorted(parents):
        trail: list[str] = []
        name = start
        while name and name in parents and name not in verdicts and name not in trail:
            trail.append(name)
            name = parents[name]
        if name in trail:
            cycle = trail[trail.index(name) :]
            for each in cycle:
                verdicts[each] = Verdict(QueueState.PARENT_CYCLE, _cycle_text(cycle, each))
            del trail[trail.index(name) :]
        elif name and name not in parents:
            last = trail.pop()
            verdicts[last] = Verdict(QueueState.PARENT_MISSING, f"parent queue {name} does not exist")
            name = last
        above = verdicts.get(name)
        for each in reversed(trail):
            if above is None or above.state is QueueState.READY:
                verdicts[each] = Verdict(QueueState.READY, "the queue is in use")
            else:
                verdicts[each] = Verdict(above.state, f"{name}, which it is below, is not ready: {above.message}")


def _cycle_text(cycle: list[str], name: str) -> str:
    at = cycle.index(name)
    around = [*cycle[at:], *cycle[:at], name]
    return f"it is its own ancestor: {' below '.join(around)}"


def _in_rows(
    objects: Mapping[str, Queue], specs: Mapping[str, Spec], verdicts: Mapping[str, Verdict]
) -> list[list[str]]:
    """The names by level from the top, and in the last list those that are not Ready."""

    def rank(name: str) -> tuple[int, str, str]:
        return -specs[name].priority, objects[name].metadata.creation_timestamp or _LATEST, name

    below: dict[str, list[str]] = {}
    for name in sorted(objects, key=rank):
        if verdicts[name].state is QueueState.READY:
            below.setdefault(specs[name].parent, []).append(name)
    levels: list[list[str]] = []
    level = below.get("", [])
    while level:
        levels.append(level)
        level = [child for name in level for child in below.get(name, ())]
    levels.append(sorted(name for name in objects if verdicts[name].state is not QueueState.READY))
    return levels


_LATEST = "9999"  # an object that is not in the API yet is the youngest


def _columns(order: list[list[str]], specs: Mapping[str, Spec], verdicts: Mapping[str, Verdict]) -> QueueTree:
    names = tuple(name for level in order for name in level)
    rows = {name: row for row, name in enumerate(names)}
    parent = tuple(rows.get(specs[name].parent, ROOT) for name in names)
    ordered = [specs[name] for name in names]
    ready = len(names) - len(order[-1])
    paths = tuple(_path(row, parent, verdicts, names) for row in range(len(names)))
    children: dict[int, list[int]] = {}
    for row in range(ready):
        children.setdefault(parent[row], []).append(row)
    named: dict[str, list[str]] = {}
    for name in sorted(names):
        named.setdefault(specs[name].parent, []).append(name)
    priority = tuple(spec.priority for spec in ordered)
    return QueueTree(
        names=names,
        rows=rows,
        verdicts=tuple(verdicts[name] for name in names),
        parent=parent,
        paths=paths,
        below=_below(paths),
        levels=tuple(level_of(rows, parent, priority) for rows in _slices(order[:-1])),
        children={row: tuple(below) for row, below in children.items()},
        parent_names=tuple(spec.parent for spec in ordered),
        child_names=tuple(tuple(named.get(name, ())) for name in names),
        priority=priority,
        quota=_column([spec.quota for spec in ordered], np.int64),
        limit=_column([spec.limit for spec in ordered], np.int64),
        weight=_column([spec.weight for spec in ordered], np.float64),
        counted=_column([spec.counted for spec in ordered], np.bool_),
        preempt_min_runtime=tuple(_nearest([ordered[each].preempt_min_runtime for each in path]) for path in paths),
        reclaim_min_runtime=tuple(_nearest([ordered[each].reclaim_min_runtime for each in path]) for path in paths),
    )


def _column(values: Sequence[Sequence[float]], kind: type[_T]) -> npt.NDArray[_T]:
    return np.array(values, dtype=kind).reshape(-1, K)


def _slices(levels: list[list[str]]) -> tuple[slice, ...]:
    found: list[slice] = []
    start = 0
    for level in levels:
        found.append(slice(start, start + len(level)))
        start += len(level)
    return tuple(found)


def _path(row: int, parent: tuple[int, ...], verdicts: Mapping[str, Verdict], names: tuple[str, ...]) -> Ints:
    """A path ends where parents are missing, and has no turn in a cycle, also not in one of queues that are invalid."""
    found = {row: None}  # in order
    above = parent[row]
    while above != ROOT and above not in found and verdicts[names[above]].state is not QueueState.PARENT_CYCLE:
        found[above] = None
        above = parent[above]
    return np.array(list(found), dtype=np.int64)


def _below(paths: Sequence[Ints]) -> tuple[tuple[int, ...], ...]:
    found: list[list[int]] = [[] for _ in paths]
    for row, path in enumerate(paths):
        for above in path.tolist():
            found[above].append(row)
    return tuple(map(tuple, found))


def _nearest(seconds: list[float | None]) -> float:
    return next((each for each in seconds if each is not None), 0.0)
