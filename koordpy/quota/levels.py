"""The levels of the tree, as the division of shares walks them: groups of siblings, and in each its priorities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from koordpy.state.arrays import Bools, Ints

Floats = npt.NDArray[np.float64]

ROOT = -1  # the parent of queues without a parent


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The rows of a level, in groups of siblings that lie side by side: G groups, n rows."""

    rows: slice
    starts: Ints  # [G] where each group begins, counted from the first row of the level
    group: Ints  # [n] the group of each row
    parents: Ints  # [G] the parent of each group
    turns: tuple[Bools, ...]  # [n, 1] the rows of each group with its highest priority, with its second, ...


def level_of(rows: slice, parent: Sequence[int], priority: Sequence[int]) -> Level:
    """The level with these rows, which are in order of parent, then of priority; both columns are over all rows."""
    parents = np.array(parent[rows], dtype=np.int64)
    starts = np.flatnonzero(np.concatenate(([True], parents[1:] != parents[:-1])))
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(parents))))
    ranks = np.array(priority[rows])
    lower = np.concatenate(([False], (ranks[1:] < ranks[:-1]) & (group[1:] == group[:-1])))
    steps = np.cumsum(lower)
    turn = steps - steps[starts][group]  # [n] how many higher priorities its siblings have
    turns = tuple((turn == each)[:, None] for each in range(int(turn.max()) + 1))
    return Level(rows, starts, group, parents[starts], turns)
