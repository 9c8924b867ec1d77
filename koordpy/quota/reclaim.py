"""Reclaim: which queues a job may take from, in which order, how much, and whether a set of victims is lawful.

This module judges; it searches for no victims. A job claims on one of two bases, the first one first:

- QUOTA: its queue, at each level below the common ancestor, stays within its quota with the job in. It may take from
  queues that are above theirs.
- SHARE: the same with fair shares. Afterwards, unless it is still within its quota, the claiming queue must not be
  better off, in dominant share, than a queue that it took from.

The *line* of a queue is its quota or its fair share. A job may be taken only while its queue is above the line at each
level below the common ancestor, in a resource that is claimed and that the job has; so the job that takes a queue
across the line is the last one of that queue. A queue that does not count a resource has no line in it: its parents
decide, and where none of them counts it nothing can be taken. The queue furthest above goes first: the one with the
largest dominant share, compared level by level down the tree.

**Why evictions stop.** With no new jobs, nothing that fair shares depend on changes: who is evicted goes on asking.
Call that an *epoch*: the time between two changes of shares, quotas or capacity. In an epoch a job that was started by
a claim on QUOTA is not taken by reclaim (`Taken.since`), and one that was started by a claim on SHARE is taken for a
QUOTA alone. So each job is started at most once on QUOTA, and between two such starts at most once on SHARE: with n
jobs an epoch has at most n + n * (n + 1) reclaims, whatever is placed or ends between them. This costs nobody a quota:
when a job starts on QUOTA its whole queue is within the quota, hence the jobs that may not be taken are too, for ever,
and all that is above can be taken. Without that rule no cycle is known either (tests/quota/test_reclaim_worlds.py walks
small worlds without it, in whatever order jobs and victims are chosen). But without the check after a claim on SHARE
there are cycles, once jobs ask for two resources: one such world is in that file.

**An eviction policy for queues** (`koordpy.state.eviction`) can be made of it. The class of a pod is a number for its
queue (or "outside"), its priority and whether it is preemptible. The preemptor carries its queue and its request. The
search runs once per kind of room, and each run has a reach of its own: (1) a claim on QUOTA, (2) a claim on SHARE: the
classes of preemptible pods in the queues of `order`, whose cost is the place in that order, then the priority;
(3) preemption: lower priorities of the same leaf, and outside. A pod outside reaches what is less important outside,
and all classes from priority 2000000000 on. In (1) and (2) a victim counts with what goes with it (its gang, if it
falls below its minimum) as one `Taken`, and a set that the search has minimised stands if `objection` is empty; if not,
the search goes on with the next set. Members of a gang's minimum that `is_protected` are left out like pods that are
labelled not to be preempted. Room that is merely kept (nominated, held at Permit) is taken by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from koordpy.quota.amounts import RESOURCES, K, quantity
from koordpy.quota.levels import ROOT, Floats
from koordpy.quota.tree import QueueTree
from koordpy.quota.turns import dominant_share
from koordpy.quota.usage import Usage
from koordpy.state.arrays import Bools, Ints


class Basis(IntEnum):
    """On what a job claims; the lower one is tried first."""

    QUOTA = 0
    SHARE = 1


class Taken(NamedTuple):
    """A job, or surplus members of one, that could be taken."""

    row: int  # its queue
    amounts: Ints  # [K]
    since: Basis | None = None  # the basis of the claim that started it in this epoch, if one did


def is_protected(minimum_run_time: float, latest_start: float, now: float, *, surplus: bool) -> bool:
    """Whether a minimum run time keeps members from being taken: those of a gang's minimum, from its latest start on.

    The times are in seconds; the minimum is `reclaim_min_runtime` or `preempt_min_runtime` of the tree.
    """
    return not surplus and now < latest_start + minimum_run_time


class Claim:
    """What a job may take, on one basis, at this moment of the usage."""

    def __init__(
        self, usage: Usage, shares: Floats, row: int, request: Ints, *, basis: Basis, below: int = ROOT
    ) -> None:
        """`below`: only from queues below this one, because its limit is what is in the way."""
        self.basis, self.row = basis, row
        self._usage, self._tree, self._shares = usage, usage.tree, shares
        self._request, self._asks = request, request > 0
        self._lines: Ints | Floats = self._tree.quota if basis is Basis.QUOTA else shares
        self._path: list[int] = self._tree.paths[row].tolist()
        self._scope = self._scope_of(below)

    @property
    def is_empty(self) -> bool:
        """Whether the job may take from nobody: its own queue would be above its line."""
        return self._scope is None

    def why_nothing(self) -> str:
        """Why the job may take from nobody, in numbers; empty where it may."""
        if self.is_empty:
            row = self._path[0]
            over = (
                self._asks & self._tree.counted[row] & (self._usage.allocated[row] + self._request > self._lines[row])
            )
            kind = int(np.argmax(over))
            amounts = (self._tree.quota[row][kind], self._usage.allocated[row][kind], self._request[kind])
            quota, allocated, asked = (quantity(kind, float(each)) for each in amounts)
            what = f"{RESOURCES[kind]} quota {quota}, allocated {allocated}, asked for {asked}"
            return f"queue {self._tree.names[row]} may take back nothing: {what}"
        if not self._reach.any():
            return "no other queue has more than is its own"
        return ""

    def reaches(self, victim: Taken) -> bool:
        """Whether a job may be taken at all: it is not its own queue's, and all on its way down are above the line."""
        if victim.since is not None and victim.since <= self.basis:
            return False
        return bool((self._reach[victim.row] & (victim.amounts > 0)).any())

    def order(self, rows: Sequence[int]) -> list[int]:
        """Of these queues, those that the job may take from, the furthest above first."""
        reached = set(np.flatnonzero(self._reach.any(axis=1)).tolist())
        return sorted((row for row in rows if row in reached), key=self._standing)

    def above(self, row: int) -> Floats:
        """How far a queue is above its line, `[K]`; below the line, or out of reach, 0."""
        way = self._way_to(row)
        if way is None:
            return np.zeros(K)
        counted = self._tree.counted[way]
        room = np.where(counted, self._usage.allocated[way] - self._lines[way], np.inf).min(axis=0)
        found: Floats = np.where(self._asks & counted.any(axis=0), np.maximum(room, 0), 0)
        return found

    def objection(self, victims: Sequence[Taken]) -> str:
        """Why the job may not take all of these together; empty if it may."""
        after = self._taken_in_turn(victims)
        if after is None:
            queues = ", ".join(sorted({self._tree.names[victim.row] for victim in victims}))
            return f"a queue may lose only what is above its {self.basis.name.lower()}: {queues}"
        return self._better_off(victims, after) if self.basis is Basis.SHARE else ""

    def _scope_of(self, below: int) -> int | None:
        """The queue below which the job may take: as far up as its own queues stay within their lines."""
        scope = None
        for above, row in zip([*self._path[1:], ROOT], self._path, strict=True):
            if row == below or not self._stays_within(self._lines, row):
                break
            scope = above
        return scope

    def _stays_within(self, lines: Ints | Floats, row: int) -> bool:
        counts = self._asks & self._tree.counted[row]
        return not (counts & (self._usage.allocated[row] + self._request > lines[row])).any()

    @cached_property
    def _reach(self) -> Bools:
        """In which resources each queue can be taken from, `[Q, K]`; for all at once, a level at a time.

        What `_is_above` says of one queue, for whatever it is that its jobs have.
        """
        tree, own = self._tree, [row for row in self._path if self._is_in_scope(row)]
        counted = np.zeros((len(tree) + 1, K), dtype=np.bool_)  # by a queue on the way; of ROOT in the last row
        above = np.zeros((len(tree) + 1, K), dtype=np.bool_)  # with everything on the way
        above[ROOT] = self._scope == ROOT
        for level in tree.levels:
            rows, parents = level.rows, level.parents[level.group]
            is_above = ~tree.counted[rows] | (self._usage.allocated[rows] > self._lines[rows])
            counted[rows] = tree.counted[rows] | counted[parents]
            above[rows] = is_above & above[parents]
            mine = [row for row in own if rows.start <= row < rows.stop]
            above[mine], counted[mine] = True, False
        reach: Bools = self._asks & above & counted
        return reach[:-1]

    def _is_in_scope(self, row: int) -> bool:
        """Of the queues on the own path: whether something may be taken below it."""
        if self._scope is None or self._scope == ROOT:
            return self._scope == ROOT
        return row in self._path[: self._path.index(self._scope) + 1]

    def _way_to(self, row: int) -> list[int] | None:
        """The queues from a victim's up to the common ancestor, without it; None if it is out of scope."""
        path: list[int] = self._tree.paths[row].tolist()
        if self._scope is None or not self._tree.is_ready(row) or row == self.row:
            return None
        if self._scope != ROOT and self._scope not in path:
            return None
        return [each for each in path if each not in self._path] or None  # none: it is above the claiming queue

    def _is_above(self, victim: Taken, allocated: Ints) -> bool:
        way = self._way_to(victim.row)
        if way is None:
            return False
        counted = self._tree.counted[way]
        wanted = self._asks & (victim.amounts > 0) & counted.any(axis=0)
        return bool((wanted & (~counted | (allocated[way] > self._lines[way])).all(axis=0)).any())

    def _standing(self, row: int) -> tuple[list[float], int]:
        """Sorts the queue furthest above first; of equals the youngest, which has its turn last."""
        return (-self._dominant[self._tree.paths[row][::-1]]).tolist(), -row

    @cached_property
    def _dominant(self) -> Floats:
        """The dominant share of every queue, `[Q]`."""
        held = np.where(self._tree.counted, self._usage.allocated, 0)
        parts = np.divide(held, self._shares, out=np.where(held > 0, np.inf, 0.0), where=self._shares > 0)
        largest: Floats = parts.max(axis=1)
        return largest

    def _share(self, row: int, allocated: Ints) -> float:
        tree: QueueTree = self._tree
        return dominant_share(allocated[row].tolist(), self._shares[row].tolist(), tree.counted[row].tolist())

    def _taken_in_turn(self, victims: Sequence[Taken]) -> Ints | None:
        """What is allocated when all are gone, if there is an order in which each is taken from above the line.

        Found from the end: a job can be the last if its queue is above the line with it alone back. Each one that is
        put back leaves its queues higher above their lines, so whichever is put back first, none is missed.
        """
        if not all(map(self.reaches, victims)):
            return None
        after = self._usage.allocated.copy()
        for victim in victims:
            after[self._tree.paths[victim.row]] -= victim.amounts
        return after if self._can_be_put_back(victims, after.copy()) else None

    def _can_be_put_back(self, victims: Sequence[Taken], allocated: Ints) -> bool:
        missing = list(victims)
        while missing:
            still = [each for each in missing if not self._put_back(each, allocated)]
            if len(still) == len(missing):
                return False
            missing = still
        return True

    def _put_back(self, job: Taken, allocated: Ints) -> bool:
        path = self._tree.paths[job.row]
        allocated[path] += job.amounts
        if self._is_above(job, allocated):
            return True
        allocated[path] -= job.amounts
        return False

    def _better_off(self, victims: Sequence[Taken], allocated: Ints) -> str:
        """The check afterwards, between the queues that are siblings below the common ancestor."""
        allocated[self._tree.paths[self.row]] += self._request
        for row in dict.fromkeys(victim.row for victim in victims):
            way = self._way_to(row)
            assert way, "it was reached"
            victim, common = way[-1], self._tree.parent[way[-1]]
            own = self._path[: self._path.index(common)] if common != ROOT else self._path
            if all(self._stays_within(self._tree.quota, each) for each in own) or not self._is_due(victim):
                continue
            mine, theirs = self._share(own[-1], allocated), self._share(victim, allocated)
            if mine > theirs:
                names = self._tree.names
                return (
                    f"queue {names[own[-1]]} would have {mine:.0%} of its fair share afterwards, "
                    f"and {names[victim]} no more than {theirs:.0%}"
                )
        return ""

    def _is_due(self, row: int) -> bool:
        """Whether a queue has a fair share of anything that is claimed; else it cannot be worse off than it is due."""
        return bool((self._asks & (self._shares[row] > 0)).any())
